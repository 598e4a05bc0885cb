"""The bytes of streams over time, their intervals, and the goodput while all were transferring."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from probes.preflight.records import Interval

_MAX_POINTS = 4096
_SPACING_NS = 5_000_000


@dataclass(frozen=True)
class TransferCurve:
    """Bytes of one stream over time, on CLOCK_MONOTONIC, which all processes of a machine share.

    Attributes:
        times_ns, totals: points of the curve; the first is that of the first byte, the last that of the last byte.
    """

    times_ns: tuple[int, ...]
    totals: tuple[int, ...]

    @property
    def first_ns(self) -> int:
        return self.times_ns[0]

    @property
    def last_ns(self) -> int:
        return self.times_ns[-1]

    @property
    def first_bytes(self) -> int:
        return self.totals[0]

    @property
    def total(self) -> int:
        return self.totals[-1]

    def at(self, time_ns: float) -> float:
        """Returns the bytes that had come by a moment, interpolated between two points."""
        if time_ns < self.first_ns:
            return 0.0
        index = bisect_right(self.times_ns, time_ns) - 1
        if index == len(self.times_ns) - 1:
            return float(self.total)
        begin, end = self.times_ns[index], self.times_ns[index + 1]
        share = (time_ns - begin) / (end - begin)
        return self.totals[index] + share * (self.totals[index + 1] - self.totals[index])


class CurveRecorder:
    """Records a curve in bounded memory: the longer the transfer, the further apart its points.

    Attributes:
        total: bytes so far.
        last_ns: time of the last of them; 0 before the first.
    """

    def __init__(self) -> None:
        self._times: list[int] = []
        self._totals: list[int] = []
        self._spacing = _SPACING_NS
        self._due = 0
        self.total = 0
        self.last_ns = 0

    def add(self, size: int, now_ns: int) -> None:
        self.total += size
        self.last_ns = now_ns
        if now_ns < self._due:
            return
        self._times.append(now_ns)
        self._totals.append(self.total)
        self._due = now_ns + self._spacing
        if len(self._times) >= _MAX_POINTS:
            del self._times[1::2], self._totals[1::2]
            self._spacing *= 2

    @property
    def first_ns(self) -> int:
        """Time of the first bytes; 0 before them."""
        return self._times[0] if self._times else 0

    def curve(self) -> TransferCurve | None:
        """Returns the curve up to now; None if nothing came."""
        if not self._times:
            return None
        before = len(self._times) - (self._times[-1] == self.last_ns)  # the last point replaces one of the same moment
        return TransferCurve((*self._times[:before], self.last_ns), (*self._totals[:before], self.total))


@dataclass(frozen=True)
class Aggregate:
    """Several streams together; times in seconds, from the first byte of any, which came at `origin_ns`.

    See `records.IterationResult`.
    """

    origin_ns: int
    transfer_s: float
    overlap_s: float
    goodput_bps: float | None
    intervals: tuple[Interval, ...]


def aggregate(curves: Sequence[TransferCurve], interval_s: float) -> Aggregate:
    """Combines the streams of one iteration, of which each, and so at least one, has moved something.

    The goodput is that of the time in which every stream had had its first byte and none its last: before and after it,
    fewer streams than requested share the path. The bytes that came with a stream's first were sent before.
    """
    begin, end = min(each.first_ns for each in curves), max(each.last_ns for each in curves)
    all_begun, first_ended = max(each.first_ns for each in curves), min(each.last_ns for each in curves)
    overlap = max(0.0, (first_ended - all_begun) / 1e9)
    transfer = (end - begin) / 1e9
    if overlap > 0:
        goodput = sum(each.at(first_ended) - each.at(all_begun) for each in curves) * 8 / overlap
    elif transfer > 0:
        first = sum(each.first_bytes for each in curves if each.first_ns == begin)
        goodput = (sum(each.total for each in curves) - first) * 8 / transfer
    else:
        goodput = None
    return Aggregate(begin, transfer, overlap, goodput, intervals(curves, begin, end, interval_s))


def intervals(curves: Sequence[TransferCurve], begin_ns: int, end_ns: int, interval_s: float) -> tuple[Interval, ...]:
    """Returns the bytes of all curves in each interval; the rest at the end belongs to the last whole one.

    The first includes what came with the first byte, so that the intervals add up to the total.
    """
    step = round(interval_s * 1e9)
    count = max(1, round((end_ns - begin_ns) / step))
    edges = [begin_ns + index * step for index in range(count)] + [end_ns]
    totals = [0, *(round(sum(each.at(edge) for each in curves)) for edge in edges[1:-1])]
    totals.append(sum(each.total for each in curves))
    return tuple(
        Interval((start - begin_ns) / 1e9, (end - begin_ns) / 1e9, after - before)
        for (start, end), (before, after) in zip(pairwise(edges), pairwise(totals), strict=True)
    )
