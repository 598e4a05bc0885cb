"""Trains of test frames that keep a link busy, and the rate of the link from their arrivals."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from topologies.calibration.frame_socket import HEADERS_BYTES, MAX_FRAME_BYTES
from topologies.links.spec import LinkSpec

FAST_BPS = 1_000_000_000
LEAST_PAYLOAD_BYTES = 10

_TRAIN_S, _FAST_TRAIN_S = 0.06, 0.03
_TRAIN_FRAMES_LEAST, _SMALL_TRAIN_FRAMES = 16, 64
_CUT_BY_KERNEL_BPS = 500_000_000
"""From here on one system call per frame is too slow: the kernel cuts super-frames for links that do not take them."""
_SUPER_FRAMES_IN_QUEUE = 4
_BACKLOG_MOST_BYTES = 1_000_000
"""More would measure how fast the machine allocates memory."""
_AQM_BACKLOG_S = 0.004
"""Less than the 5 ms above which codel and fq_codel drop packets (RFC 8289, RFC 8290)."""
_WAITED_SHARE, _POINTS_LEAST = 0.5, 8


@dataclass(frozen=True)
class Train:
    """A train of frames, of `segments` segments with `segment_bytes` payload each.

    Attributes:
        backlog_bytes: how much may wait in the link, at its specified rate.
    """

    frames: int
    segments: int
    segment_bytes: int
    backlog_bytes: int

    @property
    def payload_bytes(self) -> int:
        """Of one frame."""
        return self.segments * self.segment_bytes

    def wire_bytes(self, position: int) -> int:
        """So much payload on the wire, with the headers of each segment."""
        return position + math.ceil(position / self.segment_bytes) * HEADERS_BYTES

    def seconds(self, rate_bps: float) -> float:
        """How long a line of this rate takes for the whole train."""
        return self.wire_bytes(self.frames * self.payload_bytes) * 8 / rate_bps

    def __str__(self) -> str:
        kind = f"super-frames of {self.segments} x" if self.segments > 1 else "frames of"
        return f"train of {self.frames} {kind} {self.segment_bytes + HEADERS_BYTES} bytes"


def train_for(spec: LinkSpec, rate_bps: int, max_frame_bytes: int | None) -> Train:
    """A train of about 60 ms, 30 ms on a fast link; if that is only a few full frames, of smaller ones.

    `max_frame_bytes` is the largest super-frame that the link takes; 0 is none, None unknown.
    """
    train_bytes = rate_bps * (_TRAIN_S if rate_bps <= FAST_BPS else _FAST_TRAIN_S) / 8
    full = spec.frame_bytes - HEADERS_BYTES
    segment = max(LEAST_PAYLOAD_BYTES, min(full, int(train_bytes / _SMALL_TRAIN_FRAMES) - HEADERS_BYTES))
    # A bound in packets ignores their size.
    queue_bytes = spec.queue_packets * (segment + HEADERS_BYTES) if spec.queue_packets else spec.queue_bytes
    bound = max_frame_bytes or (MAX_FRAME_BYTES if rate_bps >= _CUT_BY_KERNEL_BPS else 0)
    bound = min(bound, MAX_FRAME_BYTES, queue_bytes // _SUPER_FRAMES_IN_QUEUE)
    segments = max(1, (bound - HEADERS_BYTES - 1) // segment) if segment == full else 1
    frame_bytes = segments * (segment + HEADERS_BYTES)
    frames = max(_TRAIN_FRAMES_LEAST, math.ceil(train_bytes / frame_bytes))
    backlog_bytes = min(queue_bytes // 2, _BACKLOG_MOST_BYTES)
    if spec.discipline != "droptail":
        backlog_bytes = min(backlog_bytes, round(rate_bps * _AQM_BACKLOG_S / 8))
    return Train(frames, segments, segment, max(backlog_bytes, 2 * frame_bytes))


@dataclass(frozen=True)
class Arrival:
    """The arrival of a frame; `end_bytes` are those on the wire from the train's start to the end of this frame."""

    end_bytes: int
    sent_ns: int
    arrived_ns: int


@dataclass(frozen=True)
class LineRate:
    """The rate at which a train arrived.

    Attributes:
        waited_bps: the rate while frames waited; None if too few did.
        overall_bps: from the first arrival to the last, which is that of the sender if too few frames waited.
    """

    waited_bps: float | None
    overall_bps: float


def line_rate(arrivals: Sequence[Arrival], latency_ns: float) -> LineRate | None:
    """The rate of a line from a train over it; None if fewer than two frames arrived.

    It is the median over all pairs of frames that are half a train apart (after Theil and Sen), which a single late
    packet does not change. Intervals in which no frame waited are left out.

    Args:
        arrivals: in the order in which they were sent.
        latency_ns: from sending to arrival of a small frame that does not wait.
    """
    if len(arrivals) < 2:
        return None
    clock_ns, sent_bytes = 0, 0
    points = [(0, 0)]
    for before, after in pairwise(arrivals):
        if after.sent_ns + latency_ns < before.arrived_ns:
            clock_ns += after.arrived_ns - before.arrived_ns
            sent_bytes += after.end_bytes - before.end_bytes
            points.append((clock_ns, sent_bytes))
    times_ns = [arrival.arrived_ns for arrival in arrivals]
    span_ns = max(1, max(times_ns) - min(times_ns))
    overall_bps = (arrivals[-1].end_bytes - arrivals[0].end_bytes) * 8e9 / span_ns
    enough = len(points) >= _POINTS_LEAST and clock_ns >= _WAITED_SHARE * span_ns
    return LineRate(_slope_bps(points) if enough else None, overall_bps)


def _slope_bps(points: Sequence[tuple[int, int]]) -> float | None:
    half = len(points) // 2
    slopes = [
        (late_bytes - early_bytes) * 8e9 / (late_ns - early_ns)
        for (early_ns, early_bytes), (late_ns, late_bytes) in zip(points, points[half:], strict=False)
        if late_ns > early_ns
    ]
    return statistics.median(slopes) if slopes else None
