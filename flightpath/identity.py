"""The version and commit of Flightpath that made a run, so that a comparison of runs can name them."""

from importlib import metadata
from pathlib import Path

from flightpath.commands import run
from flightpath.errors import FlightpathError
from flightpath.project import PROJECT

_MODIFIED = ", modified"


def identity(project: Path = PROJECT) -> dict[str, str]:
    """The version as `flightpath`, and in a checkout its commit as `commit`.

    If tracked files differ from the commit, it says so: `e02a2375d1c9, modified`.
    """
    version = {"flightpath": metadata.version("flightpath")}
    # Under sudo root reads a user's checkout (safe.directory); a repository further up is another project's (ceiling).
    git = ["git", "--no-optional-locks", "-c", f"safe.directory={project}"]
    describe = ["describe", "--always", "--exclude=*", "--abbrev=12", f"--dirty={_MODIFIED}"]
    try:
        commit = run([*git, *describe], cwd=project, env={"GIT_CEILING_DIRECTORIES": str(project.parent)})
    except FlightpathError:  # no checkout, or no git
        return version
    return {**version, "commit": commit.strip()}
