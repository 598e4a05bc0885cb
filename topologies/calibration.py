"""Measures each link by itself before a run: without it a link that is not what it was told to be would go unseen.

A link is measured with test frames from one end to the other, both by the kernel's clock of this machine, so that no
host, switch or connection is between. Delay: small frames, paced so that none waits for another. Rate: a train of
full frames (super-frames where the link takes them, as a connection would send), fed so that some always wait. Of the
train only those frames count that waited behind another in the link: while none waits, the sender is measured.

What a machine does to a measurement is noise that passes, a wrong specification is none and stays; so what is off is
measured again, up to four times in all, and the best counts.
"""

import math
import select
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from flightpath.errors import MeasurementFailed
from flightpath.units import format_bandwidth
from topologies.emulated_link import DIRECTIONS, Direction, EmulatedLink
from topologies.frame_socket import HEADERS_BYTES, MAX_FRAME_BYTES, FrameSocket, ReceivedFrame
from topologies.links import LinkSpec
from topologies.traces import read_trace

ATTEMPTS = 4
AGAIN_DELAY_MS, AGAIN_RATE_SHARE = 0.2, 0.005
"""What is off by more is measured again. Half of what `scenarios.fidelity` objects to."""

BUSY_LATENESS_MS = 1.0
"""If the link's own packets left so late meanwhile (99th percentile), the machine was measured, not the link."""

_PROBE_PAYLOAD_BYTES = 10
_PROBE_BYTES = HEADERS_BYTES + _PROBE_PAYLOAD_BYTES
_PROBING_S, _PROBE_PAUSE_S, _PROBES_LEAST, _PROBES_MOST = 0.05, 0.0005, 10, 100
_JITTER_PROBING_S, _JITTER_PAUSE_MOST_S = 0.25, 0.05
_MEDIAN_ERRORS = 6.25
"""Five standard errors of a median (1.25 standard deviations over the square root of their number)."""
_WARM_UP_PROBES = 3
_TRAIN_S, _FAST_TRAIN_S, _FAST_BPS = 0.06, 0.03, 1_000_000_000
_TRAIN_FRAMES_LEAST, _SMALL_TRAIN_FRAMES = 16, 64
_CUT_BY_KERNEL_BPS = 500_000_000
"""From here on one call per frame is too slow: a link that takes no super-frames gets what the kernel cuts of one."""
_SUPER_FRAMES_IN_QUEUE = 4
_SHORT_QUEUE_S = 0.001
"""No program can keep a line busy through a shorter queue: it pauses for longer than that now and then."""
_BACKLOG_MOST_BYTES = 1_000_000
"""More would measure how fast the machine finds memory for it."""
_AQM_BACKLOG_S = 0.004
"""Less than the 5 ms above which codel and fq_codel drop (RFC 8289, RFC 8290)."""
_WAITED_SHARE, _POINTS_LEAST = 0.5, 8
_JITTERS = 4
"""So many standard deviations apart, packets as good as never overtake each other; further off is as good as none."""
_RATE_UNCERTAINTY_MOST = 0.1
_QUIET_S, _LONGEST_WAIT_S, _QUEUE_WAIT_MOST_S = 0.02, 1.0, 10.0
_CLOCK_STEP_NS = 100_000


@dataclass(frozen=True)
class PathCalibration:
    """What a path between two hosts was found to be before anything was measured.

    Attributes:
        source, target: host names; `port` is the interface's number on both.
        rtt_ms: median of the pings.
        expected_rtt_ms: the sum of the links' delays, there and back.
        rtt_uncertainty_ms: by how much the links' jitter may move it.
        is_judged: False if a link on it has a trace, whose pauses no specification tells.
    """

    source: str
    target: str
    port: int
    rtt_ms: float
    expected_rtt_ms: float
    rtt_uncertainty_ms: float = 0.0
    is_judged: bool = True


