"""Congestion controls over four paths of 100 Mb/s, with MPTCP and in a tunnel.

Szilágyi and Bordán, "The Effects of Different Congestion Control Algorithms over Multipath Fast Ethernet IPv4/IPv6
Environments" (2020).
"""

from functools import partial
from typing import Any

from flightpath.overrides import override
from results.figures.drawing import Draw, Figures
from results.records import Cell
from scenarios.framework import runner
from scenarios.framework.plan import Axis, Plan, link_setting
from scenarios.multipath.figures import costs, only, over_time, transfer_bars
from scenarios.multipath.multipath import BASELINE, MPTCPS, TUNNELS, Configuration, MultipathScenario, transfer_settings
from scenarios.multipath.quadpath_claims import PAPERS, PATHS, PLAIN, quadpath_claims
from topologies.links.spec import LinkSpec
from topologies.links.texts import short_link
from topologies.testbed.tunnel import TunnelSpec

LINK = "100Mbit,0.1ms,1000p"
LATER = ("bbr", "elastic")
"""Algorithms that the paper leaves for later."""

EXTREMES = ("cubic", "vegas")
"""The algorithms that the paper draws over time."""

_BY_ALGORITHM = {"groups": "congestion_control", "x_label": "congestion control"}


def _extremes_over_time(**chart: Any) -> Draw:
    return only("congestion_control", EXTREMES, partial(over_time, panels="congestion_control", **chart))


def _configuration(name: str) -> Configuration:
    """The plain tunnel has the protocols of the usual one."""
    return Configuration.named(name.removesuffix("_plain"))


class CongestionQuadpath(MultipathScenario):
    """Congestion controls over four paths of 100 Mb/s, in a tunnel (MPT-GRE) and with MPTCP.

    Measured are the throughput by iperf3 and by FTP, and the processor time. The algorithms are the paper's seven, and
    bbr and elastic, which it leaves for later; one that this machine neither has nor can load is skipped. tun4_path6 is
    TCP over IPv4 in a tunnel over IPv6 paths; baseline4 is TCP over one path. In tun4_path4_plain the tunnel works as
    the paper's did: packet by packet, and without a reordering buffer.

      python -m scenarios.congestion_quadpath
      python -m scenarios.congestion_quadpath --algorithms vegas --configurations tun4_path4,tun4_path4_plain
      python -m scenarios.congestion_quadpath --full           all configurations, a file of 1 GB, ten times each
    """

    name = "congestion_quadpath"
    summary = "congestion controls over four paths of 100 Mb/s, MPTCP and MPT-GRE (paper: congestion-control-quadpath)"
    axes = (
        Axis(
            "configuration",
            (BASELINE, "tun4_path4", "mptcp4", PLAIN),
            (BASELINE, "baseline6", *TUNNELS, PLAIN, *MPTCPS),
            option="--configurations",
            help="protocols",
            check=_configuration,
        ),
        Axis("congestion_control", PAPERS, (*PAPERS, *LATER), option="--algorithms", help="congestion controls"),
    )
    options = (link_setting(LINK, "each path"), *transfer_settings((4, 10), (40, 1000)))
    figures = Figures(
        **transfer_bars(("fig2", "fig2", "fig3_4", "fig7"), "Mbit/s", by="configuration", **_BY_ALGORITHM),
        fig3_4_course=_extremes_over_time(
            series="ftp_carried", title="Downloads by FTP: what the paths carry", y_label="Mbit/s", scale=1e-6
        ),
        fig5_6_cpu=_extremes_over_time(
            series="busy", title="Processors of the whole machine, iperf3 and then FTP", y_label="busy (%)"
        ),
        cpu_per_gbps=costs(panels="configuration", **_BY_ALGORITHM),
    )
    claims = quadpath_claims()

    @override
    def configuration(self, cell: Cell) -> Configuration:
        return _configuration(str(cell.parameters["configuration"]))

    @override
    def tunnel(self, cell: Cell) -> TunnelSpec:
        if cell.parameters["configuration"] == PLAIN:
            return TunnelSpec(offloads=False, run=1, reordering="off")
        return super().tunnel(cell)

    @override
    def links(self, cell: Cell, plan: Plan) -> list[LinkSpec]:
        return [short_link(plan.settings["link"])] * PATHS


if __name__ == "__main__":
    runner.main(CongestionQuadpath())
