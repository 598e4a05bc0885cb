"""What the experiments on several paths share: what a connection goes over, and the load on it."""

import re
import statistics
import time
from abc import abstractmethod
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Self

from mininet.topo import Topo

from flightpath.errors import UsageError
from results.records import Cell, CellResult, Measurement, Metric, Series
from results.statistics.estimates import group, usable
from scenarios import fidelity
from scenarios.framework.claims import NOTHING, Untestable
from scenarios.framework.plan import Plan
from scenarios.framework.scenario import Context
from scenarios.framework.testbed_scenario import TestbedScenario
from scenarios.multipath.transfers import Transfers
from topologies.links.spec import ETHERNET_HEADER_BYTES, LinkSpec
from topologies.multipath_pair import CLIENT, SERVER, MultipathPair
from topologies.testbed.testbed import Testbed
from topologies.testbed.tunnel import Tunnel, TunnelSpec

MB = 1_000_000
BASELINE = "baseline4"
TUNNELS = ("tun4_path4", "tun4_path6", "tun6_path4", "tun6_path6")
MPTCPS = ("mptcp4", "mptcp6")

_NAME = re.compile(r"tun(?P<inside>[46])_path(?P<outside>[46])|(?P<kind>mptcp|baseline)(?P<family>[46])")
_IP_BYTES = {4: 20, 6: 40}
_TCP_BYTES = 32
_TUNNEL_BYTES = 8 + 8
"""UDP's header, and GRE's with a sequence number."""


@dataclass(frozen=True)
class Configuration:
    """What a connection goes over, under the papers' names.

    `tun4_path6` is TCP over IPv4 in a tunnel (MPT-GRE) over paths of IPv6; `mptcp4` is MPTCP over IPv4; `baseline4` is
    TCP over IPv4 on the first path.

    Attributes:
        kind: `tun`, `mptcp` or `baseline`.
        family: of the connection's addresses.
        paths_family: of the paths' addresses.
    """

    kind: str
    family: int
    paths_family: int

    @classmethod
    def named(cls, name: str) -> Self:
        """By its name.

        Raises:
            UsageError: there is none of this name.
        """
        match = _NAME.fullmatch(name)
        if match is None:
            known = ", ".join((*TUNNELS, *MPTCPS, BASELINE))
            raise UsageError(f"configuration: {name!r} is unknown", f"choose of {known}")
        if match["kind"]:
            return cls(match["kind"], int(match["family"]), int(match["family"]))
        return cls("tun", int(match["inside"]), int(match["outside"]))

    @property
    def payload_share(self) -> float:
        """What TCP carries of the paths' bytes in full packets."""
        outside = _IP_BYTES[self.paths_family] + _TUNNEL_BYTES if self.kind == "tun" else 0
        return (1500 - outside - _IP_BYTES[self.family] - _TCP_BYTES) / (1500 + ETHERNET_HEADER_BYTES)


