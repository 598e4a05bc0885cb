"""A bulk transfer by iperf3, over TCP, MPTCP or UDP."""

import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import native
from flightpath.clock import Clock, clock_here
from flightpath.commands import over_mptcp
from flightpath.errors import MeasurementFailed, UsageError
from flightpath.hosts import Host, await_end, run_in, running
from probes.probe import Probe
from results.records import Measurement, Metric, Series

_GRACE_S, _ROUND_TRIPS = 30.0, 10
"""Time beyond its own after which a transfer is given up, and the round trips that iperf3 takes to begin and to end."""

_CONNECTING, _TIMED_OUT = "unable to connect", "timed out"
_BUSY_S, _BUSY_PAUSE_S = 3.0, 0.1
_MOVABLE_SHARE = 0.25
"""Share of the measured time by which each of its ends may move inwards: see `between_crests`."""


@dataclass(frozen=True)
class Iperf3(Probe):
    """One transfer to a server (`services.iperf3`), or from it.

    Attributes:
        seconds: measured time after `warm_up_s`; with `size_bytes`, the longest time that the transfer should take.
        warm_up_s: time that is left out of all metrics, so that slow start does not count. Ignored for UDP, because
            iperf3 3.12 counts the losses of that time.
        reverse: the server sends.
        interval_s: interval of the series; that of the server (`Iperf3Server`) should be the same.
        window: socket buffer, as iperf3 reads it (`64K`); sized by the kernel by default.
        mss_bytes: TCP's maximum segment size; that of the path by default.
        udp_bps: send UDP datagrams at this rate instead, in all streams together.
        size_bytes: transfer so much instead of for a time; nothing is then left out as a warm-up.
        round_trip_s: that of the path, without queues; the time limit is longer by some of them.
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
    size_bytes: int | None = None
    round_trip_s: float = 0.0

    def __post_init__(self) -> None:
        if self.seconds < 1:
            raise UsageError(f"seconds: a transfer of {self.seconds:g} s is too short", "iperf3 counts whole seconds")
        if not 1 <= self.streams <= 128:
            raise UsageError(f"streams: {self.streams} is outside 1 to 128")
        if self.mptcp and self.udp_bps is not None:
            raise UsageError("mptcp: UDP has no subflows")

    def run(self, host: Host, address: str, *, watch: Callable[[], None] = lambda: None) -> Measurement:
        """Transfers; see `Probe.run`.

        Returns:
            Metrics `goodput` (bit/s, payload, as the receiver counts it; over a time, see `between_crests`),
            `cpu_sender` and `cpu_receiver` (% of a core, iperf3's processes with the kernel's work for them); for TCP
            `retransmissions` (1), and `rtt` (ms, mean of the smoothed round trip) if the client sends and MPTCP is not
            used; for UDP `lost` (%) and `jitter` (ms).
            Series `goodput` (bit/s, as the receiver counts it: a sender counts what fits into its socket's buffer).
        """
        deadline = time.monotonic() + _BUSY_S
        while True:
            began = time.monotonic()
            report = self._transfer(host, address, watch)
            if "error" not in report:
                return self._measurement(report)
            # A server that has not finished with its last client refuses the next, in one way or another.
            may_be_busy = "busy" in report["error"] or "control message" in report["error"]
            if report.get("intervals") or not may_be_busy or time.monotonic() > deadline:
                reason = _given_up(host, report["error"], time.monotonic() - began) or report["error"]
                raise MeasurementFailed(f"iperf3 from {host.name} to {address}: {reason}")
            time.sleep(_BUSY_PAUSE_S)

    def _transfer(self, host: Host, address: str, watch: Callable[[], None]) -> Mapping[str, Any]:
        name = f"iperf3 from {host.name} to {address}"
        grace_s = _GRACE_S + _ROUND_TRIPS * self.round_trip_s
        limit_s = self.warm_up_s + self.seconds + grace_s
        with running(host, self._command(address)) as process:
            too_late = f"{name}: still running {grace_s:g} s after its time"
            stdout, stderr = await_end(process, limit_s, watch, too_late, self.round_trip_s)
        try:
            return json.loads(stdout)
        except ValueError as error:
            raise MeasurementFailed(f"{name}: exit code {process.returncode}: {stderr.strip()}") from error

    def _command(self, address: str) -> list[str]:
        options: Mapping[str, Any] = {
            "--client": address,
            "--port": self.port,
            "--time": f"{self.seconds:g}" if self.size_bytes is None else None,
            "--bytes": self.size_bytes,
            "--omit": f"{self.warm_up_s:g}" if self.udp_bps is None and self.size_bytes is None else "0",
            "--parallel": self.streams,
            "--interval": f"{self.interval_s:g}",
            "--window": self.window,
            "--set-mss": self.mss_bytes,
            "--bitrate": self.udp_bps and f"{self.udp_bps // self.streams}",
        }
        words = [word for name, value in options.items() if value is not None for word in (name, str(value))]
        flags = [*(["--reverse"] if self.reverse else []), *(["--udp"] if self.udp_bps is not None else [])]
        return [*over_mptcp(self.mptcp), *_patiently(), "iperf3", "--json", "--get-server-output", *words, *flags]

    def _measurement(self, report: Mapping[str, Any]) -> Measurement:
        end = report["end"]
        local, remote = (end["cpu_utilization_percent"][f"{side}_total"] for side in ("host", "remote"))
        sender, receiver = (remote, local) if self.reverse else (local, remote)
        counts = self._counts((report if self.reverse else report["server_output_json"])["intervals"])
        is_timed = self.udp_bps is None and self.size_bytes is None
        rate_bps = between_crests(counts) if is_timed and counts else _received(end)["bits_per_second"]
        metrics = {
            "goodput": Metric(rate_bps, "bit/s"),
            "cpu_sender": Metric(sender, "%"),
            "cpu_receiver": Metric(receiver, "%"),
        }
        if self.udp_bps is None:
            metrics["retransmissions"] = Metric(end["sum_sent"].get("retransmits", 0), "1")
            round_trips_us = [stream["sender"].get("mean_rtt", 0) for stream in end["streams"]]
            if all(round_trips_us):  # iperf3 knows it of what it sends itself over TCP
                metrics["rtt"] = Metric(statistics.fmean(round_trips_us) / 1e3, "ms")
        else:
            metrics["lost"] = Metric(end["sum"]["lost_percent"], "%")
            metrics["jitter"] = Metric(end["sum"]["jitter_ms"], "ms")
        facts = {"iperf3": report["start"].get("version", ""), "mss_bytes": report["start"].get("tcp_mss_default")}
        begins, rates = [begin for begin, _, _ in counts], [bits / (end - begin) for begin, end, bits in counts]
        return Measurement(metrics, {"goodput": Series("bit/s", tuple(begins), tuple(rates))}, facts)

    def _counts(self, intervals: Sequence[Mapping[str, Any]]) -> list[tuple[float, float, float]]:
        """Returns begin, end and bits of a receiver's intervals, without the warm-up and without the rest at the end.

        If the warm-up ends at the moment at which an interval should, iperf3 gives the next one the start of that
        interval, on a clock that has begun again, and its time. So each begins here where the one before it ended.
        """
        sums = [interval["sum"] for interval in intervals if not interval["sum"].get("omitted")]
        spans = list(pairwise([0.0, *(each["end"] for each in sums)]))
        return [
            (begin, end, 8.0 * each["bytes"])
            for each, (begin, end) in zip(sums, spans, strict=True)
            if end - begin >= self.interval_s / 2
        ]


def between_crests(counts: Sequence[tuple[float, float, float]]) -> float:
    """Returns the mean rate between the moments, near both ends, at which a receiver held least back.

    A receiver's program gets nothing that arrived behind a lost packet before that has come again: several MB on a
    path with a long queue. Such bytes crossed earlier than they are read. So a time that begins while some are held
    back counts more than crossed in it, and one that ends so less. At each end that boundary of two intervals counts,
    up to a quarter of the time inwards, at which the bits so far are most ahead of the mean rate.

    Args:
        counts: begin, end and bits of each interval.
    """
    times = [counts[0][0], *(end for _, end, _ in counts)]
    bits = [0.0, *accumulate(count for _, _, count in counts)]
    length_s = times[-1] - times[0]
    ahead = [count - bits[-1] * (at - times[0]) / length_s for at, count in zip(times, bits, strict=True)]
    movable_s = _MOVABLE_SHARE * length_s
    begin = max((i for i, at in enumerate(times) if at - times[0] <= movable_s), key=ahead.__getitem__)
    last = max((i for i, at in enumerate(times) if times[-1] - at <= movable_s), key=lambda i: (ahead[i], i))
    return (bits[last] - bits[begin]) / (times[last] - times[begin])


def _patiently() -> list[str]:
    """Returns the words before a command that must not wait in a busy loop, because the clock is virtual."""
    return [] if clock_here() is Clock.REAL else native.preloading_command("select_backoff.so")


def _received(end: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the receiver's totals; for UDP, iperf3 before 3.17 reports only sent bytes and loss."""
    if "sum_received" in end:
        return end["sum_received"]
    sent, arrived = end["sum"]["bytes"], 1 - end["sum"]["lost_percent"] / 100
    return {"bits_per_second": 8 * sent * arrived / end["sum"]["seconds"]}


def _given_up(host: Host, error: str, after_s: float) -> str | None:
    """Says which of a client's timers has ended its connection.

    Args:
        host: the client's.
        error: what the client says.
        after_s: time after which it has said so.

    Returns:
        None if the error has another cause.
    """
    if _TIMED_OUT not in error.lower():
        return None
    is_connecting = _CONNECTING in error.lower()
    setting = "tcp_syn_retries" if is_connecting else "tcp_retries2"
    value = run_in(host, ["cat", f"/proc/sys/net/ipv4/{setting}"]).strip()
    # Neither value is the number of retransmissions: since Linux 6.5 there are `tcp_syn_linear_timeouts` more SYNs, and
    # the other one stands for the time that so many would take with the shortest timeout.
    what = f"within {after_s:.0f} s: TCP gave up connecting" if is_connecting else "any more: TCP gave up"
    return f"no answer {what} (net.ipv4.{setting} is {value})"
