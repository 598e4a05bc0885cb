"""Downloads whose receiver records every silence, which shows how long a failure on the path lasted."""

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from flightpath.errors import MeasurementFailed, UsageError
from flightpath.hosts import Host, await_end, running
from probes.probe import Probe
from probes.transfers.programs import stream_client
from results.records import Measurement, Metric, Series

_GRACE_S = 30.0


@dataclass(frozen=True)
class StreamRun:
    """Observations of a receiver.

    Attributes:
        start_ns: time when it began to read, after the first byte on every connection (CLOCK_MONOTONIC).
        connect_ms, first_byte_ms: times of each connection, from its beginning.
        bytes: payload that arrived on each connection.
        bins: payload that arrived on all connections in each interval.
        silences_ns: begin and end of times in which nothing arrived on a connection for at least `silence_s`.
    """

    start_ns: int
    connect_ms: tuple[float, ...]
    first_byte_ms: tuple[float, ...]
    bytes: tuple[int, ...]
    interval_s: float
    bins: tuple[int, ...]
    silences_ns: tuple[tuple[int, int], ...]

    def goodput_bps(self, from_s: float, to_s: float) -> float:
        """Returns the payload per second between two times after the start, rounded to whole intervals.

        Raises:
            ValueError: there is no interval between them.
        """
        first, last = round(from_s / self.interval_s), round(to_s / self.interval_s)
        chosen = self.bins[first:last]
        if not chosen:
            raise ValueError(f"nothing was measured from {from_s:g} to {to_s:g} s")
        return sum(chosen) * 8 / (len(chosen) * self.interval_s)

    def longest_silence_s(self, from_ns: int, to_ns: int) -> float:
        """Returns the longest silence on any connection that overlaps with a time range; 0 without one."""
        lengths = [end - begin for begin, end in self.silences_ns if end > from_ns and begin < to_ns]
        return max(lengths, default=0) / 1e9

    def goodput(self, bin_s: float = 0.1) -> Series:
        """Returns the goodput over time."""
        step = max(1, round(bin_s / self.interval_s))
        whole = range(0, len(self.bins) - step + 1, step)
        width_s = step * self.interval_s
        return Series(
            "bit/s",
            tuple(i * self.interval_s for i in whole),
            tuple(sum(self.bins[i : i + step]) * 8 / width_s for i in whole),
        )

    def measurement(self) -> Measurement:
        """Metrics `goodput` (bit/s), and `connect` and `first_byte` (ms, medians); series `goodput`."""
        metrics = {
            "goodput": Metric(sum(self.bins) * 8 / (len(self.bins) * self.interval_s), "bit/s"),
            "connect": Metric(statistics.median(self.connect_ms), "ms"),
            "first_byte": Metric(statistics.median(self.first_byte_ms), "ms"),
        }
        return Measurement(metrics, {"goodput": self.goodput()})


@dataclass(frozen=True)
class Stream(Probe):
    """Downloads from a `services.stream.StreamServer`.

    Attributes:
        seconds: duration of reading, after the first byte on every connection.
        interval_s: the width of a bin.
        silence_s: minimum time without data on a connection that counts as silence.
        timeout_s: time limit of connecting, and of the first byte.
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
        host: Host,
        address: str,
        *,
        watch: Callable[[], None] = lambda: None,
        on_start: Callable[[int], None] = lambda start_ns: None,
    ) -> StreamRun:
        """Downloads; see `Probe.run`. `on_start` gets the time (CLOCK_MONOTONIC) at which all have had a first byte."""
        limit_s = self.seconds + _GRACE_S
        with running(host, self._argv(address, self.seconds, self.connections)) as process:
            assert process.stdout is not None  # `running` gives it a pipe
            word, _, start = process.stdout.readline().partition(" ")
            if word == "connected":
                on_start(int(start))
            report = _report(process, f"{host.name} from {address}", limit_s, watch)
        return StreamRun(
            report["start_ns"],
            _milliseconds(report["connect_ns"]),
            _milliseconds(report["first_byte_ns"]),
            tuple(report["bytes"]),
            self.interval_s,
            tuple(report["bins"]),
            tuple((begin, end) for begin, end in report["silences_ns"]),
        )

    def first_byte_ms(self, host: Host, address: str, count: int = 10) -> tuple[float, ...]:
        """Returns the time to the first byte of `count` connections, one after the other, in ms."""
        with running(host, self._argv(address, 0, count)) as process:
            return _milliseconds(_report(process, f"{host.name} from {address}", _GRACE_S)["first_byte_ns"])

    def _argv(self, address: str, seconds: float, connections: int) -> list[str]:
        settings = {**asdict(self), "address": address, "seconds": seconds, "connections": connections}
        return [sys.executable, "-I", "-S", stream_client.__file__, json.dumps(settings)]


def _report(
    process: subprocess.Popen[str], name: str, limit_s: float, watch: Callable[[], None] = lambda: None
) -> Mapping[str, Any]:
    stdout, stderr = await_end(process, limit_s, watch, f"{name}: no end after {limit_s:g} s")
    if process.returncode != 0:
        raise MeasurementFailed(f"{name}: could not read the stream: {stderr.strip()}")
    return json.loads(stdout)


def _milliseconds(times_ns: list[int]) -> tuple[float, ...]:
    return tuple(time_ns / 1e6 for time_ns in times_ns)
