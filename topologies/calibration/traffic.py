"""Test frames over one link, both ways: without it a link could be measured only through hosts and connections."""

import select
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import accumulate
from types import TracebackType
from typing import Self

from topologies.calibration.frame_socket import HEADERS_BYTES, FrameSocket, ReceivedFrame
from topologies.calibration.records import JITTERS
from topologies.calibration.trains import LEAST_PAYLOAD_BYTES, Arrival, Train
from topologies.links.changes import DIRECTIONS, Direction
from topologies.links.emulated_link import EmulatedLink
from topologies.links.fields import Effect
from topologies.links.spec import LinkSpec
from topologies.links.traces import read_trace

PROBE_BYTES = HEADERS_BYTES + LEAST_PAYLOAD_BYTES
SHORT_QUEUE_S = 0.001
"""No program can keep a line busy through a shorter queue: it pauses for longer than that now and then."""

_QUIET_S, _LONGEST_WAIT_S, _QUEUE_WAIT_MOST_S = 0.02, 1.0, 10.0


@dataclass
class OneWay:
    """One direction's two ends, and what has arrived of it."""

    way: Direction
    spec: LinkSpec
    sender: FrameSocket
    receiver: FrameSocket
    arrived: dict[int, list[ReceivedFrame]] = field(default_factory=dict)

    def collect(self) -> None:
        """Takes what has arrived since."""
        for frame in self.receiver.received():
            self.arrived.setdefault(frame.train, []).append(frame)

    def of(self, train: int) -> list[ReceivedFrame]:
        """What arrived of a train, each position once, in the order in which it was sent."""
        first: dict[int, ReceivedFrame] = {}
        for frame in self.arrived.get(train, ()):
            first.setdefault(frame.position, frame)
        return [first[position] for position in sorted(first)]


class LinkTraffic:
    """Probes and trains over a link, as a context manager; `ways` are its two directions."""

    ways: tuple[OneWay, OneWay]

    def __init__(self, link: EmulatedLink) -> None:
        self._link = link
        self._trains = iter(range(1, 1 << 31))
        self._sockets = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            a, b = (stack.enter_context(FrameSocket(interface)) for interface in (self._link.intf1, self._link.intf2))
            self._sockets = stack.pop_all()
        self.ways = (OneWay("a_to_b", self._link.a_to_b, a, b), OneWay("b_to_a", self._link.b_to_a, b, a))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._sockets.close()

    def probe(self, count: int, pause_s: float) -> list[list[float]]:
        """Sends small frames in both directions at a time; for each direction the delays in ms.

        The delays of those that arrived, without the time that the line takes for such a frame.
        """
        train = next(self._trains)
        frames = [end.sender.frame(LEAST_PAYLOAD_BYTES) for end in self.ways]
        sent: list[list[int]] = [[], []]
        due = time.monotonic()
        for number in range(count):
            due += pause_s
            time.sleep(max(0.0, due - time.monotonic()))
            for end, frame, times in zip(self.ways, frames, sent, strict=True):
                times.append(time.time_ns())
                end.sender.send(frame, train, number * LEAST_PAYLOAD_BYTES)
        self._wait(self.ways, train, count)
        return [
            [
                (frame.arrived_ns - times[frame.position // LEAST_PAYLOAD_BYTES]) / 1e6
                - end.spec.serialisation_s(PROBE_BYTES) * 1e3
                for frame in end.of(train)
            ]
            for end, times in zip(self.ways, sent, strict=True)
        ]

    def run_train(self, end: OneWay, train: Train, rate_bps: float) -> list[Arrival]:
        """Sends a train in one direction, fed for a line of this rate; what arrived of it."""
        number = next(self._trains)
        sent = self._feed(end, train, number, rate_bps)
        self._wait((end,), number, train.frames)
        frames = end.of(number)
        # Where packets are lost by chance, the lost ones took their time on the line too.
        ends = (
            [train.wire_bytes(frame.position + frame.payload_bytes) for frame in frames]
            if end.spec.effect is Effect.LOSES
            else accumulate(train.wire_bytes(frame.payload_bytes) for frame in frames)
        )
        return [
            Arrival(wire, sent[frame.position // train.payload_bytes], frame.arrived_ns)
            for wire, frame in zip(ends, frames, strict=True)
        ]

    def _feed(self, end: OneWay, train: Train, number: int, rate_bps: float) -> list[int]:
        """Sends the train, no faster than keeps `backlog_bytes` waiting; returns when each frame was sent."""
        frame = end.sender.frame(train.payload_bytes, train.segment_bytes if train.segments > 1 else 0)
        frame_bytes = train.wire_bytes(train.payload_bytes)
        sent: list[int] = []
        begin = time.monotonic()
        for index in range(train.frames):
            due = begin + ((index + 1) * frame_bytes - train.backlog_bytes) * 8 / rate_bps
            while (ahead := due - time.monotonic()) > 0:
                end.collect()
                if ahead > SHORT_QUEUE_S:
                    time.sleep(SHORT_QUEUE_S / 4)
            sent.append(time.time_ns())
            end.sender.send(frame, number, index * train.payload_bytes)
        return sent

    def _wait(self, ends: Sequence[OneWay], train: int, count: int) -> None:
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


def _longest_inside_s(spec: LinkSpec) -> float:
    queue_s = spec.serialisation_s(spec.queue_bytes)
    pause_s = read_trace(spec.trace).period_ms / 1e3 if spec.trace is not None else 0.0
    return spec.delay_s + JITTERS * spec.jitter_s + min(queue_s + pause_s, _QUEUE_WAIT_MOST_S)
