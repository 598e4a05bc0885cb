"""Test traffic over one link: probes in both directions, and trains in one."""

import select
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from flightpath.clock import Clock, clock_here
from topologies.calibration.frame_socket import HEADERS_BYTES, FrameSocket, ReceivedFrame
from topologies.calibration.records import JITTERS
from topologies.calibration.trains import MIN_PAYLOAD_BYTES, Arrival, Train
from topologies.links.changes import Direction
from topologies.links.emulated_link import EmulatedLink
from topologies.links.fields import Effect
from topologies.links.spec import LinkSpec
from topologies.links.traces import read_trace

PROBE_BYTES = HEADERS_BYTES + MIN_PAYLOAD_BYTES
SHORT_QUEUE_S = 0.001
"""Queue length below which no program can keep a link busy, because it is sometimes delayed for longer."""

_LONG_DELAY_S = 1.0
_QUIET_S, _MAX_WAIT_S, _MAX_QUEUE_WAIT_S = 0.02, 1.0, 10.0


@dataclass
class OneWay:
    """One direction of a link: its two ends, and the received frames by train."""

    direction: Direction
    spec: LinkSpec
    sender: FrameSocket
    receiver: FrameSocket
    arrived: dict[int, list[ReceivedFrame]] = field(default_factory=dict)

    def collect(self) -> None:
        """Collects the frames that have arrived since the last call."""
        for frame in self.receiver.received():
            self.arrived.setdefault(frame.train, []).append(frame)

    def frames_of(self, train: int, payload_bytes: int, segment_bytes: int) -> list[ReceivedFrame]:
        """Returns the frames of a train in the order in which they were sent, without duplicates.

        A frame whose position or length does not fit the train was damaged on the way, and is left out.
        """
        first: dict[int, ReceivedFrame] = {}
        for frame in self.arrived.get(train, ()):
            if frame.position % segment_bytes == 0 and frame.position + frame.payload_bytes <= payload_bytes:
                first.setdefault(frame.position, frame)
        return [first[position] for position in sorted(first)]


class LinkTraffic:
    """Sends probes and trains over a link whose ends have these sockets; `ways` are its two directions."""

    def __init__(self, link: EmulatedLink, a: FrameSocket, b: FrameSocket) -> None:
        self._link = link
        self._trains = iter(range(1, 1 << 31))
        self.ways = (OneWay("a_to_b", link.a_to_b, a, b), OneWay("b_to_a", link.b_to_a, b, a))

    def probe(self, count: int, pause_s: float) -> dict[Direction, list[float]]:
        """Sends small frames in both directions; returns the delays, in ms, of those that arrived.

        The serialisation time of a frame is subtracted.
        """
        train = next(self._trains)
        frames = {way.direction: way.sender.frame(MIN_PAYLOAD_BYTES) for way in self.ways}
        sent_ns: dict[Direction, list[int]] = {direction: [] for direction in frames}
        due = time.monotonic()
        for number in range(count):
            due += pause_s
            time.sleep(max(0.0, due - time.monotonic()))
            for way in self.ways:
                sent_ns[way.direction].append(time.time_ns())
                way.sender.send(frames[way.direction], train, number * MIN_PAYLOAD_BYTES)
        self._wait(self.ways, train, count)
        return {
            way.direction: [
                (frame.arrived_ns - sent_ns[way.direction][frame.position // MIN_PAYLOAD_BYTES]) / 1e6
                - way.spec.serialisation_s(PROBE_BYTES) * 1e3
                for frame in way.frames_of(train, count * MIN_PAYLOAD_BYTES, MIN_PAYLOAD_BYTES)
            ]
            for way in self.ways
        }

    def run_train(self, way: OneWay, train: Train, rate_bps: float) -> list[Arrival]:
        """Sends a train in one direction, paced for a link of this rate; returns the frames that arrived."""
        number = next(self._trains)
        sent_ns = self._feed(way, train, number, rate_bps)
        self._wait((way,), number, train.frames)
        frames = way.frames_of(number, train.frames * train.payload_bytes, train.segment_bytes)
        # Packets that were lost at random were serialised too.
        ends = (
            [train.wire_bytes(frame.position + frame.payload_bytes) for frame in frames]
            if way.spec.effect is Effect.LOSES
            else accumulate(train.wire_bytes(frame.payload_bytes) for frame in frames)
        )
        return [
            Arrival(wire, sent_ns[frame.position // train.payload_bytes], frame.arrived_ns)
            for wire, frame in zip(ends, frames, strict=True)
        ]

    def _feed(self, way: OneWay, train: Train, number: int, rate_bps: float) -> list[int]:
        """Sends the train, paced to keep `backlog_bytes` queued; returns the send time of each frame."""
        frame = way.sender.frame(train.payload_bytes, train.segment_bytes if train.segments > 1 else 0)
        frame_bytes = train.wire_bytes(train.payload_bytes)
        sent_ns: list[int] = []
        # In real time a sleep may end too late; in virtual time a busy loop would stop the clock.
        sleeps_exactly = clock_here() is Clock.VIRTUAL
        begin = time.monotonic()
        for index in range(train.frames):
            due = begin + ((index + 1) * frame_bytes - train.backlog_bytes) * 8 / rate_bps
            while (ahead := due - time.monotonic()) > 0:
                way.collect()
                if ahead > SHORT_QUEUE_S or sleeps_exactly:
                    time.sleep(min(ahead, SHORT_QUEUE_S / 4))
            sent_ns.append(time.time_ns())
            way.sender.send(frame, number, index * train.payload_bytes)
        return sent_ns

    def _wait(self, ways: Sequence[OneWay], train: int, count: int) -> None:
        """Collects frames until all have arrived or no more arrive."""
        quiet_since = time.monotonic()
        due = quiet_since + min(_least_transit_s(way.spec) for way in ways)
        deadline = quiet_since + _MAX_WAIT_S + max(_max_transit_s(way.spec) for way in ways)
        seen = -1
        while time.monotonic() < deadline:
            for way in ways:
                way.collect()
            arrived = [len(way.arrived.get(train, ())) for way in ways]
            if min(arrived) >= count:
                return
            if sum(arrived) != seen:
                seen, quiet_since = sum(arrived), time.monotonic()
            elif time.monotonic() - quiet_since > _QUIET_S and not any(
                counters["queued_packets"] for counters in self._link.stats()["directions"].values()
            ):
                return
            pause_s = max(_QUIET_S / 4, due - time.monotonic())
            select.select([way.receiver for way in ways], [], [], pause_s)


def _least_transit_s(spec: LinkSpec) -> float:
    """Returns the time before which nothing arrives over a long link; waking meanwhile would make virtual time slow."""
    least_s = spec.delay_s - JITTERS * spec.jitter_s
    return least_s if least_s > _LONG_DELAY_S else 0.0


def _max_transit_s(spec: LinkSpec) -> float:
    queue_s = spec.serialisation_s(spec.queue_bytes)
    pause_s = read_trace(spec.trace).period_ms / 1e3 if spec.trace is not None else 0.0
    return spec.delay_s + JITTERS * spec.jitter_s + min(queue_s + pause_s, _MAX_QUEUE_WAIT_S)
