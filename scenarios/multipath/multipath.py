"""One connection over several paths: the base class of the experiments with MPTCP and the tunnel."""

import re
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Self

from mininet.topo import Topo

from experiments.parameters import PlanRequest, Setting, at_least
from experiments.plan import Plan
from experiments.scenario import RunningCell, Scenario
from flightpath.clock import Clock
from flightpath.errors import UsageError
from flightpath.overrides import override
from results.records import Cell, Measurement, Metric, Series
from scenarios.multipath.transfers import Transfers
from topologies.links.spec import ETHERNET_HEADER_BYTES, LinkSpec
from topologies.links.texts import short_link
from topologies.multipath_pair import CLIENT, SERVER, MultipathPair
from topologies.testbed.tunnel import Tunnel, TunnelSpec

MB = 1_000_000
BASELINE = "baseline4"
TUNNELS = ("tun4_path4", "tun4_path6", "tun6_path4", "tun6_path6")
MPTCPS = ("mptcp4", "mptcp6")

PROCESSOR_TIMES: Mapping[str, str] = {
    "sender": "cpu_sender",
    "receiver": "cpu_receiver",
    "both and links": "cpu_total",
}
"""Metrics that may correspond to the papers' processor time: there a host received by itself, here a link does it."""

_NAME = re.compile(
    r"tun(?P<inside>[46])_path(?P<outside>[46])(?P<plain>_plain)?|(?P<kind>mptcp|baseline)(?P<family>[46])"
)
_IP_BYTES = {4: 20, 6: 40}
_TCP_BYTES = 32
_TUNNEL_BYTES = 8 + 8
"""Length of UDP's header, and of GRE's with a sequence number."""
_UDP_HEADER_BYTES = 8
_UDP_LOAD = 0.9
"""Fraction of the paths' capacity at which UDP is sent: it does not slow down by itself."""

_MPTCP_SIZE = "mptcp_size_mb"
_SERVICE_TIME = "service_time_us"
_MAX_SERVICE_TIME_US = 10_000
"""Limit of `native/tunnel`."""


def transfer_settings(seconds: tuple[int, int], size_mb: tuple[int, int] | None = None) -> list[Setting]:
    """Returns the options `--seconds` and, where files are downloaded, `--size`, for the quick and the full form."""
    settings = [Setting("--seconds", "duration of iperf3 after its warm-up", *seconds, read=at_least("--seconds", 1))]
    if size_mb is not None:
        what = "size of the downloaded file in MB; 0: no download"
        settings.append(Setting("--size", what, *size_mb, "size_mb", metavar="MB", read=at_least("--size", 0)))
    return settings


def mptcp_size_setting() -> Setting:
    """Returns the option `--mptcp-size`, for short downloads elsewhere: MPTCP's subflows start one after the other."""
    what = "size of the file that MPTCP downloads in MB; 0: as --size"
    return Setting("--mptcp-size", what, 0, name=_MPTCP_SIZE, metavar="MB", read=at_least("--mptcp-size", 0))


def udp_setting(seconds: tuple[int, int]) -> Setting:
    """Returns the option `--udp`, for the quick and the full form."""
    what = "duration of UDP through a tunnel in s; 0: none"
    return Setting("--udp", what, *seconds, "udp_s", metavar="SECONDS", read=at_least("--udp", 0))


def service_time_setting() -> Setting:
    """Returns the option `--service-time`, the model of the processors that run a tunnel."""

    def checked(value: float) -> float:
        if not 0 <= value <= _MAX_SERVICE_TIME_US:
            raise UsageError(f"--service-time: {value:g} is not a time from 0 to {_MAX_SERVICE_TIME_US} us")
        return value

    what = "model of the tunnel's processors, in virtual time: each packet keeps a thread busy for so many us; 0: none"
    return Setting("--service-time", what, 0.0, name=_SERVICE_TIME, metavar="US", read=checked)


