"""The kernel's clock, real or virtual, and its offset from the time of day."""

import functools
import time
from enum import StrEnum
from pathlib import Path

_READINGS = 5
_CLOCK_MONOTONIC_COARSE = 6  # of linux/time.h; the module `time` does not name it


class Clock(StrEnum):
    """A clock that programs wait and measure by.

    `virtual` stands still while programs compute, and jumps to the next event when all of them wait.
    """

    REAL = "real"
    VIRTUAL = "virtual"


@functools.cache
def clock_here() -> Clock:
    """Returns the clock of the running kernel: virtual in a User-Mode Linux with `time-travel`."""
    return Clock.VIRTUAL if "time-travel=" in Path("/proc/cmdline").read_text(encoding="ascii") else Clock.REAL


def ticks_hz() -> int:
    """Returns how many ticks a second of the running kernel has: its HZ, in which TCP and MPTCP count their timers."""
    return round(1 / time.clock_getres(_CLOCK_MONOTONIC_COARSE))


def epoch_offset_s() -> float:
    """Returns seconds since the epoch minus CLOCK_MONOTONIC: constant, to microseconds, until the time of day is set.

    Takes the best of several readings, because this process may be preempted between two clocks.
    """
    readings = []
    for _ in range(_READINGS):
        before_s, epoch_s, after_s = time.monotonic(), time.time(), time.monotonic()
        readings.append((after_s - before_s, epoch_s - (before_s + after_s) / 2))
    return min(readings)[1]
