"""The offered loads: how many students arrive over how many seconds."""

from typing import NamedTuple

from experiments.parameters import comma_separated
from flightpath.errors import UsageError

REQUESTS_PER_STUDENT = 20

QUICK_LOADS = (50, 500, 800)
"""Loads of the quick form in requests/s: a really low one, and the paper's lowest and highest.

Three repetitions of few loads show more than one of many.
"""

FULL_LOADS = (50, 500, 533, 571, 615, 667, 727, 800)
"""Loads of the full form: a really low one, and the paper's, 4000 students with ramps of 160 s to 100 s."""

LOADS_HELP = f"offered requests/s: {REQUESTS_PER_STUDENT} x students / ramp"


class Arrivals(NamedTuple):
    """Number of students, and the ramp-up time over which they arrive evenly."""

    students: int
    ramp_s: float


def parse_loads(text: str) -> tuple[int, ...]:
    """Reads `50,500,800`.

    Raises:
        UsageError: a load is not a positive whole number, or the list is empty.
    """
    words = comma_separated(text)
    if not words or not all(word.isdecimal() and int(word) for word in words):
        raise UsageError(f"--loads: cannot read {text!r}", "accepted form: 50,500,800 (requests per second)")
    return tuple(dict.fromkeys(map(int, words)))


def arrivals(load: float, max_students: float, longest_ramp_s: float) -> Arrivals:
    """Returns the arrivals that make a load: with all students, or with fewer if these would take too long."""
    longest_s = min(longest_ramp_s, max_students * REQUESTS_PER_STUDENT / load)
    students = max(1, round(load * longest_s / REQUESTS_PER_STUDENT))
    return Arrivals(students, students * REQUESTS_PER_STUDENT / load)
