"""The bytes of a stream over time, from which intervals and the overlap of streams are computed afterwards."""

from bisect import bisect_right
from dataclasses import dataclass

_MOST_POINTS = 4096
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
        """When the first bytes came."""
        return self.times_ns[0]

    @property
    def last_ns(self) -> int:
        """When the last byte came."""
        return self.times_ns[-1]

    @property
    def first_bytes(self) -> int:
        """How many bytes came at the first moment."""
        return self.totals[0]

    @property
    def total(self) -> int:
        """All bytes."""
        return self.totals[-1]

    def at(self, time_ns: float) -> float:
        """The bytes that had come by a moment, interpolated between two points."""
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
        last_ns: when the last of them came; 0 before the first.
    """

    def __init__(self) -> None:
        self._times: list[int] = []
        self._totals: list[int] = []
        self._spacing = _SPACING_NS
        self._due = 0
        self.total = 0
        self.last_ns = 0

    def add(self, size: int, now_ns: int) -> None:
        """Records that `size` bytes have come now."""
        self.total += size
        self.last_ns = now_ns
        if now_ns >= self._due:
            self._add_point(now_ns)

    def _add_point(self, now_ns: int) -> None:
        self._times.append(now_ns)
        self._totals.append(self.total)
        self._due = now_ns + self._spacing
        if len(self._times) >= _MOST_POINTS:
            del self._times[1::2], self._totals[1::2]
            self._spacing *= 2

    @property
    def first_ns(self) -> int:
        """When the first bytes came; 0 before."""
        return self._times[0] if self._times else 0

    def curve(self) -> TransferCurve | None:
        """The curve up to now; None if nothing came."""
        if not self._times:
            return None
        times, totals = list(self._times), list(self._totals)
        if self.last_ns > times[-1]:
            times.append(self.last_ns)
            totals.append(self.total)
        else:
            totals[-1] = self.total
        return TransferCurve(tuple(times), tuple(totals))
