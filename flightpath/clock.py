"""The clock that this kernel keeps: the real one, or that of the lab."""

import functools
from enum import StrEnum
from pathlib import Path


class Clock(StrEnum):
    """A clock by which programs wait and measure.

    `virtual` stands still while programs compute, and jumps to the next event when all of them wait.
    """

    REAL = "real"
    VIRTUAL = "virtual"


@functools.cache
def clock_here() -> Clock:
    """The clock of the kernel that this process runs on: virtual in a User-Mode Linux with `time-travel`."""
    return Clock.VIRTUAL if "time-travel=" in Path("/proc/cmdline").read_text(encoding="ascii") else Clock.REAL
