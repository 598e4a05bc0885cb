"""A bulk transfer, or requests, over QUIC or multipath QUIC."""

import resource
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from flightpath.clock import Clock, clock_here
from flightpath.errors import MeasurementFailed, UsageError
from flightpath.hosts import Host, await_end, run_in, running
from flightpath.tcp_info import counters
from probes.probe import Probe
from probes.transfers.requests import response_times
from results.records import Measurement, Metric
from services.quic.implementation import Report, Request
from services.quic.server import QuicServer
from services.reply import RequestPattern

_RECEIVER_DROPS, _SENDER_DROPS = "RcvbufErrors", "SndbufErrors"
_BUSY_PERCENT = 90.0
"""Share of a core from which a program is the limit: less than a tenth of the time is left to wait for the network."""


@dataclass(frozen=True)
class QuicTransfer(Probe):
    """A transfer from a server, or to it, with the server's implementation and congestion control.

    Attributes:
        upload: the client sends.
        further_paths: for multipath, the server's address on each path besides that of `run`, in the order of opening.
        pattern: requests for `size_bytes` in all, each on a stream of its own, in place of one transfer.
        is_cut: a path loses its carrier meanwhile: Linux drops a datagram, and counts it as a full send buffer's.
    """

    server: QuicServer
    size_bytes: int
    upload: bool = False
    further_paths: tuple[str, ...] = ()
    limit_s: float = 600.0
    pattern: RequestPattern | None = None
    is_cut: bool = False

    def __post_init__(self) -> None:
        if self.size_bytes < 1:
            raise UsageError(f"size_bytes: {self.size_bytes} is less than 1")
        if len(self.further_paths) >= self.server.settings.paths:
            raise UsageError(f"further_paths: the server allows {self.server.settings.paths} paths in all")
        if self.pattern is not None and (self.upload or self.pattern.total_bytes != self.size_bytes):
            raise UsageError("pattern: requests download `size_bytes` in all")

    def run(self, host: Host, address: str, *, watch: Callable[[], None] = lambda: None) -> Measurement:
        """Transfers; see `Probe.run`.

        Returns:
            Metrics `goodput` (bit/s, payload, from the first packet of the handshake to the last byte), `lost` (% of
            the sender's packets that it took for lost), `rtt` (ms, the shortest of the sender's paths, smoothed, at the
            end), `cpu_sender` and `cpu_receiver` (% of a core), `download` (s) of a download, and those of
            `response_times` of requests.
            Facts: implementation and version, congestion control as its sender reported it, draft of multipath QUIC,
            increases of the kernel's UDP counters of both hosts (`udp`), datagrams that full sockets dropped, packets
            per datagram that the sender gave to the kernel (more than 1 with GSO), `limit` if not the path was the
            limit, and what else is reported.

        Raises:
            MeasurementFailed: besides, the sender's congestion control is another, bytes are missing, or a path was not
                opened.
        """
        before = self._udp_counters(host, address)
        report, used_s = self._transfer(host, address, watch)
        udp = {
            end: {name: count - before[end][name] for name, count in after.items() if count != before[end][name]}
            for end, after in self._udp_counters(host, address).items()
        }
        shares = {end: 100 * seconds / report.seconds for end, seconds in used_s.items()}
        sender, receiver = ("client", "server") if self.upload else ("server", "client")
        metrics = {
            "goodput": Metric(8 * report.bytes / report.seconds, "bit/s"),
            "lost": Metric(100 * report.lost_packets / report.sent_packets, "%"),
            "cpu_sender": Metric(shares[sender], "%"),
            "cpu_receiver": Metric(shares[receiver], "%"),
            "rtt": Metric(min(report.rtt_ms), "ms"),
            **({} if self.upload or self.pattern else {"download": Metric(report.seconds, "s")}),
        }
        implementation = self.server.implementation
        dropped = socket_drops(udp.values(), is_cut=self.is_cut)
        facts = {
            "quic": f"{implementation.name} {implementation.version}",
            "congestion_control": report.algorithms,
            **({"multipath": implementation.multipath_draft} if self.further_paths else {}),
            "sent_packets": report.sent_packets,
            "lost_packets": report.lost_packets,
            "socket_drops": dropped,
            "udp": udp,
            "packets_per_send": report.sent_packets / max(1, udp[sender].get("OutDatagrams", 0)),
            "limit": _limit(shares, dropped),
            **report.facts,
        }
        measured = Measurement(metrics, metadata=facts)
        return measured.merged(response_times(report.times_ms, self.pattern)) if self.pattern else measured

    def _transfer(self, host: Host, address: str, watch: Callable[[], None]) -> tuple[Report, dict[str, float]]:
        """Returns the implementation's report, and the processor time of each end in s."""
        implementation, settings = self.server.implementation, self.server.settings
        request = Request((address, *self.further_paths), self.size_bytes, self.upload, settings, self.pattern)
        name = f"{implementation.name} from {host.name} to {address}"
        before = self._processor_s()
        with running(host, implementation.client_command(request)) as process:
            stdout, stderr = await_end(process, self.limit_s, watch, f"{name}: no end after {self.limit_s:g} s")
        used_s = {end: after - before[end] for end, after in self._processor_s().items()}
        if process.returncode != 0:
            raise MeasurementFailed(f"{name}: exit code {process.returncode}: {(stderr or stdout).strip()[-500:]}")
        try:
            report = implementation.report(request, stdout)
        except (ValueError, KeyError) as error:
            raise MeasurementFailed(f"{name}: {error}: {(stdout + stderr).strip()[-500:]}") from error
        if report.bytes != self.size_bytes:
            raise MeasurementFailed(f"{name}: {report.bytes} bytes came of {self.size_bytes}")
        if len(report.rtt_ms) <= len(self.further_paths):
            raise MeasurementFailed(f"{name}: {len(report.rtt_ms)} of {1 + len(self.further_paths)} paths were opened")
        implementation.require_algorithm(report, settings.congestion_control)
        return report, used_s

    def _processor_s(self) -> dict[str, float]:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {"server": self.server.cpu_seconds(), "client": children.ru_utime + children.ru_stime}

    def _udp_counters(self, client: Host, address: str) -> dict[str, dict[str, int]]:
        ends = {"client": client, "server": self.server.host}
        return {end: _udp_counters_of(host, is_ipv6=":" in address) for end, host in ends.items()}


