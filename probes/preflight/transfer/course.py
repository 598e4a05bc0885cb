"""How many bytes had come by when: without it neither intervals nor the overlap of streams could be told afterwards."""

from bisect import bisect_right
from dataclasses import dataclass

_MOST_POINTS = 4096
_SPACING_NS = 5_000_000


@dataclass(frozen=True)
class Course:
    """The bytes of one stream over time, on CLOCK_MONOTONIC, which all processes of a machine share.

    Attributes:
        times_ns, totals: points of it; the first is the first byte's, the last the last byte's.
    """

    times_ns: tuple[int, ...]
    totals: tuple[int, ...]

    @property
    def first_ns(self) -> int:
        """When the first bytes came."""
        return self.times_ns[0]

    @property
    def last_ns(self) -> int:
        """When the last byte came."""
        return self.times_ns[-1]

    @property
    def first_bytes(self) -> int:
        """How many came at once with the first."""
        return self.totals[0]

    @property
    def total(self) -> int:
        """How many came in all."""
        return self.totals[-1]

    def at(self, time_ns: float) -> float:
        """The bytes by a moment; between two points as if they had come evenly."""
        if time_ns < self.times_ns[0]:
            return 0.0
        index = bisect_right(self.times_ns, time_ns) - 1
        if index == len(self.times_ns) - 1:
            return float(self.totals[-1])
        begin, end = self.times_ns[index], self.times_ns[index + 1]
        share = (time_ns - begin) / (end - begin)
        return self.totals[index] + share * (self.totals[index + 1] - self.totals[index])


class CourseLog:
    """Notes a course while it happens; its memory is bounded: a long one is kept in wider steps."""

    def __init__(self) -> None:
        self._times: list[int] = []
        self._totals: list[int] = []
        self._spacing = _SPACING_NS
        self._due = 0
        self.total = 0
        self.last_ns = 0

    def add(self, size: int, now_ns: int) -> None:
        """So many bytes have come now."""
        self.total += size
        self.last_ns = now_ns
        if now_ns >= self._due:
            self._note(now_ns)

    def _note(self, now_ns: int) -> None:
        self._times.append(now_ns)
        self._totals.append(self.total)
        self._due = now_ns + self._spacing
        if len(self._times) >= _MOST_POINTS:
            del self._times[1::2], self._totals[1::2]
            self._spacing *= 2

    @property
    def first_ns(self) -> int:
        """When the first bytes came; 0 if none has."""
        return self._times[0] if self._times else 0

    def course(self) -> Course | None:
        """What was noted; None if nothing came."""
        if not self._times:
            return None
        times, totals = list(self._times), list(self._totals)
        if self.last_ns > times[-1]:
            times.append(self.last_ns)
            totals.append(self.total)
        else:
            totals[-1] = self.total
        return Course(tuple(times), tuple(totals))
