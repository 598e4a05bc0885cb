"""The lock of a run, held by the process that measures it; the kernel releases it however that process ends."""

import fcntl
import os
from pathlib import Path
from typing import Self

from results.store.ownership import give_to_caller

LOCK_NAME = ".lock"


class RunLock:
    """The lock of the run whose files are in a folder, held until `release`.

    It is a lock of a file in that folder, so it works only among machines that share the folder.
    """

    def __init__(self, handle: int) -> None:
        self._handle = handle

    @classmethod
    def take(cls, folder: Path, name: str = LOCK_NAME) -> Self | None:
        """Returns the lock; None if another process holds it.

        On a file system without locks, such as a virtual machine's shared folder, every process gets it.

        Raises:
            OSError: the folder cannot be written.
        """
        path = folder / name
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        give_to_caller(path)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        except OSError:
            pass
        return cls(handle)

    @staticmethod
    def is_held(folder: Path, name: str = LOCK_NAME) -> bool:
        """Returns whether a process of this machine holds the lock; False if this user may not read it."""
        try:
            handle = os.open(folder / name, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return True  # a file system without locks: unknown
        finally:
            os.close(handle)
        return False

    def release(self) -> None:
        os.close(self._handle)