def _udp_counters_of(host: Host, *, is_ipv6: bool) -> dict[str, int]:
    """Returns the kernel's counters of UDP in a host since its start."""
    if not is_ipv6:
        return counters(run_in(host, ["cat", "/proc/net/snmp"]), "Udp")
    lines = [line.split() for line in run_in(host, ["cat", "/proc/net/snmp6"]).splitlines()]
    return {name.removeprefix("Udp6"): int(value) for name, value in lines if name.startswith("Udp6")}


def socket_drops(of_hosts: Iterable[Mapping[str, int]], *, is_cut: bool = False) -> int:
    """Returns how many datagrams full sockets dropped, by the kernel's counters of UDP in each host."""
    causes = (_RECEIVER_DROPS,) if is_cut else (_RECEIVER_DROPS, _SENDER_DROPS)
    return sum(counts.get(cause, 0) for counts in of_hosts for cause in causes)


def _limit(shares: Mapping[str, float], dropped: int) -> str:
    """Returns what limited a transfer, if not the path; in virtual time computing takes no time."""
    busiest = max(shares, key=lambda end: shares[end])
    if clock_here() is not Clock.VIRTUAL and shares[busiest] >= _BUSY_PERCENT:
        return f"client-limited: the {busiest} used {shares[busiest]:.0f} % of a core"
    return f"client-limited: sockets dropped {dropped} datagrams" if dropped else ""
