"""Transfers over several paths, with what they cost and the proof of which paths they took."""

import os
import resource
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from flightpath.errors import MeasurementFailed
from probes.counters import links as link_counters
from probes.counters import mptcp
from probes.counters.sampling import Sampler
from probes.transfers.ftp import FtpDownload
from probes.transfers.iperf3 import Iperf3
from results.records import Measurement, Metric
from scenarios import fidelity
from services.iperf3 import Iperf3Server
from services.running.daemon import DaemonService
from services.vsftpd import Vsftpd
from topologies.hosts import congestion_control
from topologies.multipath_pair import CLIENT, SERVER
from topologies.testbed.testbed import Testbed
from topologies.testbed.tunnel import Tunnel

_PIECE_BYTES = 1 << 20
_COURSE_S = 0.2
"""Between two looks at what the links carry: a download of the quick form takes a second."""


class Transfers:
    """Transfers between h1 and h2, one after the other.

    Each has, besides its goodput, what it cost, in % of a core: `cpu_sender` and `cpu_receiver` (a host's program and
    its end of the tunnel, with what the kernel did in their calls), `cpu_tunnel` (both of its ends), `cpu_links` (the
    emulator, in whose threads also runs what the hosts' kernels do with a packet that arrives), `cpu_total` (sender,
    receiver and links) and `cpu_per_gbps` (the same, per Gb/s of goodput).

    Args:
        testbed: a MultipathPair, started.
        watch: around the transfers.
        folder: for logs and files.
        tunnel: which the connections go through; None: they do not.
        family: of their addresses.
        kind: `tun`, `mptcp` or `baseline`.
    """

    def __init__(
        self, testbed: Testbed, watch: fidelity.Watch, folder: Path, tunnel: Tunnel | None, *, family: int, kind: str
    ) -> None:
        self._testbed, self._watch, self._folder, self._tunnel, self._kind = testbed, watch, folder, tunnel, kind
        self._client, self._server = testbed.host(CLIENT), testbed.host(SERVER)
        own = next(str(each.ip) for each in self._server.addresses[0] if each.version == family)
        self._address = tunnel.address(self._server, family) if tunnel else own
        self._is_mptcp = kind == "mptcp"
        self._carried_before = self._carried()

    def iperf3(self, seconds: float, warm_up_s: float) -> Measurement:
        """h1 sends to h2 for some seconds, which count, after others, which do not."""
        service = Iperf3Server(
            self._server, self._folder, mptcp=self._is_mptcp, on_listening=congestion_control.set_on_listeners
        )
        probe = Iperf3(seconds=seconds, warm_up_s=warm_up_s, mptcp=self._is_mptcp)
        before = self._carried()
        with service:
            found, used = self._run(probe.run, service)
        goodput = found.metrics["goodput"]
        costs = _costs(used, goodput.value * (seconds + warm_up_s), sender="probe", receiver="service")
        kept = {name: found.metrics[name] for name in ("goodput", "retransmissions", "rtt") if name in found.metrics}
        return Measurement({**kept, **costs, **self._shares(before)}, found.series, found.metadata)

    def ftp(self, size_bytes: int) -> Measurement:
        """h1 gets a file from h2; the names of all metrics begin with `ftp_`, as does the series `ftp_carried`.

        That is the course of the download: what the links carried towards h1, all together, headers included.
        """
        environment = congestion_control.preload_environment(self._server, mptcp=self._is_mptcp)
        service = Vsftpd(self._server, self._folder / "ftp", env=environment)
        _write(service.files / "file", size_bytes)
        with service, Sampler(self._carried_by_way, _COURSE_S) as course:
            found, used = self._run(FtpDownload("file", size_bytes, mptcp=self._is_mptcp).run, service)
        costs = _costs(used, 8.0 * size_bytes, sender="service", receiver="probe")
        carried = course.log.rates("b_to_a", "bit/s", start_s=course.log.times_s[0], scale=8)
        metrics = {f"ftp_{name}": metric for name, metric in {**found.metrics, **costs}.items()}
        return Measurement(metrics, {"ftp_carried": carried})

    def prove(self, *, all_paths: bool) -> None:
        """Raises MeasurementFailed if the connections were not what they are called, or took other paths.

        Args:
            all_paths: whether MPTCP or a tunnel must have used every path.
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
        self, transfer: Callable[..., Measurement], service: DaemonService
    ) -> tuple[Measurement, Mapping[str, float]]:
        """A transfer, and the seconds that each took of time and of processors."""
        noted = False

        def look() -> None:
            nonlocal noted
            self._watch.check()
            if not noted:
                self._watch.note_congestion_control()
                noted = True

        before = self._used(service)
        found = transfer(self._client, self._address, watch=look)
        after = self._used(service)
        self._require_algorithm()
        return found, {name: after[name] - before[name] for name in after}

    def _require_algorithm(self) -> None:
        """The certificate knows of the last transfer only."""
        asked = self._server.congestion_control
        others = {name for counts in self._watch.algorithms.values() for name in counts} - {asked}
        if asked is not None and others:
            raise MeasurementFailed(f"connections used {', '.join(sorted(others))} instead of {asked}")

    def _used(self, service: DaemonService) -> dict[str, float]:
        """Of whatever is exact: the machine's own idle time is counted in ticks, which short bursts slip between."""
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        tunnel = self._tunnel
        return {
            "time": time.monotonic(),
            "links": sum((way.get("cpu_ns") or 0) / 1e9 for way in self._ways()),
            "tunnel_client": tunnel.cpu_seconds(self._client) if tunnel else 0.0,
            "tunnel_server": tunnel.cpu_seconds(self._server) if tunnel else 0.0,
            "service": service.cpu_seconds(),
            "probe": children.ru_utime + children.ru_stime,
        }

    def _ways(self) -> list[Mapping[str, object]]:
        """The counters of each direction of each link."""
        return [way for link in self._testbed.links for way in link.stats()["directions"].values()]

    def _carried_by_way(self) -> dict[str, float]:
        """Bytes so far in each direction of all links together; `b_to_a` is towards h1."""
        ways = [link.stats()["directions"] for link in self._testbed.links]
        return {name: float(sum(way[name]["out_bytes"] for way in ways)) for name in ("a_to_b", "b_to_a")}

    def _carried(self) -> dict[str, int]:
        """Bytes on each path so far, in both directions."""
        found = link_counters.snapshot({f"path{n}": link for n, link in enumerate(self._testbed.links, start=1)})
        return {path: sum(way["out_bytes"] for way in ways.values()) for path, ways in found.items()}

    def _shares(self, before: Mapping[str, int]) -> dict[str, Metric]:
        """Each path's share of the bytes since then."""
        moved = {path: now - before[path] for path, now in self._carried().items()}
        return {f"share_{path}": Metric(100 * count / sum(moved.values()), "%") for path, count in moved.items()}


