"""Files for the person behind sudo: without this, results written as root could not be removed by their owner."""

import contextlib
import os
from pathlib import Path


def give_to_caller(*paths: Path) -> None:
    """Hands files and folders to the user who called sudo (SUDO_UID, SUDO_GID).

    Does nothing without sudo. Inside a user namespace that does not map that user the owner stays as it is: the file
    then belongs to whoever made the namespace, who is the caller already.
    """
    owner = _caller()
    if owner is None:
        return
    for path in paths:
        with contextlib.suppress(OSError):
            os.chown(path, *owner, follow_symlinks=False)


def make_folder(folder: Path) -> None:
    """Makes a folder with its missing parents, all of them the caller's; removes what it made if that fails.

    Raises:
        OSError: it cannot be made, or there is a file of that name.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    made: list[Path] = []
    try:
        for path in reversed(missing):
            path.mkdir(exist_ok=True)
            made.append(path)
    except OSError:
        for path in reversed(made):
            with contextlib.suppress(OSError):
                path.rmdir()
        raise
    if not folder.is_dir():
        raise NotADirectoryError(20, "not a folder", str(folder))
    give_to_caller(*made)


def _caller() -> tuple[int, int] | None:
    user, group = os.environ.get("SUDO_UID", ""), os.environ.get("SUDO_GID", "")
    if os.geteuid() != 0 or not (user.isdecimal() and group.isdecimal()):
        return None
    return int(user), int(group)
