"""Streams put together: without it the throughput of eight would be that of the slowest, or of a moment."""

from collections.abc import Sequence
from dataclasses import dataclass

from probes.preflight.records import Interval
from probes.preflight.transfer.course import Course


@dataclass(frozen=True)
class Aggregate:
    """What several streams did together; times in seconds, from the first byte of any.

    Attributes:
        origin_ns: the first byte of any stream, on the streams' clock.
        transfer_s: until the last byte of any.
        overlap_s: how long all of them were at it at the same time.
        goodput_bps: during that time, or over `transfer_s` if there was none; None if everything came at once.
        intervals: of all together.
    """

    origin_ns: int
    transfer_s: float
    overlap_s: float
    goodput_bps: float | None
    intervals: tuple[Interval, ...]


def aggregate(courses: Sequence[Course], interval_s: float) -> Aggregate:
    """Puts the courses of one iteration together.

    The goodput is that of the time in which every stream had had its first byte and none its last: before and after it,
    fewer streams than were asked for share the path. What came with a stream's first byte was sent before.

    Args:
        courses: one for each stream that moved anything; at least one.
        interval_s: length of the intervals.
    """
    begin, end = min(each.first_ns for each in courses), max(each.last_ns for each in courses)
    all_begun, first_ended = max(each.first_ns for each in courses), min(each.last_ns for each in courses)
    overlap = max(0.0, (first_ended - all_begun) / 1e9)
    transfer = (end - begin) / 1e9
    if overlap > 0:
        goodput = sum(each.at(first_ended) - each.at(all_begun) for each in courses) * 8 / overlap
    elif transfer > 0:
        first = sum(each.first_bytes for each in courses if each.first_ns == begin)
        goodput = (sum(each.total for each in courses) - first) * 8 / transfer
    else:
        goodput = None
    return Aggregate(begin, transfer, overlap, goodput, intervals(courses, begin, end, interval_s))


def intervals(courses: Sequence[Course], begin_ns: int, end_ns: int, interval_s: float) -> tuple[Interval, ...]:
    """The bytes of the courses together in each interval; a last one that is short belongs to the one before it.

    The first has the bytes that came at once with the first byte: the intervals add up to the total.
    """
    step = round(interval_s * 1e9)
    count = max(1, round((end_ns - begin_ns) / step))
    edges = [begin_ns + index * step for index in range(count)] + [end_ns]
    by = [0, *(round(sum(each.at(edge) for each in courses)) for edge in edges[1:-1]), sum(e.total for e in courses)]
    return tuple(
        Interval((edges[i] - begin_ns) / 1e9, (edges[i + 1] - begin_ns) / 1e9, by[i + 1] - by[i]) for i in range(count)
    )
