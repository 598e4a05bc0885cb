"""Turns on one machine: a cell of the real clock is alone on it; cells of virtual time share it.

The workers of a machine take turns by locks on files, which the kernel frees however a worker ends.
"""

import contextlib
import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from flightpath.errors import MissingCapability

_POLL_S = 0.05


@contextlib.contextmanager
def turn(*, alone: bool, check: Callable[[], None]) -> Iterator[None]:
    """Waits until this machine may measure a cell; calls `check` meanwhile, which may raise."""
    with opened("entry") as entry_lock, opened("machine") as machine_lock:
        # Who waits to be alone holds the entry, so that others cannot go on coming in.
        _lock(entry_lock, fcntl.LOCK_EX, check)
        _lock(machine_lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH, check)
        fcntl.flock(entry_lock, fcntl.LOCK_UN)
        yield


@contextlib.contextmanager
def processor(numbers: Sequence[int], check: Callable[[], None]) -> Iterator[int]:
    """Waits for one of these processors that no other cell has; calls `check` meanwhile, which may raise."""
    with contextlib.ExitStack() as stack:
        handles = {number: stack.enter_context(opened(f"processor-{number}")) for number in numbers}
        while True:
            for number, handle in handles.items():
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    yield number
                    return
            check()
            time.sleep(_POLL_S)


def folder() -> Path:
    """Returns the folder that the workers of this machine share; only this user may read it."""
    made = Path(tempfile.gettempdir()) / f"flightpath-turns-{os.geteuid()}"
    with contextlib.suppress(FileExistsError):
        made.mkdir(mode=0o700)
    if made.lstat().st_uid != os.geteuid():
        raise MissingCapability(f"{made} belongs to another user", f"remove it: rm -r {made}")
    return made


@contextlib.contextmanager
def opened(name: str) -> Iterator[int]:
    """Provides a file in that folder, for locks."""
    handle = os.open(folder() / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        yield handle
    finally:
        os.close(handle)


def _lock(handle: int, how: int, check: Callable[[], None]) -> None:
    while True:
        try:
            return fcntl.flock(handle, how | fcntl.LOCK_NB)
        except BlockingIOError:
            check()
            time.sleep(_POLL_S)
