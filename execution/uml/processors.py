"""Choice of a processor for a User-Mode Linux.

It has one processor, but its kernel and the programs in it are processes that wake each other for every system call.
On one processor of this machine that takes a third of the time that it takes on two.
"""

import os
import time
from pathlib import Path

_SAMPLE_S = 0.1
_IDLE, _IO_WAIT = 3, 4  # columns of proc(5), /proc/stat


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