@dataclass(frozen=True)
class LinkCalibration:
    """What one direction of a link was found to be before anything was measured, beside what was asked for.

    Attributes:
        link: the link's name; `direction` is seen from its first end.
        delay_ms, delay_p99_ms: one way, of small frames, without their serialisation; None if it was not measured.
        expected_delay_ms: as specified.
        delay_uncertainty_ms: by how much the specification's jitter may move the median.
        rate_bps: of a train that kept the link busy; None if it was not measured.
        expected_rate_bps: as specified; None if it is not limited.
        rate_uncertainty: by which share jitter may move the rate.
        max_frame_bytes: the largest super-frame that the link takes; 0 is none, None not known.
        asked: the specification, in words.
        method: how it was measured.
        not_judged: what the specification makes impossible to compare, and why.
        unchecked: what should have been compared and could not be, and why: the machine was the limit.
    """

    link: str
    direction: Direction
    delay_ms: float | None
    delay_p99_ms: float | None
    expected_delay_ms: float
    delay_uncertainty_ms: float = 0.0
    rate_bps: float | None = None
    expected_rate_bps: float | None = None
    rate_uncertainty: float = 0.0
    max_frame_bytes: int | None = None
    asked: str = ""
    method: str = ""
    not_judged: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()

    @property
    def delay_error_ms(self) -> float | None:
        """Found less expected."""
        return None if self.delay_ms is None else self.delay_ms - self.expected_delay_ms

    @property
    def rate_error(self) -> float | None:
        """Found less expected, as a share of what was expected."""
        if self.rate_bps is None or not self.expected_rate_bps:
            return None
        return self.rate_bps / self.expected_rate_bps - 1


@dataclass(frozen=True)
class Calibration:
    """A testbed as it was found before a run: each link by itself, and each path through hosts and switches."""

    links: tuple[LinkCalibration, ...] = ()
    paths: tuple[PathCalibration, ...] = ()


@dataclass(frozen=True)
class Arrival:
    """A frame of a train that arrived: `end_bytes` on the wire from the train's start to the end of this frame."""

    end_bytes: int
    sent_ns: int
    arrived_ns: int


@dataclass(frozen=True)
class LineRate:
    """What a train tells of the line.

    Attributes:
        waited_bps: the rate while frames waited; None if too few did.
        overall_bps: from the first arrival to the last; no more than this is known if too few frames waited.
    """

    waited_bps: float | None
    overall_bps: float


def line_rate(arrivals: Sequence[Arrival], latency_ns: float) -> LineRate | None:
    """The rate of a line from a train over it; None if next to nothing arrived.

    The median over all pairs of frames that are half a train apart (after Theil and Sen): one late packet, at either
    end too, moves nothing. Intervals before which no frame waited are cut out.

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
    span_ns = max(1, max(each.arrived_ns for each in arrivals) - min(each.arrived_ns for each in arrivals))
    overall_bps = (arrivals[-1].end_bytes - arrivals[0].end_bytes) * 8e9 / span_ns
    enough = len(points) >= _POINTS_LEAST and clock_ns >= _WAITED_SHARE * span_ns
    return LineRate(_slope_bps(points) if enough else None, overall_bps)


def expected_path(source: str, target: str, port: int, rtt_ms: float, specs: Sequence[LinkSpec]) -> PathCalibration:
    """A path's round trip beside what the links that it crosses, there and back, make of it."""
    return PathCalibration(
        source,
        target,
        port,
        rtt_ms,
        sum(spec.delay_s for spec in specs) * 1e3,
        sum(_JITTERS * spec.jitter_s for spec in specs) * 1e3,
        all(spec.trace is None for spec in specs),
    )


def calibrate(link: EmulatedLink) -> list[LinkCalibration]:
    """Both directions of a link, in less than 0.3 s and a few round trips if it is what it should be.

    Raises:
        MeasurementFailed: nothing passes, or the emulator has ended.
    """
    with ExitStack() as stack:
        ends = [stack.enter_context(FrameSocket(interface)) for interface in (link.intf1, link.intf2)]
        return _Bench(link, ends[0], ends[1]).measure()


@dataclass(frozen=True)
class _Train:
    """How a rate is measured: frames of `segments` segments with `segment_bytes` payload each.

    Attributes:
        backlog_bytes: how much may wait in the link at most, if it has the rate that it should have.
    """

    frames: int
    segments: int
    segment_bytes: int
    backlog_bytes: int

    @property
    def payload_bytes(self) -> int:
        return self.segments * self.segment_bytes

    def wire_bytes(self, position: int) -> int:
        """What so much payload is on the wire: each segment carries its headers."""
        return position + math.ceil(position / self.segment_bytes) * HEADERS_BYTES

    def seconds(self, rate_bps: float) -> float:
        """How long a line of this rate takes for all of it."""
        return self.wire_bytes(self.frames * self.payload_bytes) * 8 / rate_bps

    def __str__(self) -> str:
        kind = f"super-frames of {self.segments} x" if self.segments > 1 else "frames of"
        return f"train of {self.frames} {kind} {self.segment_bytes + HEADERS_BYTES} bytes"