def _costs(used: Mapping[str, float], bits: float, *, sender: str, receiver: str) -> dict[str, Metric]:
    """From the seconds that were used: `sender` and `receiver` are `probe` (on h1) and `service` (on h2)."""
    tunnel_of = {"probe": used["tunnel_client"], "service": used["tunnel_server"]}
    seconds = {
        "cpu_sender": used[sender] + tunnel_of[sender],
        "cpu_receiver": used[receiver] + tunnel_of[receiver],
        "cpu_links": used["links"],
    }
    total = sum(seconds.values())
    of_time = {**seconds, "cpu_tunnel": sum(tunnel_of.values()), "cpu_total": total}
    return {
        **{name: Metric(100 * spent / used["time"], "%") for name, spent in of_time.items()},
        "cpu_per_gbps": Metric(100 * total / (bits / 1e9), "%"),
    }


def _write(file: Path, size_bytes: int) -> None:
    """A file of that size, of no pattern.

    Raises:
        MeasurementFailed: there is no room for it.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    piece = os.urandom(_PIECE_BYTES)
    try:
        with file.open("wb") as written:
            os.posix_fallocate(written.fileno(), 0, size_bytes)
            for at in range(0, size_bytes, _PIECE_BYTES):
                written.write(piece[: size_bytes - at])
    except OSError as error:
        raise MeasurementFailed(f"no file of {size_bytes} bytes: {error}", "ask for a smaller one: --size") from error
