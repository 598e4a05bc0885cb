"""Transfers over several paths, with their processor time, and the proof that they used the paths."""

import os
import resource
import time
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from experiments import fidelity
from flightpath.errors import MeasurementFailed
from probes.counters import links as link_counters
from probes.counters import mptcp, tcp
from probes.counters.sampling import CounterLog, Sampler
from probes.transfers.ftp import FtpDownload
from probes.transfers.iperf3 import Iperf3
from results.records import Measurement, Metric
from services.iperf3 import Iperf3Server
from services.running.daemon import DaemonService
from services.vsftpd import Vsftpd
from topologies.hosts import congestion_control
from topologies.multipath_pair import CLIENT, SERVER
from topologies.testbed.testbed import Testbed
from topologies.testbed.tunnel import Tunnel

_PIECE_BYTES = 1 << 20
_SAMPLE_S = 0.2
"""Interval between two samples of the links' bytes: a download of the quick form takes a second."""
_INTERVAL_S = 0.1
"""Interval of iperf3's counts: about a loaded round trip, after which a receiver has read what it held back."""
_MPTCP_HEADER_BYTES = 60
"""Length of TCP's header with timestamps and a data sequence mapping of MPTCP (RFC 8684, 3.3)."""
_SET_UP_BYTES = 10_000
"""More than iperf3's control connection brings before the data."""


