"""A bulk transfer by iperf3: what everybody compares with, so what every other probe must agree with."""

import json
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flightpath.commands import over_mptcp
from flightpath.errors import MeasurementFailed, UsageError
from flightpath.hosts import Host, await_end, running
from results.records import Measurement, Metric, Series

_GRACE_S = 30.0
_BUSY_S, _BUSY_PAUSE_S = 3.0, 0.1


@dataclass(frozen=True)
class Iperf3:
    """One transfer from a host with the client to a server (`services.iperf3`), or the other way round.

    Attributes:
        seconds: how long is counted, after `warm_up_s`.
        warm_up_s: left out of every figure: slow start is not what a bulk transfer is about. Without meaning for UDP,
            where iperf3 3.12 counts what was lost meanwhile.
        streams: connections side by side.
        reverse: the server sends.
        mptcp: ask for MPTCP, by `mptcpize`.
        port: of the server.
        interval_s: how long one value of the series is.
        window: socket buffer, as iperf3 reads it (`64K`); the kernel's own sizing by default.
        mss_bytes: TCP's maximum segment size; the path's own by default.
        udp_bps: send UDP datagrams at this rate instead, in all streams together.
    """

    seconds: float = 5.0
    warm_up_s: float = 1.0
    streams: int = 1
    reverse: bool = False
    mptcp: bool = False
    port: int = 5201
    interval_s: float = 0.5
    window: str | None = None
    mss_bytes: int | None = None
    udp_bps: int | None = None

    def __post_init__(self) -> None:
        if self.seconds < 1:
            raise UsageError(f"seconds: a transfer of {self.seconds:g} s is too short", "iperf3 counts whole seconds")
        if not 1 <= self.streams <= 128:
            raise UsageError(f"streams: {self.streams} is outside 1 to 128")
        if self.mptcp and self.udp_bps is not None:
            raise UsageError("mptcp: UDP has no subflows")

    def run(self, client: Host, address: str, *, watch: Callable[[], None] = lambda: None) -> Measurement:
        """Transfers, and returns the figures of the end that received.

        Args:
            client: host in which the client runs.
            address: of the server.
            watch: called a few times a second; what it raises ends the transfer.

        Returns:
            Metrics `goodput` (bit/s, payload), `retransmissions` (1; sender), `cpu_sender` and `cpu_receiver` (% of a
            core, iperf3's own processes, kernel time on their behalf included), for UDP `lost` (%) and `jitter` (ms)
            instead of retransmissions, and `rtt` (ms, mean of the smoothed one) if the client sends over TCP and not
            MPTCP; series `goodput` (bit/s, as the client counts it).

        Raises:
            MeasurementFailed: iperf3 failed or did not end; with what it said.
        """
        deadline = time.monotonic() + _BUSY_S
        while True:
            told = self._transfer(client, address, watch)
            if "error" not in told:
                return self._measurement(told)
            # A server that has not finished with its last client turns the next one away, in one way or another.
            if told.get("intervals") or not _may_be_busy(told["error"]) or time.monotonic() > deadline:
                raise MeasurementFailed(f"iperf3 from {client.name} to {address}: {told['error']}")
            time.sleep(_BUSY_PAUSE_S)

    def _transfer(self, client: Host, address: str, watch: Callable[[], None]) -> Mapping[str, Any]:
        what = f"iperf3 from {client.name} to {address}"
        limit_s = self.warm_up_s + self.seconds + _GRACE_S
        with running(client, self._command(address)) as process:
            printed, said = await_end(process, limit_s, watch, f"{what}: no end {_GRACE_S:g} s after its time")
        try:
            return json.loads(printed)
        except ValueError as error:
            raise MeasurementFailed(f"{what}: exit code {process.returncode}: {said.strip()}") from error

    def _command(self, address: str) -> list[str]:
        options: Mapping[str, Any] = {
            "--client": address,
            "--port": self.port,
            "--time": f"{self.seconds:g}",
            "--omit": f"{self.warm_up_s:g}" if self.udp_bps is None else "0",
            "--parallel": self.streams,
            "--interval": f"{self.interval_s:g}",
            "--window": self.window,
            "--set-mss": self.mss_bytes,
            "--bitrate": self.udp_bps and f"{self.udp_bps // self.streams}",
        }
        given = [word for name, value in options.items() if value is not None for word in (name, str(value))]
        flags = [*(["--reverse"] if self.reverse else []), *(["--udp"] if self.udp_bps is not None else [])]
        return [*over_mptcp(self.mptcp), "iperf3", "--json", *given, *flags]

    def _measurement(self, told: Mapping[str, Any]) -> Measurement:
        end, used = told["end"], told["end"]["cpu_utilization_percent"]
        local, remote = used["host_total"], used["remote_total"]
        sender, receiver = (remote, local) if self.reverse else (local, remote)
        metrics = {
            "goodput": Metric(_received(end)["bits_per_second"], "bit/s"),
            "cpu_sender": Metric(sender, "%"),
            "cpu_receiver": Metric(receiver, "%"),
        }
        if self.udp_bps is None:
            metrics["retransmissions"] = Metric(end["sum_sent"].get("retransmits", 0), "1")
            round_trips_us = [each["sender"].get("mean_rtt", 0) for each in end["streams"]]
            if all(round_trips_us):  # iperf3 knows it of what it sends itself over TCP
                metrics["rtt"] = Metric(statistics.fmean(round_trips_us) / 1e3, "ms")
        else:
            metrics |= {
                "lost": Metric(end["sum"]["lost_percent"], "%"),
                "jitter": Metric(end["sum"]["jitter_ms"], "ms"),
            }
        counted = [each["sum"] for each in told["intervals"] if not each["sum"].get("omitted")]
        series = Series(
            "bit/s", tuple(each["start"] for each in counted), tuple(each["bits_per_second"] for each in counted)
        )
        facts = {"iperf3": told["start"].get("version", ""), "mss_bytes": told["start"].get("tcp_mss_default")}
        return Measurement(metrics, {"goodput": series}, facts)


def _may_be_busy(error: str) -> bool:
    return "busy" in error or "control message" in error


def _received(end: Mapping[str, Any]) -> Mapping[str, Any]:
    """For UDP, iperf3 before 3.17 tells what was received only as what was sent less what was lost."""
    if "sum_received" in end:
        return end["sum_received"]
    sent, arrived = end["sum"]["bytes"], 1 - end["sum"]["lost_percent"] / 100
    return {"bits_per_second": 8 * sent * arrived / end["sum"]["seconds"]}
