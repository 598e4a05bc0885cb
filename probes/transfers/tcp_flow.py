"""A bulk transfer over one TCP connection, with its window and round trip over time."""

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from flightpath.commands import end_and_close
from flightpath.errors import MeasurementFailed
from flightpath.hosts import Host, await_end
from flightpath.launcher import python_module
from probes.probe import Probe
from results.records import Measurement, Metric, Series

OPEN, DISORDER, CWR, RECOVERY, LOSS = range(5)
"""States of a connection's congestion control (`TcpInfo.ca_state`)."""

NO_SSTHRESH = 0x7FFFFFFF
_UNLIMITED_PACING = (1 << 64) - 1
_GRACE_S = 30.0


@dataclass(frozen=True)
class FlowTrace:
    """Samples of a transfer in the order of time: `time_ns` and the fields of `flightpath.tcp_info.TcpInfo`."""

    algorithm: str
    columns: Mapping[str, Sequence[int]]

    @property
    def times_s(self) -> tuple[float, ...]:
        """Time of each sample on CLOCK_MONOTONIC."""
        return tuple(ns / 1e9 for ns in self.columns["time_ns"])

    @property
    def seconds(self) -> float:
        return self.times_s[-1] - self.times_s[0]

    @property
    def min_rtt_ms(self) -> float:
        """The shortest round trip that the connection measured."""
        return self.columns["minimum_rtt_us"][-1] / 1e3

    @property
    def retransmissions(self) -> int:
        return self.columns["retransmissions"][-1]

    def goodput_bps(self, start_s: float = 0.0, end_s: float = float("inf")) -> float:
        """Returns the acknowledged payload per second, between two times after the start."""
        times, acked = self.times_s, self.columns["acked_bytes"]
        between = [i for i, at_s in enumerate(times) if start_s <= at_s - times[0] <= end_s]
        if len(between) < 2:
            raise MeasurementFailed(f"the transfer was not sampled between {start_s:g} and {end_s:g} s")
        first, last = between[0], between[-1]
        return (acked[last] - acked[first]) * 8 / (times[last] - times[first])

    def series(self, begin_s: float | None = None) -> dict[str, Series]:
        """Returns window, threshold, round trip and pacing rate from `begin_s` (CLOCK_MONOTONIC) or the start."""
        begin = self.times_s[0] if begin_s is None else begin_s
        times = tuple(at_s - begin for at_s in self.times_s)
        thresholds = [(at_s, value) for at_s, value in zip(times, self.columns["ssthresh"], strict=True)]
        known = [(at_s, float(value)) for at_s, value in thresholds if value < NO_SSTHRESH]
        rates = [0 if rate == _UNLIMITED_PACING else rate for rate in self.columns["pacing_rate_bytes"]]
        return {
            "cwnd": Series("1", times, tuple(map(float, self.columns["cwnd"]))),
            "ssthresh": Series("1", tuple(at_s for at_s, _ in known), tuple(value for _, value in known)),
            "rtt": Series("ms", times, tuple(us / 1e3 for us in self.columns["rtt_us"])),
            "pacing_rate": Series("bit/s", times, tuple(8.0 * rate for rate in rates)),
        }

    def measurement(self) -> Measurement:
        """Metrics `goodput` (bit/s), `retransmissions` (1) and `rtt_min` (ms); `series`."""
        metrics = {
            "goodput": Metric(self.goodput_bps(), "bit/s"),
            "retransmissions": Metric(self.retransmissions, "1"),
            "rtt_min": Metric(self.min_rtt_ms, "ms"),
        }
        return Measurement(metrics, self.series())


@dataclass(frozen=True)
class RunningFlow:
    """A transfer that goes on, with the congestion control that the connection really has."""

    spec: "TcpFlow"
    address: str
    process: subprocess.Popen[str]
    algorithm: str

    def finish(self, watch: Callable[[], None] = lambda: None) -> FlowTrace:
        """Waits until the transfer ends and returns its samples; `watch` as in `Probe.run`."""
        transfer = f"the transfer to {self.address}"
        try:
            stdout, stderr = await_end(self.process, self.spec.seconds + _GRACE_S, watch, f"{transfer} did not end")
        except BaseException:
            self.stop()
            raise
        if self.process.returncode:
            raise MeasurementFailed(f"{transfer} failed: {stderr.strip()[-500:]}")
        trace = FlowTrace(self.algorithm, json.loads(stdout))
        if trace.seconds < self.spec.seconds * 0.9:
            raise MeasurementFailed(f"{transfer} broke off after {trace.seconds:.1f} s")
        return trace

    def stop(self) -> None:
        end_and_close(self.process)


@dataclass(frozen=True)
class TcpFlow(Probe):
    """One transfer to a `services.stream.StreamSink`.

    Attributes:
        source: source address; None leaves it to the routes.
        congestion_control: congestion control of the connection; None leaves that of the route or of the host.
    """

    source: str | None = None
    congestion_control: str | None = None
    seconds: float = 5.0
    interval_s: float = 0.005
    port: int = 5301

    def run(self, host: Host, address: str, *, watch: Callable[[], None] = lambda: None) -> FlowTrace:
        """Transfers; see `Probe.run`."""
        return self.start(host, address).finish(watch)

    def start(self, host: Host, address: str) -> RunningFlow:
        """Begins to send; returns when the connection is open.

        Raises:
            MeasurementFailed: there is no connection, or it has another congestion control than asked for.
        """
        settings = json.dumps({**asdict(self), "address": address})
        argv = python_module("probes.transfers.programs.tcp_sender", settings)
        process = host.popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        assert process.stdout is not None  # a pipe, as requested
        words = process.stdout.readline().split()
        if words[:1] != ["connected"]:
            raise MeasurementFailed(f"no connection from {host.name} to {address}: {process.communicate()[1]}")
        flow = RunningFlow(self, address, process, words[1])
        if self.congestion_control not in (None, flow.algorithm):
            flow.stop()
            raise MeasurementFailed(f"a connection uses {flow.algorithm} instead of {self.congestion_control}")
        return flow
