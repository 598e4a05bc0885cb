"""Downloads whose receiver notes every silence: how long a failure lasts is seen there, and nowhere else."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flightpath.errors import MeasurementFailed, UsageError
from flightpath.hosts import Host, await_end, running
from probes.transfers import stream_client
from results.records import Series

_GRACE_S = 30.0


@dataclass(frozen=True)
class StreamRun:
    """What a receiver saw.

    Attributes:
        start_ns: when it began to read, every connection having had its first byte (CLOCK_MONOTONIC).
        connect_ms, first_byte_ms: of each connection, from its beginning.
        bytes: payload that arrived on each connection.
        interval_s: what one value of `bins` is.
        bins: payload that arrived in each interval, on all connections.
        silences_ns: when nothing came on one connection for longer than the probe's `silence_s`: from, to.
    """

    start_ns: int
    connect_ms: tuple[float, ...]
    first_byte_ms: tuple[float, ...]
    bytes: tuple[int, ...]
    interval_s: float
    bins: tuple[int, ...]
    silences_ns: tuple[tuple[int, int], ...]

    def goodput_bps(self, from_s: float, to_s: float) -> float:
        """Payload per second between two moments, counted from the start in whole intervals.

        Raises:
            ValueError: there is no whole interval in between.
        """
        first, last = round(from_s / self.interval_s), round(to_s / self.interval_s)
        chosen = self.bins[first:last]
        if not chosen:
            raise ValueError(f"nothing was measured from {from_s:g} to {to_s:g} s")
        return sum(chosen) * 8 / (len(chosen) * self.interval_s)

    def longest_silence_s(self, from_ns: int, to_ns: int) -> float:
        """The longest silence of any connection that was going on at some time between two moments; 0 if none was."""
        lengths = [end - begin for begin, end in self.silences_ns if end > from_ns and begin < to_ns]
        return max(lengths, default=0) / 1e9

    def goodput(self, bin_s: float = 0.1) -> Series:
        """Goodput over time."""
        step = max(1, round(bin_s / self.interval_s))
        whole = range(0, len(self.bins) - step + 1, step)
        width_s = step * self.interval_s
        return Series(
            "bit/s",
            tuple(i * self.interval_s for i in whole),
            tuple(sum(self.bins[i : i + step]) * 8 / width_s for i in whole),
        )


@dataclass(frozen=True)
class Stream:
    """Downloads from a `services.stream.StreamServer`.

    Attributes:
        seconds: how long is read, from when every connection has had its first byte.
        connections: side by side.
        mptcp: ask for MPTCP.
        port: of the server.
        interval_s: resolution of what arrived when.
        silence_s: how long nothing must come on a connection to be noted as silence.
        timeout_s: how long connecting, and the first byte, may take.
    """

    seconds: float = 5.0
    connections: int = 1
    mptcp: bool = False
    port: int = 5300
    interval_s: float = 0.01
    silence_s: float = 0.02
    timeout_s: float = 10.0

    def __post_init__(self) -> None:
        if self.connections < 1:
            raise UsageError(f"connections: {self.connections} is less than 1")
        if self.seconds < self.interval_s:
            raise UsageError(f"seconds: {self.seconds:g} s is less than an interval of {self.interval_s:g} s")

    def run(
        self,
        client: Host,
        address: str,
        *,
        watch: Callable[[], None] = lambda: None,
        on_start: Callable[[int], None] = lambda start_ns: None,
    ) -> StreamRun:
        """Downloads.

        Args:
            client: host that reads.
            address: of the server.
            watch: called a few times a second; what it raises ends the download.
            on_start: called when every connection has had its first byte, with the moment on CLOCK_MONOTONIC.

        Raises:
            MeasurementFailed: a connection could not be made, or ended.
        """
        told = self._ask(client, address, self.seconds, self.connections, watch, on_start)
        return StreamRun(
            told["start_ns"],
            _milliseconds(told["connect_ns"]),
            _milliseconds(told["first_byte_ns"]),
            tuple(told["bytes"]),
            self.interval_s,
            tuple(told["bins"]),
            tuple((begin, end) for begin, end in told["silences_ns"]),
        )

    def first_byte_ms(self, client: Host, address: str, count: int = 10) -> tuple[float, ...]:
        """How long `count` connections, one after the other, took from their beginning to the first byte, in ms."""
        return _milliseconds(self._ask(client, address, 0, count)["first_byte_ns"])

    def _ask(
        self,
        client: Host,
        address: str,
        seconds: float,
        connections: int,
        watch: Callable[[], None] = lambda: None,
        on_start: Callable[[int], None] = lambda start_ns: None,
    ) -> Mapping[str, Any]:
        settings = {
            "address": address,
            "port": self.port,
            "connections": connections,
            "seconds": seconds,
            "mptcp": self.mptcp,
            "interval_ns": round(self.interval_s * 1e9),
            "silence_ns": round(self.silence_s * 1e9),
            "timeout_s": self.timeout_s,
        }
        limit_s = seconds + _GRACE_S
        with running(client, [sys.executable, "-I", "-S", stream_client.__file__, json.dumps(settings)]) as process:
            if seconds:
                word, _, start = process.stdout.readline().partition(" ")
                if word == "connected":
                    on_start(int(start))
            too_late = f"{client.name} from {address}: no end after {limit_s:g} s"
            printed, said = await_end(process, limit_s, watch, too_late)
        if process.returncode != 0:
            raise MeasurementFailed(f"{client.name} could not read the stream: {said.strip()}")
        return json.loads(printed)


def _milliseconds(times_ns: list[int]) -> tuple[float, ...]:
    return tuple(time_ns / 1e6 for time_ns in times_ns)
