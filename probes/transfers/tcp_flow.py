"""A bulk transfer over one TCP connection, with its window and round trip over time: what a congestion control does."""

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flightpath.commands import end, end_and_close
from flightpath.errors import MeasurementFailed
from flightpath.launcher import project_python
from flightpath.waiting import wait_until
from probes.transfers.tcp_sender import COLUMNS
from results.records import Series
from topologies.hosts.multihomed import MultihomedHost

PORT = 5301
OPEN, DISORDER, CWR, RECOVERY, LOSS = range(5)
"""States of a connection's congestion control, as TCP_INFO tells them."""
NO_SSTHRESH = 0x7FFFFFFF
_FOLDER = Path(__file__).parent
_START_LIMIT_S = 20


@dataclass(frozen=True)
class TcpFlow:
    """One transfer.

    Attributes:
        address: of the receiver.
        source: to send from; None leaves it to the routes.
        congestion_control: of this connection alone; None leaves the route's or the host's.
        seconds: how long it sends.
        interval_s: between two looks at it.
        port: where the sink listens.
    """

    address: str
    source: str | None = None
    congestion_control: str | None = None
    seconds: float = 5.0
    interval_s: float = 0.005
    port: int = PORT

    def start(self, host: MultihomedHost) -> "RunningFlow":
        """Begins to send from a host, to a `sink`; returns when it is connected.

        Raises:
            MeasurementFailed: it does not connect.
        """
        options = ["--seconds", f"{self.seconds:g}", "--interval-ms", f"{self.interval_s * 1e3:g}"]
        options += ["--source", self.source] if self.source else []
        options += ["--congestion-control", self.congestion_control] if self.congestion_control else []
        argv = [project_python(), str(_FOLDER / "tcp_sender.py"), self.address, str(self.port), *options]
        process = host.popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = process.stdout.readline().split()
        if said[:1] != ["connected"]:
            raise MeasurementFailed(f"no connection from {host.name} to {self.address}: {process.communicate()[1]}")
        return RunningFlow(self, process, said[1])


@dataclass(frozen=True)
class RunningFlow:
    """A transfer that goes on; `used` is the congestion control that the connection really has."""

    flow: TcpFlow
    process: subprocess.Popen[str]
    used: str

    def finish(self) -> "FlowTrace":
        """Waits for its end and returns what was seen.

        Raises:
            MeasurementFailed: the sender failed, or the connection broke.
        """
        try:
            told, said = self.process.communicate(timeout=self.flow.seconds + 30)
        except subprocess.TimeoutExpired as error:
            self.stop()
            raise MeasurementFailed(f"the transfer to {self.flow.address} did not end") from error
        if self.process.returncode:
            raise MeasurementFailed(f"the transfer to {self.flow.address} failed: {said.strip()[-500:]}")
        rows = [tuple(map(int, line.split(","))) for line in told.splitlines()]
        trace = FlowTrace(self.used, dict(zip(COLUMNS, zip(*rows, strict=True), strict=True)))
        if trace.seconds < self.flow.seconds * 0.9:
            raise MeasurementFailed(f"the transfer to {self.flow.address} broke off after {trace.seconds:.1f} s")
        return trace

    def stop(self) -> None:
        """Ends it at once."""
        end_and_close(self.process)


@dataclass(frozen=True)
class FlowTrace:
    """What was seen of a transfer.

    Attributes:
        congestion_control: that it had.
        columns: per name of `probes.transfers.tcp_sender.COLUMNS`, the values in the order of time.
    """

    congestion_control: str
    columns: dict[str, tuple[int, ...]]

    @property
    def times_s(self) -> tuple[float, ...]:
        """On CLOCK_MONOTONIC."""
        return tuple(ns / 1e9 for ns in self.columns["time_ns"])

    @property
    def seconds(self) -> float:
        """From the first look to the last."""
        return self.times_s[-1] - self.times_s[0]

    @property
    def min_rtt_ms(self) -> float:
        """The least that the connection has measured."""
        return self.columns["min_rtt_us"][-1] / 1e3

    @property
    def retransmitted(self) -> int:
        """Segments that were sent again."""
        return self.columns["retransmitted"][-1]

    def goodput_bps(self, start_s: float = 0.0, end_s: float = float("inf")) -> float:
        """Acknowledged payload per second, between two times after the start.

        Raises:
            MeasurementFailed: fewer than two looks lie between.
        """
        first = self.times_s[0]
        seen = [i for i, at_s in enumerate(self.times_s) if start_s <= at_s - first <= end_s]
        if len(seen) < 2:
            raise MeasurementFailed(f"the transfer was not looked at between {start_s:g} and {end_s:g} s")
        acked = self.columns["acked_bytes"]
        return (acked[seen[-1]] - acked[seen[0]]) * 8 / (self.times_s[seen[-1]] - self.times_s[seen[0]])

    def series(self, begin_s: float | None = None) -> dict[str, Series]:
        """Window, threshold, round trip and pacing rate over time.

        Args:
            begin_s: what times count from, on CLOCK_MONOTONIC; the transfer's own start if None.
        """
        begin = self.times_s[0] if begin_s is None else begin_s
        times = [at_s - begin for at_s in self.times_s]
        told = self.columns
        known = [i for i, value in enumerate(told["ssthresh"]) if value < NO_SSTHRESH]
        return {
            "cwnd": _series("1", times, told["cwnd"]),
            "ssthresh": _series("1", [times[i] for i in known], [told["ssthresh"][i] for i in known]),
            "rtt": _series("ms", times, [us / 1e3 for us in told["rtt_us"]]),
            "pacing_rate": _series("bit/s", times, told["pacing_bps"]),
        }


@contextlib.contextmanager
def sink(host: MultihomedHost, port: int = PORT) -> Iterator[None]:
    """A program in a host that takes whatever comes, from any number of transfers."""
    argv = [project_python(), str(_FOLDER / "tcp_sink.py"), str(port)]
    process = host.popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: process.stdout.readline() == "listening\n", "the sink to listen", _START_LIMIT_S)
        yield
    finally:
        end(process)
        process.stdout.close()


def _series(unit: str, times_s: "list[float]", values: "list[float] | tuple[int, ...]") -> Series:
    return Series(unit, tuple(times_s), tuple(map(float, values)))