@dataclass(frozen=True)
class Configuration:
    """The protocols of a connection, under the papers' names.

    `tun4_path6` is TCP over IPv4 (`family`) in a tunnel (MPT-GRE) over IPv6 paths; `mptcp4` is MPTCP over IPv4;
    `baseline4` is TCP over IPv4 on the first path. The kind is `tun`, `mptcp` or `baseline`. In `tun4_path6_plain` the
    tunnel works as the papers' did (`is_plain`): a packet per system call, and no reordering buffer.
    """

    kind: str
    family: int
    paths_family: int
    is_plain: bool = False

    @classmethod
    def named(cls, name: str) -> Self:
        """Returns the configuration with a name.

        Raises:
            UsageError: there is none.
        """
        match = _NAME.fullmatch(name)
        if match is None:
            known = ", ".join((*TUNNELS, *MPTCPS, BASELINE, f"{TUNNELS[0]}_plain"))
            raise UsageError(f"configuration: {name!r} is unknown", f"choose one of {known}")
        if match["kind"]:
            return cls(match["kind"], int(match["family"]), int(match["family"]))
        return cls("tun", int(match["inside"]), int(match["outside"]), is_plain=match["plain"] is not None)

    def payload_share(self, header_bytes: int = _TCP_BYTES) -> float:
        """Returns the share of the payload in the bytes of a full packet on a path, by default that of TCP."""
        outside = _IP_BYTES[self.paths_family] + _TUNNEL_BYTES if self.kind == "tun" else 0
        return (1500 - outside - _IP_BYTES[self.family] - header_bytes) / (1500 + ETHERNET_HEADER_BYTES)


