"""The clock that this kernel keeps: the real one, or that of the lab; and what time of day it says."""

import functools
import time
from enum import StrEnum
from pathlib import Path

_READINGS = 5


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


def epoch_offset_s() -> float:
    """Seconds since the epoch minus CLOCK_MONOTONIC: the same, to microseconds, until somebody sets the time of day.

    It is read several times, because this process may have to wait between its two clocks.
    """
    readings = []
    for _ in range(_READINGS):
        before_s, epoch_s, after_s = time.monotonic(), time.time(), time.monotonic()
        readings.append((after_s - before_s, epoch_s - (before_s + after_s) / 2))
    return min(readings)[1]