@dataclass
class _End:
    """One direction's two ends, and what has arrived of it."""

    way: Direction
    spec: LinkSpec
    sender: FrameSocket
    receiver: FrameSocket
    arrived: dict[int, list[ReceivedFrame]] = field(default_factory=dict)

    def collect(self) -> None:
        for frame in self.receiver.received():
            self.arrived.setdefault(frame.train, []).append(frame)

    def of(self, train: int) -> list[ReceivedFrame]:
        """What arrived of a train, each position once, in the order in which it was sent."""
        first: dict[int, ReceivedFrame] = {}
        for frame in self.arrived.get(train, ()):
            first.setdefault(frame.position, frame)
        return [first[position] for position in sorted(first)]


class _Bench:
    """The measurements of one link."""

    def __init__(self, link: EmulatedLink, a: FrameSocket, b: FrameSocket) -> None:
        self._link = link
        self._ends = (_End("a_to_b", link.a_to_b, a, b), _End("b_to_a", link.b_to_a, b, a))
        self._trains = iter(range(1, 1 << 31))

    def measure(self) -> list[LinkCalibration]:
        self._probe(_WARM_UP_PROBES)  # the first frame of a kind is slower: switches ask, timestamps are turned on
        found = self._best(self._delays, lambda found: max(map(_delay_excess_ms, found)), AGAIN_DELAY_MS)
        return [self._with_rate(end, each) for end, each in zip(self._ends, found, strict=True)]

    def _best(self, measure: Callable[[], Any], error: Callable[[Any], float], good: float) -> Any:
        """The best of up to ATTEMPTS measurements, the first that is good enough."""
        best = None
        for _ in range(ATTEMPTS):
            found = measure()
            if best is None or error(found) < error(best):
                best = found
            if error(best) <= good:
                break
        return best

    # Delay

    def _delays(self) -> list[LinkCalibration]:
        pause_s = max(_pause_s(end.spec) for end in self._ends)
        probing_s = _JITTER_PROBING_S if any(end.spec.jitter_s for end in self._ends) else _PROBING_S
        count = max(_PROBES_LEAST, min(_PROBES_MOST, round(probing_s / pause_s)))
        self._link.reset()
        measured = self._probe(count, pause_s)
        stats = self._link.stats()["directions"]
        return [
            self._delay(end, delays, pause_s, count, stats[end.way])
            for end, delays in zip(self._ends, measured, strict=True)
        ]

    def _probe(self, count: int, pause_s: float = _PROBE_PAUSE_S) -> list[list[float]]:
        """Sends small frames in both directions at a time; for each direction the delays in ms."""
        train = next(self._trains)
        frames = [end.sender.frame(_PROBE_PAYLOAD_BYTES) for end in self._ends]
        sent: list[list[int]] = [[], []]
        due = time.monotonic()
        for number in range(count):
            due += pause_s
            time.sleep(max(0.0, due - time.monotonic()))
            for end, frame, times in zip(self._ends, frames, sent, strict=True):
                times.append(time.time_ns())
                end.sender.send(frame, train, number * _PROBE_PAYLOAD_BYTES)
        self._wait(self._ends, train, count)
        return [
            [
                (frame.arrived_ns - times[frame.position // _PROBE_PAYLOAD_BYTES]) / 1e6
                - _seconds(_PROBE_BYTES, end.spec) * 1e3
                for frame in end.of(train)
            ]
            for end, times in zip(self._ends, sent, strict=True)
        ]

    def _delay(
        self, end: _End, delays_ms: list[float], pause_s: float, count: int, stats: dict[str, Any]
    ) -> LinkCalibration:
        spec = end.spec
        if not delays_ms and not _may_lose_all(spec, count):
            raise MeasurementFailed(f"link {self._link.name}: none of {count} packets passed from {_way(end.way)}")
        found = LinkCalibration(
            self._link.name,
            end.way,
            statistics.median(delays_ms) if delays_ms else None,
            _percentile(delays_ms, 0.99) if delays_ms else None,
            spec.delay_s * 1e3,
            delay_uncertainty_ms=_median_uncertainty_s(spec, pause_s, count) * 1e3,
            asked=str(spec),
            max_frame_bytes=stats["spec"].get("max_frame_bytes"),
            method=f"{count} frames of {_PROBE_BYTES} bytes",
            not_judged=tuple(_not_judged(spec)),
        )
        if not delays_ms:
            return replace(found, unchecked=("delay: no packet passed, as this specification may bring about",))
        late_ms = _lateness_ms(stats, found)
        # Lateness makes no packet early, and of a median not more than most packets have.
        explained = late_ms > BUSY_LATENESS_MS and 0 < found.delay_error_ms <= found.delay_uncertainty_ms + late_ms
        if explained and _delay_excess_ms(found) > AGAIN_DELAY_MS:
            return replace(found, unchecked=(f"delay: {_too_busy(late_ms)}",))
        return found

    # Rate

    def _with_rate(self, end: _End, delay: LinkCalibration) -> LinkCalibration:
        rate_bps = end.spec.bandwidth_bps
        if rate_bps is None or delay.delay_ms is None:
            return delay
        train = _train_for(end.spec, rate_bps, delay.max_frame_bytes)
        duration_s = train.seconds(rate_bps)
        uncertainty = _JITTERS * end.spec.jitter_s / duration_s
        known = replace(
            delay, expected_rate_bps=float(rate_bps), rate_uncertainty=uncertainty, method=f"{delay.method}; {train}"
        )
        if uncertainty > _RATE_UNCERTAINTY_MOST:
            why = f"rate: jitter moves a transfer of {duration_s * 1e3:.0f} ms by up to {uncertainty:.0%}"
            return replace(known, not_judged=(*known.not_judged, why))
        found = self._best(lambda: self._rate(end, train, known), _rate_excess, AGAIN_RATE_SHARE)
        if found.unchecked != known.unchecked and end.spec.queue_bytes * 8 / rate_bps < _SHORT_QUEUE_S:
            why = f"rate: through a queue of {end.spec.queue} no transfer keeps this link busy"
            return replace(found, unchecked=known.unchecked, not_judged=(*known.not_judged, why))
        return found

    def _rate(self, end: _End, train: _Train, known: LinkCalibration) -> LinkCalibration:
        self._link.reset()
        before = self._link.stats()["directions"][end.way]
        clock_ns = _clock_offset_ns()
        arrivals = self._run_train(end, train, known.expected_rate_bps)
        after = self._link.stats()["directions"][end.way]
        found = line_rate(arrivals, known.delay_ms * 1e6)
        late_ms = _lateness_ms(after, known)
        if found is None or abs(_clock_offset_ns() - clock_ns) > _CLOCK_STEP_NS:
            return _unchecked(known, "rate: the train did not arrive" if found is None else "rate: the clock was set")
        if _refused(after) > _refused(before) and _loses(end.spec):
            return _unchecked(known, "rate: packets were lost in the queue besides those lost by chance")
        if found.waited_bps is None:
            # However fast the sender was, a line cannot deliver faster than it is.
            if found.overall_bps > known.expected_rate_bps * (1 + AGAIN_RATE_SHARE):
                return replace(known, rate_bps=found.overall_bps)
            return _unchecked(known, "rate: the machine could not send fast enough to keep the link busy")
        measured = replace(known, rate_bps=found.waited_bps)
        if _rate_excess(measured) > AGAIN_RATE_SHARE:
            # A train that catches up looks faster, but by no more than it was late.
            faster_ms = measured.rate_error * train.seconds(known.expected_rate_bps) * 1e3
            if late_ms > BUSY_LATENESS_MS and faster_ms <= 2 * late_ms:
                return _unchecked(known, f"rate: {_too_busy(late_ms)}")
            if measured.rate_error < 0 and _is_fast_and_in_force(end.spec, after):
                passed = format_bandwidth(found.waited_bps)
                return _unchecked(known, f"rate: the machine carried only {passed} over a link that is set right")
        return measured

    def _run_train(self, end: _End, train: _Train, rate_bps: float) -> list[Arrival]:
        number = next(self._trains)
        sent = self._feed(end, train, number, rate_bps)
        self._wait((end,), number, train.frames)
        frames = end.of(number)
        # Where packets are lost by chance, the lost ones took their time on the line too.
        ends = (
            [train.wire_bytes(frame.position + frame.payload_bytes) for frame in frames]
            if _loses(end.spec)
            else _running_sum(train.wire_bytes(frame.payload_bytes) for frame in frames)
        )
        return [
            Arrival(wire, sent[frame.position // train.payload_bytes], frame.arrived_ns)
            for wire, frame in zip(ends, frames, strict=True)
        ]

    def _feed(self, end: _End, train: _Train, number: int, rate_bps: float) -> list[int]:
        """Sends the train, no faster than keeps `backlog_bytes` waiting; returns when each frame was sent."""
        frame = end.sender.frame(train.payload_bytes, train.segment_bytes if train.segments > 1 else 0)
        frame_bytes = train.wire_bytes(train.payload_bytes)
        sent: list[int] = []
        begin = time.monotonic()
        for index in range(train.frames):
            due = begin + ((index + 1) * frame_bytes - train.backlog_bytes) * 8 / rate_bps
            while (ahead := due - time.monotonic()) > 0:
                end.collect()
                if ahead > _SHORT_QUEUE_S:
                    time.sleep(_SHORT_QUEUE_S / 4)
            sent.append(time.time_ns())
            end.sender.send(frame, number, index * train.payload_bytes)
        return sent

    def _wait(self, ends: Sequence[_End], train: int, count: int) -> None:
        """Collects until all has arrived, or nothing more comes."""
        quiet_since = time.monotonic()
        deadline = quiet_since + _LONGEST_WAIT_S + max(_longest_inside_s(end.spec) for end in ends)
        seen = -1
        while time.monotonic() < deadline:
            for end in ends:
                end.collect()
            arrived = [len(end.arrived.get(train, ())) for end in ends]
            if min(arrived) >= count:
                return
            if sum(arrived) != seen:
                seen, quiet_since = sum(arrived), time.monotonic()
            elif time.monotonic() - quiet_since > _QUIET_S and self._is_empty():
                return
            select.select([end.receiver for end in ends], [], [], _QUIET_S / 4)

    def _is_empty(self) -> bool:
        directions = self._link.stats()["directions"]
        return all(directions[way]["queued_packets"] == 0 for way in DIRECTIONS)


def _train_for(spec: LinkSpec, rate_bps: int, max_frame_bytes: int | None) -> _Train:
    """A train of about _TRAIN_S; of smaller frames where few full ones would fill that."""
    train_bytes = rate_bps * (_TRAIN_S if rate_bps <= _FAST_BPS else _FAST_TRAIN_S) / 8
    full = spec.frame_bytes - HEADERS_BYTES
    segment = max(_PROBE_PAYLOAD_BYTES, min(full, int(train_bytes / _SMALL_TRAIN_FRAMES) - HEADERS_BYTES))
    queue_bytes = spec.queue_bytes
    if spec.queue_packets:  # which are counted whatever their size
        queue_bytes = spec.queue_packets * (segment + HEADERS_BYTES)
    bound = max_frame_bytes or (MAX_FRAME_BYTES if rate_bps >= _CUT_BY_KERNEL_BPS else 0)
    bound = min(bound, MAX_FRAME_BYTES, queue_bytes // _SUPER_FRAMES_IN_QUEUE)
    segments = max(1, (bound - HEADERS_BYTES - 1) // segment) if segment == full else 1
    frame_bytes = segments * (segment + HEADERS_BYTES)
    backlog_bytes = min(queue_bytes // 2, _BACKLOG_MOST_BYTES)
    if spec.discipline != "droptail":
        backlog_bytes = min(backlog_bytes, round(rate_bps * _AQM_BACKLOG_S / 8))
    frames = max(_TRAIN_FRAMES_LEAST, math.ceil(train_bytes / frame_bytes))
    return _Train(frames, segments, segment, max(backlog_bytes, 2 * frame_bytes))


def _slope_bps(points: Sequence[tuple[int, int]]) -> float | None:
    half = len(points) // 2
    slopes = [
        (late_bytes - early_bytes) * 8e9 / (late_ns - early_ns)
        for (early_ns, early_bytes), (late_ns, late_bytes) in zip(points, points[half:], strict=False)
        if late_ns > early_ns
    ]
    return statistics.median(slopes) if slopes else None


def _not_judged(spec: LinkSpec) -> Iterator[str]:
    if spec.trace is not None:
        yield "rate: a trace has its rate on average over its whole length only"
        yield "delay: packets wait for the trace's next opportunity"
    elif spec.bandwidth_bps is None:
        yield "rate: not limited"


def _delay_excess_ms(found: LinkCalibration) -> float:
    """By how much a delay is off, beyond what the specification explains."""
    if any(why.startswith("delay") for why in found.not_judged):
        return 0.0
    error_ms = found.delay_error_ms
    return math.inf if error_ms is None else max(0.0, abs(error_ms) - found.delay_uncertainty_ms)


def _rate_excess(found: LinkCalibration) -> float:
    error = found.rate_error
    return math.inf if error is None else max(0.0, abs(error) - found.rate_uncertainty)


def _unchecked(known: LinkCalibration, why: str) -> LinkCalibration:
    return replace(known, unchecked=(*known.unchecked, why))


def _is_fast_and_in_force(spec: LinkSpec, stats: dict[str, Any]) -> bool:
    """Whether a link that passes too little needs more than this machine has, rather than another setting."""
    return spec.bandwidth_bps >= _FAST_BPS and stats["spec"].get("rate_bps") == spec.bandwidth_bps


def _too_busy(late_ms: float) -> str:
    return f"the machine was busy: packets left the link up to {late_ms:.1f} ms late"


def _lateness_ms(stats: dict[str, Any], delay: LinkCalibration) -> float:
    """How late packets left; of an emulator that cannot tell, how late they came, unless jitter may have done that."""
    if stats.get("lateness_ns") is not None:
        return stats["lateness_ns"]["p99"] / 1e6
    return 0.0 if delay.delay_uncertainty_ms else delay.delay_p99_ms - delay.delay_ms


def _refused(stats: dict[str, Any]) -> int:
    return sum(stats["drops"].get(cause) or 0 for cause in ("queue", "aqm"))


def _loses(spec: LinkSpec) -> bool:
    return spec.loss > 0 or spec.burst_loss is not None


def _may_lose_all(spec: LinkSpec, count: int) -> bool:
    return spec.trace is not None or spec.burst_loss is not None or spec.loss**count > 1e-6


def _longest_inside_s(spec: LinkSpec) -> float:
    queue_s = spec.queue_bytes * 8 / spec.bandwidth_bps if spec.bandwidth_bps else 0.0
    pause_s = read_trace(spec.trace).period_ms / 1e3 if spec.trace is not None else 0.0
    return spec.delay_s + _JITTERS * spec.jitter_s + min(queue_s + pause_s, _QUEUE_WAIT_MOST_S)


def _pause_s(spec: LinkSpec) -> float:
    """Between probes: none waits for another on the line, nor is held up by its jitter."""
    return max(_PROBE_PAUSE_S, 2 * _seconds(_PROBE_BYTES, spec), min(_JITTERS * spec.jitter_s, _JITTER_PAUSE_MOST_S))


def _median_uncertainty_s(spec: LinkSpec, pause_s: float, count: int) -> float:
    held_up = not spec.reordering and pause_s < _JITTERS * spec.jitter_s
    return spec.jitter_s * (_JITTERS if held_up else _MEDIAN_ERRORS / math.sqrt(count))


def _seconds(frame_bytes: int, spec: LinkSpec) -> float:
    return frame_bytes * 8 / spec.bandwidth_bps if spec.bandwidth_bps else 0.0


def _running_sum(sizes: Iterator[int]) -> list[int]:
    total, sums = 0, []
    for size in sizes:
        total += size
        sums.append(total)
    return sums


def _percentile(values: Sequence[float], share: float) -> float:
    """Of few values the highest."""
    return sorted(values)[min(len(values) - 1, math.ceil(share * len(values)) - 1)]


def _clock_offset_ns() -> int:
    return time.time_ns() - time.monotonic_ns()


def _way(direction: Direction) -> str:
    return direction.replace("_", " ")
