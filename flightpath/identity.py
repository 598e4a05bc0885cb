"""The version and commit of Flightpath, which each run records so that comparisons can name them."""

import hashlib
import os
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
    """Runs git in a checkout and returns its output; raises FlightpathError if it fails or is not installed.

    Git runs what a checkout's configuration names: monitors, filters, hooks. So root asks as the checkout's owner, and
    anybody else only in a checkout of their own or of root's.
    """
    try:
        owner = (project / ".git").lstat()
    except OSError as error:
        raise FlightpathError(f"{project} is not a checkout") from error
    # A monitor would outlive this command. Ceiling: a repository further up is another project's.
    command = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]
    env = {"GIT_CEILING_DIRECTORIES": str(project.parent)}
    if owner.st_uid == 0:
        command += ["-c", f"safe.directory={project}"]
    elif os.geteuid() == 0:
        command = ["setpriv", f"--reuid={owner.st_uid}", f"--regid={owner.st_gid}", "--clear-groups", *command]
        env |= {"GIT_CONFIG_GLOBAL": "/dev/null", "HOME": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent"}
    return run([*command, *words], cwd=project, env=env)


def _hash_of_changed(project: Path) -> str:
    changed = hashlib.sha256()
    for name in filter(None, git(project, "diff", "--name-only", "-z", "HEAD").split("\0")):
        file = project / name
        changed.update(name.encode() + b"\0" + (file.read_bytes() if file.is_file() else b"") + b"\0")
    return changed.hexdigest()[:_DIGITS]
