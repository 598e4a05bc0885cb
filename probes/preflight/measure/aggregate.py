"""Several streams' bytes over time as one: intervals, and the goodput of the time in which all were transferring."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from probes.preflight.records import Interval
from probes.preflight.transfer.curve import TransferCurve


@dataclass(frozen=True)
class Aggregate:
    """Several streams together; times in seconds, from the first byte of any.

    Attributes:
        origin_ns: the first byte of any stream, on the streams' clock.
        transfer_s: until the last byte of any.
        overlap_s: how long all of them transferred at the same time.
        goodput_bps: during that time, or over `transfer_s` if there was none; None if everything came at once.
        intervals: of all together.
    """

    origin_ns: int
    transfer_s: float
    overlap_s: float
    goodput_bps: float | None
    intervals: tuple[Interval, ...]


def aggregate(curves: Sequence[TransferCurve], interval_s: float) -> Aggregate:
    """Combines the streams of one iteration.

    The goodput is that of the time in which every stream had had its first byte and none its last: before and after it,
    fewer streams than were asked for share the path. The bytes that came with a stream's first were sent before.

    Args:
        curves: one of each stream that moved anything; at least one.
        interval_s: length of the intervals.
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
    """The bytes of all curves in each interval; the rest at the end belongs to the last whole one.

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