class MultipathScenario(TestbedScenario):
    """h1 and h2 with a link per path, and one connection over them: iperf3 from h1, then a download by FTP to it.

    Each cell has a parameter `configuration`; each plan has the settings `seconds` (of iperf3) and `size_mb` (of the
    file; 0 for no download).

    Attributes:
        seconds, sizes_mb: the same in the quick and in the full form.
        uses_all_paths: whether a cell has failed if a tunnel or MPTCP left a path unused.
    """

    programs = ("iperf3", "vsftpd", "wget", "mptcpize", "ss")
    starting_s = 3.0
    headlines: tuple[str, ...] = (
        "goodput",
        "ftp_goodput",
        "cpu_per_gbps",
        "ftp_cpu_per_gbps",
        "cpu_tunnel",
        "idle_cpu",
    )
    seconds = (4, 10)
    sizes_mb = (0, 0)
    uses_all_paths = True

    @abstractmethod
    def links(self, cell: Cell, plan: Plan) -> list[LinkSpec]:
        """Each path's link."""

    def configuration(self, cell: Cell) -> Configuration:
        """What the connection of a cell goes over."""
        return Configuration.named(str(cell.parameters["configuration"]))

    def tunnel(self, cell: Cell) -> TunnelSpec:
        """How the tunnel of a cell works, if it has one."""
        return TunnelSpec(family=self.configuration(cell).paths_family)

    def warm_up_s(self, cell: Cell) -> float:
        """How long iperf3 sends before it counts."""
        return 1.0

    def payload_limit_bps(self, cell: Cell, plan: Plan) -> float:
        """What the paths of a cell can carry of TCP's payload, all together."""
        return sum(link.bandwidth_bps or 0 for link in self.links(cell, plan)) * self.configuration(cell).payload_share

    def share_of_sum(self, measured: Measurement, cell: Cell, plan: Plan) -> Metric:
        """How much of that limit a transfer's goodput is."""
        return Metric(100 * measured.metrics["goodput"].value / self.payload_limit_bps(cell, plan), "%")

    def add_transfer_options(self, parser: ArgumentParser) -> None:
        """Adds how long iperf3 sends, and how large the file is if there is one."""
        quick, full = self.seconds
        parser.add_argument("--seconds", type=int, metavar="S", help=f"of iperf3, warm ({quick}; full: {full})")
        quick, full = self.sizes_mb
        if full:
            parser.add_argument(
                "--size", type=int, metavar="MB", help=f"of the file; 0: no download ({quick}; full: {full})"
            )

    def transfer_settings(self, options: Namespace) -> dict[str, int]:
        """What those options come to.

        Raises:
            UsageError: they make no sense.
        """
        form = ("quick", "full").index(options.form)
        size = getattr(options, "size", None)
        settings = {
            "seconds": options.seconds if options.seconds is not None else self.seconds[form],
            "size_mb": size if size is not None else self.sizes_mb[form],
        }
        if settings["seconds"] < 1 or settings["size_mb"] < 0:
            raise UsageError(f"--seconds {settings['seconds']} --size {settings['size_mb']}: too little")
        return settings

    def topology(self, cell: Cell, plan: Plan) -> Topo:
        """The hosts and their paths."""
        links, chosen = self.links(cell, plan), self.configuration(cell)
        return MultipathPair(
            paths=len(links),
            links=links,
            mptcp=chosen.kind == "mptcp",
            family=chosen.paths_family,
            congestion_control=self.congestion_control(cell, plan),
        )

    def estimate_s(self, cell: Cell, plan: Plan) -> float:
        """Starting, iperf3, and the file at half of what the paths carry together, or over one of them."""
        rates = [link.bandwidth_bps or 0 for link in self.links(cell, plan)]
        download_bps = rates[0] if self.configuration(cell).kind == "baseline" else sum(rates) / 2
        return (
            self.starting_s
            + self.warm_up_s(cell)
            + plan.settings["seconds"]
            + plan.settings["size_mb"] * MB * 8 / download_bps
        )

    def load(self, testbed: Testbed, watch: fidelity.Watch, cell: Cell, context: Context) -> Measurement:
        """Both tools, one after the other."""
        chosen, settings = self.configuration(cell), context.plan.settings
        ends = testbed.host(CLIENT), testbed.host(SERVER)
        with Tunnel(*ends, self.tunnel(cell)) if chosen.kind == "tun" else nullcontext() as tunnel:
            transfers = Transfers(testbed, watch, context.folder, tunnel, family=chosen.family, kind=chosen.kind)
            self.load_begins(testbed, context)
            begun_s = time.time()
            context.progress(0.4, "iperf3")
            measured = transfers.iperf3(settings["seconds"], self.warm_up_s(cell))
            if settings["size_mb"]:
                context.progress(0.7, "ftp")
                measured = measured.merged(transfers.ftp(settings["size_mb"] * MB))
            watch.load_was(begun_s, time.time())
            transfers.prove(all_paths=self.uses_all_paths)
        idle = watch.idle_cpu
        busy = Series("%", idle.times_s, tuple(100 - value for value in idle.values))
        return measured.merged(Measurement(series={"busy": busy}))


def values(cells: Sequence[CellResult], metric: str, **parameters: object) -> list[float]:
    """A metric of the cells with these parameters that may be believed; a tuple allows several values.

    Raises:
        Untestable: there are none.
    """
    return [cell.measurement.metrics[metric].value for cell in _chosen(cells, metric, parameters)]


def means(cells: Sequence[CellResult], metric: str, by: str, **parameters: object) -> dict[str, float]:
    """The mean of such values for each value of another parameter.

    Raises:
        Untestable: there are none.
    """
    chosen = _chosen(cells, metric, parameters)
    return {str(name): statistics.fmean(values(members, metric)) for (name,), members in group(chosen, (by,)).items()}


def _chosen(cells: Sequence[CellResult], metric: str, parameters: Mapping[str, object]) -> list[CellResult]:
    def fits(cell: CellResult) -> bool:
        found = ((cell.cell.parameters.get(name), wanted) for name, wanted in parameters.items())
        return all(value in wanted if isinstance(wanted, tuple) else value == wanted for value, wanted in found)

    chosen = [cell for cell in usable(cells) if metric in cell.measurement.metrics and fits(cell)]
    if not chosen:
        raise Untestable(NOTHING)
    return chosen
