"""Which Flightpath this is: without it a change of ours would pass for a change of what was measured."""

from importlib import metadata
from pathlib import Path

from flightpath.commands import run
from flightpath.errors import FlightpathError
from flightpath.project import PROJECT

_MODIFIED = ", modified"


def identity(project: Path = PROJECT) -> dict[str, str]:
    """The version as `flightpath`, and the commit of the checkout as `commit`, where there is one.

    A commit from which the files differ that git knows says so: `e02a2375d1c9, modified`.
    """
    found = {"flightpath": metadata.version("flightpath")}
    # Root may look at a checkout of the user behind sudo; a repository further up is not this project's.
    git = ["git", "--no-optional-locks", "-c", f"safe.directory={project}"]
    describe = ["describe", "--always", "--exclude=*", "--abbrev=12", f"--dirty={_MODIFIED}"]
    try:
        told = run([*git, *describe], cwd=project, env={"GIT_CEILING_DIRECTORIES": str(project.parent)})
    except FlightpathError:  # no checkout, or no git
        return found
    return {**found, "commit": told.strip()}
