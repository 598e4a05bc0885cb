"""Ownership of files: those that root creates through sudo belong to the user who called sudo."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from flightpath.errors import UsageError


def give_to_caller(*paths: Path) -> None:
    """Makes the user who called sudo (SUDO_UID, SUDO_GID) the owner of files and folders.

    Does nothing without sudo. In a user namespace without that user the owner does not change: it is the user who made
    the namespace, so the caller.
    """
    user, group = os.environ.get("SUDO_UID", ""), os.environ.get("SUDO_GID", "")
    if os.geteuid() != 0 or not (user.isdecimal() and group.isdecimal()):
        return
    for path in paths:
        with contextlib.suppress(OSError):
            os.chown(path, int(user), int(group), follow_symlinks=False)


def make_folder(folder: Path) -> None:
    """Makes a folder and its missing parents, owned by the caller; undoes that on failure.

    Raises:
        OSError: it cannot be made, or a file has this name.
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


@contextlib.contextmanager
def writing_to(target: Path) -> Iterator[None]:
    """Turns an OSError of the block, which writes to `target`, into an error for the user of `--output`.

    Raises:
        UsageError: the block raised OSError.
    """
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot write {target}: {error.strerror or error}", "choose another with --output") from error