class Transfers:
    """Transfers between h1 and h2, one after the other.

    Besides its goodput each has its processor time in % of a core: `cpu_sender` and `cpu_receiver` (a host's program
    and its end of the tunnel, with the kernel's work in their calls), `cpu_tunnel` (both ends), `cpu_links` (the
    emulator, whose threads also do the work of the hosts' kernels for packets that arrive), `cpu_total` (sender,
    receiver and links) and `cpu_per_gbps` (the total per Gb/s of goodput). If the tunnel has a service time, its ends
    have `modelled_cpu_sender` and `modelled_cpu_receiver`: the time that packets took them, of both threads together.

    The testbed is a MultipathPair; kind (`tun`, `mptcp` or `baseline`) and family (IP version) are the connections'.
    """

    def __init__(
        self, testbed: Testbed, watch: fidelity.Watch, folder: Path, tunnel: Tunnel | None, *, family: int, kind: str
    ) -> None:
        self._testbed, self._watch, self._folder, self._tunnel, self._kind = testbed, watch, folder, tunnel, kind
        self._family = family
        self._client, self._server = testbed.host(CLIENT), testbed.host(SERVER)
        address = next(str(interface.ip) for interface in self._server.addresses[0] if interface.version == family)
        self._address = tunnel.address(self._server, family) if tunnel else address
        self._is_mptcp = kind == "mptcp"
        self._carried_before = self._carried()

    def iperf3(self, seconds: float, warm_up_s: float) -> Measurement:
        """Sends from h1 to h2 by iperf3, for some seconds after a warm-up.

        The goodput by MPTCP, and its series, are what arrived, not what was read: a receiver holds back what is ahead
        of the slowest path, which may be all of its buffer, for seconds. What arrived twice counts twice.
        """
        service = Iperf3Server(
            self._server,
            self._folder,
            mptcp=self._is_mptcp,
            on_listening=congestion_control.set_on_listeners,
            interval_s=_INTERVAL_S,
        )
        probe = Iperf3(seconds=seconds, warm_up_s=warm_up_s, mptcp=self._is_mptcp, interval_s=_INTERVAL_S)
        before = self._carried()
        arrivals = Sampler(self._arrived, _INTERVAL_S)
        with service, arrivals if self._is_mptcp else nullcontext():
            measured, used = self._run(probe, service)
        if self._is_mptcp:
            measured = _of_arrivals(measured, arrivals.log, warm_up_s, seconds)
        bits = measured.metrics["goodput"].value * (seconds + warm_up_s)
        costs = _costs(used, bits, sender="probe", receiver="service")
        # iperf3 knows nothing of the tunnel's processor time, so its own cpu_sender and cpu_receiver are replaced.
        return Measurement({**measured.metrics, **costs, **self._shares(before)}, measured.series, measured.metadata)

    def udp(self, seconds: float, rate_bps: int) -> Measurement:
        """Sends UDP from h1 to h2 at this rate; the names of all metrics begin with `udp_`."""
        with Iperf3Server(self._server, self._folder) as service:
            measured, used = self._run(Iperf3(seconds=seconds, udp_bps=rate_bps), service, is_tcp=False)
        costs = _costs(used, measured.metrics["goodput"].value * seconds, sender="probe", receiver="service")
        return Measurement({f"udp_{name}": metric for name, metric in {**measured.metrics, **costs}.items()})

    def ftp(self, size_bytes: int) -> Measurement:
        """Downloads a file from h2 to h1 by FTP; the names of all metrics begin with `ftp_`.

        The series `ftp_carried` is what all links together carried towards h1, headers included.
        """
        environment = congestion_control.preload_environment(self._server, mptcp=self._is_mptcp)
        service = Vsftpd(self._server, self._folder / "ftp", env=environment)
        _write(service.files / "file", size_bytes)
        with service, Sampler(self._carried_by_direction, _SAMPLE_S) as sampler:
            measured, used = self._run(FtpDownload("file", size_bytes, mptcp=self._is_mptcp), service)
        costs = _costs(used, 8.0 * size_bytes, sender="service", receiver="probe")
        carried = sampler.log.rates("b_to_a", "bit/s", start_s=sampler.log.times_s[0], scale=8)
        metrics = {f"ftp_{name}": metric for name, metric in {**measured.metrics, **costs}.items()}
        return Measurement(metrics, {"ftp_carried": carried})

    def prove(self, *, all_paths: bool) -> None:
        """Checks which protocol the connections used, and which paths: with `all_paths` MPTCP or a tunnel every one.

        Raises:
            MeasurementFailed: they used others.
        """
        counters, paths = mptcp.read_counters(self._client), len(self._testbed.links)
        if self._is_mptcp:
            mptcp.require_mptcp(CLIENT, {}, counters, joined=paths > 1)
        else:
            mptcp.require_no_mptcp(CLIENT, {}, counters)
        now = self._carried()
        moved = {CLIENT: {path: float(now[path] - self._carried_before[path]) for path in now}}
        if self._kind == "baseline":
            link_counters.require_one_path(moved)
        elif all_paths:
            link_counters.require_all_paths(moved)

    def _run(
        self, probe: Iperf3 | FtpDownload, service: DaemonService, *, is_tcp: bool = True
    ) -> tuple[Measurement, Mapping[str, float]]:
        """Runs a probe; returns its measurement, and the seconds of real time and of processor time that it took."""
        recorded = not is_tcp

        def watch() -> None:
            nonlocal recorded
            self._watch.check()
            if not recorded:
                self._watch.record_congestion_control()
                recorded = True

        before = self._used(service)
        measured = probe.run(self._client, self._address, watch=watch)
        after = self._used(service)
        expected = self._server.congestion_control  # checked here, because the certificate records the last transfer
        others = {name for counts in self._watch.algorithms.values() for name in counts} - {expected}
        if expected is not None and others:
            raise MeasurementFailed(f"connections used {', '.join(sorted(others))} instead of {expected}")
        return measured, {name: after[name] - before[name] for name in after}

    def _used(self, service: DaemonService) -> dict[str, float]:
        """Returns the seconds so far, from exact clocks: the machine's idle time is in ticks, which miss bursts."""
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        tunnel, links = self._tunnel, self._link_counters()
        modelled = {}
        if tunnel is not None and tunnel.spec.service_time_s:
            ends = {"modelled_probe": self._client, "modelled_service": self._server}
            modelled = {name: tunnel.service_seconds(host) for name, host in ends.items()}
        return {
            "time": time.monotonic(),
            "links": sum((way.get("cpu_ns") or 0) / 1e9 for link in links for way in link.values()),
            "tunnel_client": tunnel.cpu_seconds(self._client) if tunnel else 0.0,
            "tunnel_server": tunnel.cpu_seconds(self._server) if tunnel else 0.0,
            "service": service.cpu_seconds(),
            "probe": children.ru_utime + children.ru_stime,
            **modelled,
        }

    def _link_counters(self) -> list[Mapping[str, Any]]:
        """Returns, for each link, the counters of each direction."""
        return [link.stats()["directions"] for link in self._testbed.links]

    def _arrived(self) -> dict[str, float]:
        """Returns the bytes of MPTCP's payload that have arrived at h2 so far."""
        return {"arrived": tcp.arrived_payload(self._server.pid, self._family, _MPTCP_HEADER_BYTES)}

    def _carried_by_direction(self) -> dict[str, float]:
        """Returns the bytes so far in each direction on all links together; `b_to_a` is towards h1."""
        links = self._link_counters()
        return {way: float(sum(link[way]["out_bytes"] for link in links)) for way in ("a_to_b", "b_to_a")}

    def _carried(self) -> dict[str, int]:
        """Returns the bytes so far on each path, in both directions."""
        paths = link_counters.snapshot({f"path{n}": link for n, link in enumerate(self._testbed.links, start=1)})
        return {path: sum(way["out_bytes"] for way in ways.values()) for path, ways in paths.items()}

    def _shares(self, before: Mapping[str, int]) -> dict[str, Metric]:
        """Returns each path's share of the bytes since `before`."""
        moved = {path: now - before[path] for path, now in self._carried().items()}
        return {f"share_{path}": Metric(100 * count / sum(moved.values()), "%") for path, count in moved.items()}