class MultipathScenario(Scenario):
    """h1 and h2 with a link per path, and one connection over them: iperf3 from h1, then a download by FTP to it.

    Plans have the settings `seconds` (of iperf3), `size_mb` (of the file; 0 for no download) and `udp_s` (of UDP, where
    a cell has a tunnel; 0 for none), and may have `mptcp_size_mb` (of the file, over MPTCP) and `service_time_us` (of a
    packet in the tunnel).
    """

    headlines: tuple[str, ...] = (
        "goodput",
        "ftp_goodput",
        "cpu_per_gbps",
        "ftp_cpu_per_gbps",
        "cpu_tunnel",
        "idle_cpu",
    )
    programs: tuple[str, ...] = ("iperf3", "vsftpd", "wget", "mptcpize", "ss")
    repeats = (1, 10)
    starting_s = 3.0
    uses_all_paths = True
    """Whether a cell has failed if a tunnel or MPTCP left a path unused."""

    def links(self, cell: Cell, plan: Plan) -> list[LinkSpec]:
        """Returns the link of each path, by default the plan's `link` for as many paths as the cell has."""
        return [short_link(plan.settings["link"])] * int(cell.parameters["paths"])

    def configuration(self, cell: Cell) -> Configuration:
        """Returns the protocols of a cell; by default the parameter `configuration` names them."""
        return Configuration.named(str(cell.parameters["configuration"]))

    def tunnel(self, cell: Cell) -> TunnelSpec:
        """Returns the specification of the tunnel, for cells that have one."""
        configuration = self.configuration(cell)
        spec = TunnelSpec(family=configuration.paths_family)
        return replace(spec, offloads=False, run=1, reordering="off") if configuration.is_plain else spec

    def warm_up_s(self, cell: Cell) -> float:
        """Returns the warm-up of iperf3, which its result leaves out."""
        return 1.0

    def payload_limit_bps(self, cell: Cell, plan: Plan, header_bytes: int = _TCP_BYTES) -> float:
        """Returns the maximum payload rate of all paths of a cell together, by default TCP's."""
        share = self.configuration(cell).payload_share(header_bytes)
        return sum(link.bandwidth_bps or 0 for link in self.links(cell, plan)) * share

    @override
    def goodput_limits_bps(self, cell: Cell, plan: Plan) -> dict[str, float]:
        rates = [link.bandwidth_bps or 0 for link in self.links(cell, plan)]
        if not sum(rates):
            return {}
        used = rates[0] / sum(rates) if self.configuration(cell).kind == "baseline" else 1.0
        tcp_bps, udp_bps = (self.payload_limit_bps(cell, plan, size) for size in (_TCP_BYTES, _UDP_HEADER_BYTES))
        goodputs = {"goodput": used * tcp_bps, "ftp_goodput": used * tcp_bps, "udp_goodput": udp_bps}
        return {**goodputs, "ftp_carried": used * sum(rates)}  # of a download only the links know the course

    def share_of_sum(self, measured: Measurement, run: RunningCell) -> Metric:
        """Returns the goodput as a share of `payload_limit_bps`."""
        return Metric(100 * measured.metrics["goodput"].value / self.payload_limit_bps(run.cell, run.plan), "%")

    @override
    def settings(self, request: PlanRequest) -> dict[str, Any]:
        settings = {"size_mb": 0, "udp_s": 0, **super().settings(request)}
        for later in (_SERVICE_TIME, _MPTCP_SIZE):  # which plans lack that were stored before
            if not settings.get(later):
                settings.pop(later, None)
        return settings

    @override
    def require(self, plan: Plan) -> None:
        if _SERVICE_TIME in plan.settings and plan.clock is not Clock.VIRTUAL:
            raise UsageError(
                "--service-time: on the real clock packets take the time that this machine's own processors need",
                "measure it in virtual time: --clock virtual",
            )
        super().require(plan)

    @override
    def topology(self, cell: Cell, plan: Plan) -> Topo:
        links, configuration = self.links(cell, plan), self.configuration(cell)
        return MultipathPair(
            paths=len(links),
            links=links,
            mptcp=configuration.kind == "mptcp",
            family=configuration.paths_family,
            congestion_control=self.congestion_control(cell, plan),
        )

    def _file_bytes(self, cell: Cell, plan: Plan) -> int:
        """Returns the size of the file that a cell downloads."""
        size_mb: int = plan.settings["size_mb"]
        if size_mb and self.configuration(cell).kind == "mptcp":
            size_mb = plan.settings.get(_MPTCP_SIZE, size_mb)
        return size_mb * MB

    @override
    def load_s(self, cell: Cell, plan: Plan) -> float:
        rates = [link.bandwidth_bps or 0 for link in self.links(cell, plan)]
        download_bps = rates[0] if self.configuration(cell).kind == "baseline" else sum(rates) / 2
        udp_s = plan.settings["udp_s"] if self.configuration(cell).kind == "tun" else 0
        download_s = self._file_bytes(cell, plan) * 8 / download_bps
        return self.warm_up_s(cell) + plan.settings["seconds"] + udp_s + download_s

    @override
    def demand(self, cell: Cell, plan: Plan) -> float:
        return super().demand(cell, plan) * (2 if self.configuration(cell).kind == "tun" else 1)

    def _tunnel(self, run: RunningCell) -> Tunnel:
        """Returns the tunnel of a cell, with the service time of the run."""
        service_time_s = 1e-6 * run.plan.settings.get(_SERVICE_TIME, 0)
        spec = replace(self.tunnel(run.cell), service_time_s=service_time_s)
        return Tunnel(run.testbed.host(CLIENT), run.testbed.host(SERVER), spec)

    @override
    def load(self, run: RunningCell) -> Measurement:
        configuration, settings = self.configuration(run.cell), run.plan.settings
        with self._tunnel(run) if configuration.kind == "tun" else nullcontext() as tunnel:
            transfers = Transfers(
                run.testbed, run.watch, run.folder, tunnel, family=configuration.family, kind=configuration.kind
            )
            run.watch.start_events()
            begun_s = time.monotonic()
            run.progress(0.4, "iperf3")
            measured = transfers.iperf3(settings["seconds"], self.warm_up_s(run.cell))
            iperf3_s = time.monotonic() - begun_s
            if size_bytes := self._file_bytes(run.cell, run.plan):
                run.progress(0.6, "ftp")
                measured = measured.merged(transfers.ftp(size_bytes))
            compared_s = time.monotonic() - begun_s
            if tunnel is not None and settings["udp_s"]:
                run.progress(0.8, "udp")
                rate_bps = int(_UDP_LOAD * self.payload_limit_bps(run.cell, run.plan))
                measured = measured.merged(transfers.udp(settings["udp_s"], rate_bps))
            run.watch.set_load_interval(begun_s, time.monotonic())
            transfers.prove(all_paths=self.uses_all_paths)
        # Without UDP, which only a tunnel carries: technologies are compared by their course.
        idle = run.watch.idle_cpu
        busy, of_iperf3 = (_busy(idle, until_s) for until_s in (compared_s, iperf3_s))
        return measured.merged(Measurement(series={"busy": busy, "busy_iperf3": of_iperf3}))


def _busy(idle: Series, until_s: float) -> Series:
    """Returns the busy share of the machine in %, in the intervals that end by a time of the load."""
    ends = (*idle.times_s[1:], float("inf"))
    within = [i for i, end in enumerate(ends[: len(idle.values)]) if end <= until_s]
    return Series("%", tuple(idle.times_s[i] for i in within), tuple(100 - idle.values[i] for i in within))
