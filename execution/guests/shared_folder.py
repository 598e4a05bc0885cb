"""The folder that a guest shares with this machine: it goes when its owner ends, whichever processes are killed.

Its owner holds a lock on it. A process of its own removes it when the owner has ended; if somebody kills that one, the
owner removes the folder, and if both are killed, the next owner does.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

_PREFIX = "flightpath-shared-"
# `read` is the shell's own: a helper that is killed would seem to be the owner's end.
_REMOVE_AT_END_OF_INPUT = 'while read -r _; do :; done; until rm -rf "$1"; do sleep 0.1; done'


@contextlib.contextmanager
def shared_folder() -> Iterator[Path]:
    """Provides a new folder in TMPDIR; removes those of owners that were killed first."""
    _remove_abandoned()
    folder, lock = _make()
    try:
        remover = _remover(folder)
        try:
            yield folder
        finally:
            remover.communicate()
            while remover.returncode:
                remover = _remover(folder)
                remover.communicate()
    finally:
        os.close(lock)


def _make() -> tuple[Path, int]:
    """Returns a new folder, and its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if folder.exists():  # else another owner took it for abandoned before it was locked
                return folder, lock
            os.close(lock)


def _remove_abandoned() -> None:
    """Removes folders of this user that nobody holds a lock on."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # somebody else's, or gone
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(lock).st_uid == os.geteuid():
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def _remover(folder: Path) -> subprocess.Popen[bytes]:
    """Starts a process that removes a folder when this process has closed its input, or has been killed."""
    argv = ["sh", "-c", _REMOVE_AT_END_OF_INPUT, "sh", str(folder)]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, start_new_session=True)
