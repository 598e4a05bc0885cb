"""Choice of a processor for a User-Mode Linux.

It has one processor, but its kernel and the programs in it are processes that wake each other for every system call.
On one processor of this machine that takes a third of the time that it takes on two.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

_SAMPLE_S = 0.1
_IDLE, _IO_WAIT = 3, 4  # columns of proc(5), /proc/stat
_FOLDERS = Path("/sys/devices/system/cpu")


@contextlib.contextmanager
def taken(wanted: int | None = None) -> Iterator[int]:
    """Yields a processor for a guest, and locks the processor's folder in /sys meanwhile.

    Idle time is not enough: guests that start at once find the same processor the idlest, and a busy machine has none.

    Args:
        wanted: the processor; by default the idlest that no other guest has, or if there is none the idlest.
    """
    candidates = idlest_first() if wanted is None else [wanted]
    with contextlib.ExitStack() as stack:
        yield next((number for number in candidates if _is_locked(number, stack)), candidates[0])


def _is_locked(number: int, stack: contextlib.ExitStack) -> bool:
    """Locks a processor's folder until the stack is left; returns whether that worked."""
    with contextlib.suppress(OSError):  # another guest has it, or there is no /sys
        folder = os.open(_FOLDERS / f"cpu{number}", os.O_RDONLY | os.O_CLOEXEC)
        stack.callback(os.close, folder)
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def idlest_first() -> list[int]:
    """Returns the processors that this process may use, the idlest first; takes a tenth of a second."""
    before = _idle_ticks()
    time.sleep(_SAMPLE_S)
    after = _idle_ticks()
    return sorted(os.sched_getaffinity(0), key=lambda number: before.get(number, 0) - after.get(number, 0))


def _idle_ticks() -> dict[int, int]:
    lines = [line.split() for line in Path("/proc/stat").read_text(encoding="ascii").splitlines()]
    return {
        int(name.removeprefix("cpu")): int(ticks[_IDLE]) + int(ticks[_IO_WAIT])
        for name, *ticks in lines
        if name.startswith("cpu") and name != "cpu"
    }
