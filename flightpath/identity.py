"""The version and commit of Flightpath, which each run records so that comparisons can name them."""

import hashlib
from importlib import metadata
from pathlib import Path

from flightpath.commands import run
from flightpath.errors import FlightpathError
from flightpath.project import PROJECT

_MODIFIED = ", modified"
_DIGITS = 8


def identity(project: Path = PROJECT) -> dict[str, str]:
    """Returns the version as `flightpath`, and in a checkout its commit as `commit`.

    If tracked files are modified, the commit includes a hash of them: `e02a2375d1c9, modified 1f3a9c2b`.
    """
    version = {"flightpath": metadata.version("flightpath")}
    try:
        commit = git(project, "describe", "--always", "--exclude=*", "--abbrev=12", f"--dirty={_MODIFIED}").strip()
        if commit.endswith(_MODIFIED):
            commit += f" {_hash_of_changed(project)}"
    except FlightpathError:  # no checkout, or no git
        return version
    return {**version, "commit": commit}


def git(project: Path, *words: str) -> str:
    """Runs git in a checkout and returns its output; raises FlightpathError if it fails or is not installed."""
    # safe.directory: under sudo, root reads a user's checkout. Ceiling: a repository further up is another project's.
    command = ["git", "--no-optional-locks", "-c", f"safe.directory={project}"]
    return run([*command, *words], cwd=project, env={"GIT_CEILING_DIRECTORIES": str(project.parent)})


def _hash_of_changed(project: Path) -> str:
    changed = hashlib.sha256()
    for name in filter(None, git(project, "diff", "--name-only", "-z", "HEAD").split("\0")):
        file = project / name
        changed.update(name.encode() + b"\0" + (file.read_bytes() if file.is_file() else b"") + b"\0")
    return changed.hexdigest()[:_DIGITS]