def _costs(used: Mapping[str, float], bits: float, *, sender: str, receiver: str) -> dict[str, Metric]:
    """Returns metrics from the seconds used; `sender` and `receiver` are `probe` (on h1) and `service` (on h2)."""
    tunnel_of = {"probe": used["tunnel_client"], "service": used["tunnel_server"]}
    seconds = {
        "cpu_sender": used[sender] + tunnel_of[sender],
        "cpu_receiver": used[receiver] + tunnel_of[receiver],
        "cpu_links": used["links"],
    }
    total = sum(seconds.values())
    of_time = {**seconds, "cpu_tunnel": sum(tunnel_of.values()), "cpu_total": total}
    modelled = {
        f"modelled_cpu_{end}": used[f"modelled_{program}"]
        for end, program in (("sender", sender), ("receiver", receiver))
        if f"modelled_{program}" in used
    }
    return {
        **{name: Metric(100 * spent / used["time"], "%") for name, spent in {**of_time, **modelled}.items()},
        "cpu_per_gbps": Metric(100 * total / (bits / 1e9), "%"),
    }


def _of_arrivals(measured: Measurement, log: CounterLog, warm_up_s: float, seconds: float) -> Measurement:
    """Returns iperf3's measurement with the goodput, and its series, from the bytes that had arrived."""
    arrived = [row["arrived"] for row in log.rows]
    begun = next((i for i, count in enumerate(arrived) if count - arrived[0] > _SET_UP_BYTES), 1)
    start_s = log.times_s[begun - 1] + warm_up_s
    first, *_, last = (i for i, at_s in enumerate(log.times_s) if start_s <= at_s <= start_s + seconds)
    rate_bps = 8 * (arrived[last] - arrived[first]) / (log.times_s[last] - log.times_s[first])
    rates = log.rates("arrived", "bit/s", start_s=start_s, end_s=start_s + seconds, scale=8)
    metrics = {**measured.metrics, "goodput": Metric(rate_bps, "bit/s")}
    return Measurement(metrics, {"goodput": rates}, measured.metadata)


def _write(file: Path, size_bytes: int) -> None:
    """Writes a file of random bytes.

    Raises:
        MeasurementFailed: the file system is full.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    piece = os.urandom(_PIECE_BYTES)
    try:
        with file.open("wb") as written:
            os.posix_fallocate(written.fileno(), 0, size_bytes)
            for at in range(0, size_bytes, _PIECE_BYTES):
                written.write(piece[: size_bytes - at])
    except OSError as error:
        raise MeasurementFailed(
            f"cannot write a file of {size_bytes} bytes: {error}", "choose a smaller --size"
        ) from error
