"""Trains of test frames that keep a link busy, and the link's rate computed from their arrivals."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from topologies.calibration.frame_socket import HEADERS_BYTES, MAX_FRAME_BYTES
from topologies.links.spec import LinkSpec

FAST_BPS = 1_000_000_000
MIN_PAYLOAD_BYTES = 10

_TRAIN_S, _FAST_TRAIN_S = 0.06, 0.03
_MIN_TRAIN_FRAMES, _SMALL_TRAIN_FRAMES = 16, 64
_CUT_BY_KERNEL_BPS = 500_000_000
"""Rate above which one system call per frame is too slow: the kernel segments GSO packets for links without them."""

_GSO_PACKETS_IN_QUEUE = 4
_MAX_BACKLOG_BYTES = 1_000_000
"""Largest backlog: a larger one would measure how fast the machine allocates memory."""

_AQM_BACKLOG_S = 0.004
"""Backlog below the 5 ms above which codel and fq_codel drop packets (RFC 8289, RFC 8290)."""

_WAITED_SHARE, _MIN_POINTS = 0.5, 8


@dataclass(frozen=True)
class Train:
    """A train of frames with `segments` segments of `segment_bytes` payload each.

    Attributes:
        backlog_bytes: amount that may be queued in the link, at its specified rate.
        framing_bytes: bytes that the link charges for each segment besides its own.
    """

    frames: int
    segments: int
    segment_bytes: int
    backlog_bytes: int
    framing_bytes: int = 0

    @property
    def payload_bytes(self) -> int:
        return self.segments * self.segment_bytes

    def wire_bytes(self, position: int) -> int:
        """Returns the size on the wire of the payload up to a position, with headers and framing of each segment."""
        return position + math.ceil(position / self.segment_bytes) * (HEADERS_BYTES + self.framing_bytes)

    def seconds(self, rate_bps: float) -> float:
        return self.wire_bytes(self.frames * self.payload_bytes) * 8 / rate_bps

    def __str__(self) -> str:
        kind = f"GSO packets of {self.segments} x" if self.segments > 1 else "frames of"
        return f"train of {self.frames} {kind} {self.segment_bytes + HEADERS_BYTES} bytes"


def train_for(spec: LinkSpec, rate_bps: int, max_frame_bytes: int | None) -> Train:
    """Returns a train of about 60 ms, or 30 ms on a fast link; on a slow link its frames are smaller.

    `max_frame_bytes` is the size of the largest GSO packet that the link accepts; 0 is none, None unknown.
    """
    train_bytes = rate_bps * (_TRAIN_S if rate_bps <= FAST_BPS else _FAST_TRAIN_S) / 8
    full = spec.frame_bytes - HEADERS_BYTES
    segment = max(MIN_PAYLOAD_BYTES, min(full, int(train_bytes / _SMALL_TRAIN_FRAMES) - HEADERS_BYTES))
    # A bound in packets ignores their size.
    queue_bytes = spec.queue_packets * (segment + HEADERS_BYTES) if spec.queue_packets else spec.queue_bytes
    bound = max_frame_bytes or (MAX_FRAME_BYTES if rate_bps >= _CUT_BY_KERNEL_BPS else 0)
    bound = min(bound, MAX_FRAME_BYTES, queue_bytes // _GSO_PACKETS_IN_QUEUE)
    segments = max(1, (bound - HEADERS_BYTES - 1) // segment) if segment == full else 1
    frame_bytes = segments * (segment + HEADERS_BYTES)
    frames = max(_MIN_TRAIN_FRAMES, math.ceil(train_bytes / frame_bytes))
    backlog_bytes = min(queue_bytes // 2, _MAX_BACKLOG_BYTES)
    if spec.discipline != "droptail":
        backlog_bytes = min(backlog_bytes, round(rate_bps * _AQM_BACKLOG_S / 8))
    return Train(frames, segments, segment, max(backlog_bytes, 2 * frame_bytes), spec.framing_bytes)


@dataclass(frozen=True)
class Arrival:
    """Arrival of a frame; `end_bytes` counts the bytes on the wire from the train's start to the frame's end."""

    end_bytes: int
    sent_ns: int
    arrived_ns: int


@dataclass(frozen=True)
class LineRate:
    """Rate at which a train arrived.

    Attributes:
        waited_bps: rate while frames were queued; None if too few were.
        overall_bps: rate from the first arrival to the last, which is the sender's if too few frames were queued.
    """

    waited_bps: float | None
    overall_bps: float


def line_rate(arrivals: Sequence[Arrival], latency_ns: float) -> LineRate | None:
    """Returns the rate of a link from the arrivals of a train; None if fewer than two frames arrived.

    It is the median over all pairs of frames that are half a train apart (after Theil and Sen), so a single late
    packet does not change it. Intervals in which no frame was queued are left out.

    Args:
        arrivals: the frames in the order in which they were sent.
        latency_ns: time from sending to arrival of a small frame that is not queued.
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
    enough = len(points) >= _MIN_POINTS and clock_ns >= _WAITED_SHARE * span_ns
    return LineRate(_slope_bps(points) if enough else None, overall_bps)


def _slope_bps(points: Sequence[tuple[int, int]]) -> float | None:
    half = len(points) // 2
    slopes = [
        (late_bytes - early_bytes) * 8e9 / (late_ns - early_ns)
        for (early_ns, early_bytes), (late_ns, late_bytes) in zip(points, points[half:], strict=False)
        if late_ns > early_ns
    ]
    return statistics.median(slopes) if slopes else None
