"""Congestion controls over four paths of 100 Mb/s, with MPTCP and in a tunnel.

Szilágyi and Bordán, "The Effects of Different Congestion Control Algorithms over Multipath Fast Ethernet IPv4/IPv6
Environments" (2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from experiments.figures import metric_bars
from experiments.parameters import Axis, link_setting
from flightpath.errors import UsageError
from flightpath.overrides import override
from results.figures.drawing import Draw, Figures
from results.records import Cell, CellResult
from results.statistics.estimates import values_of
from scenarios.multipath.figures import costs, only, over_time, transfer_bars
from scenarios.multipath.multipath import (
    BASELINE,
    MPTCPS,
    TUNNELS,
    Configuration,
    MultipathScenario,
    mptcp_size_setting,
    service_time_setting,
    transfer_settings,
    udp_setting,
)
from scenarios.multipath.quadpath_cases import PAPERS, PATHS
from scenarios.multipath.quadpath_claims import PLAIN, quadpath_claims

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINK = "100Mbit,0.1ms,1000p"
WARM_UP_S = 3.0
"""Time until the receiver has read what it held back for the packets that slow start lost: 4 to 6 MB in a tunnel."""

LATER = ("bbr", "elastic")
"""Algorithms that the paper leaves for later."""

EXTREMES = ("cubic", "vegas")
"""The algorithms that the paper draws over time."""

ONE_SIZE = (BASELINE, "baseline6", *TUNNELS, PLAIN)
"""The configurations that download files of the same size, whose times can be compared; see `--mptcp-size`."""

_BY_ALGORITHM = {"groups": "congestion_control", "x_label": "congestion control"}


def _number_of_paths(word: str) -> int:
    if word not in map(str, range(1, PATHS + 1)):
        raise UsageError(f"--paths: {word!r} is not a number from 1 to {PATHS}")
    return int(word)


def _with_most_paths(draw: Draw) -> Draw:
    """Restricts a figure to the cells with the most paths; `_by_paths` compares these with the others."""

    def drawn(cells: Sequence[CellResult]) -> Figure | None:
        most = max((int(cell.cell.parameters["paths"]) for cell in cells), default=0)
        return draw([cell for cell in cells if int(cell.cell.parameters["paths"]) == most])

    return drawn


def _by_paths(draw: Draw) -> Draw:
    """Restricts a figure to the paper's first algorithm, in runs with several numbers of paths."""

    def drawn(cells: Sequence[CellResult]) -> Figure | None:
        of_one = [cell for cell in cells if cell.cell.parameters["congestion_control"] == PAPERS[0]]
        return draw(of_one) if len(values_of(of_one, "paths")) > 1 else None

    return drawn


def _extremes_over_time(**chart: Any) -> Draw:
    return only("congestion_control", EXTREMES, partial(over_time, panels="congestion_control", **chart))


_BARS = transfer_bars(("fig2", "fig2", "fig3_4", "fig7"), "Mbit/s", by="configuration", **_BY_ALGORITHM)
_OF_ALL_PATHS = {
    **_BARS,
    "fig3_4_download": only("configuration", ONE_SIZE, _BARS["fig3_4_download"]),
    "fig3_4_course": only(
        "configuration",
        ONE_SIZE,
        _extremes_over_time(
            series="ftp_carried", title="Downloads by FTP: what the paths carry", y_label="Mbit/s", scale=1e-6
        ),
    ),
    "fig5_6_cpu": _extremes_over_time(
        series="busy", title="Processors of the whole machine, iperf3 and then FTP", y_label="busy (%)"
    ),
    "cpu_per_gbps": costs(panels="configuration", **_BY_ALGORITHM),
    **metric_bars({"udp_goodput": ("UDP through the tunnel", "Mbit/s", 1e-6)}, by="configuration", **_BY_ALGORITHM),
}
_OF_EACH_NUMBER = metric_bars(
    {
        "goodput": ("Throughput by iperf3 over one path and more", "Mbit/s", 1e-6),
        "cpu_total": ("Processor time of hosts and links over one path and more, iperf3", "% of a core", 1.0),
    },
    groups="paths",
    by="configuration",
    x_label="paths",
)


class CongestionQuadpath(MultipathScenario):
    """Congestion controls over four paths of 100 Mb/s, in a tunnel (MPT-GRE) and with MPTCP.

    Measured are the throughput by iperf3, by FTP and of UDP through the tunnel, and the processor time. The algorithms
    are the paper's seven, and bbr and elastic, which it leaves for later; one that this machine neither has nor can
    load is skipped. tun4_path6 is TCP over IPv4 in a tunnel over IPv6 paths; baseline4 is TCP over one path. In
    tun4_path4_plain the tunnel works as the paper's did: packet by packet, and without a reordering buffer.

      flightpath run congestion_quadpath
      flightpath run congestion_quadpath --algorithms vegas --configurations tun4_path4,tun4_path4_plain
      flightpath run congestion_quadpath --paths 1,2,3,4 --algorithms cubic
                                                               what each further path costs and brings
      flightpath run congestion_quadpath --full           all configurations, a file of 1 GB, ten times each
    """

    name = "congestion_quadpath"
    summary = "congestion controls over four paths of 100 Mb/s, MPTCP and MPT-GRE (paper: congestion-control-quadpath)"
    axes = (
        Axis(
            "configuration",
            (BASELINE, "tun4_path4", "tun6_path6", *MPTCPS),
            (BASELINE, "baseline6", *TUNNELS, PLAIN, *MPTCPS),
            option="--configurations",
            help="protocols and tunnels",
            check=Configuration.named,
        ),
        Axis("congestion_control", PAPERS, (*PAPERS, *LATER), option="--algorithms", help="congestion controls"),
        Axis("paths", (PATHS,), option="--paths", help=f"numbers of paths, up to {PATHS}", read=_number_of_paths),
    )
    options = (
        link_setting(LINK, "each path"),
        *transfer_settings((3, 10), (40, 1000)),
        mptcp_size_setting(),
        udp_setting((1, 10)),
        service_time_setting(),
    )
    figures = Figures(
        **{name: _with_most_paths(draw) for name, draw in _OF_ALL_PATHS.items()},
        **{f"paths_{name}": _by_paths(draw) for name, draw in _OF_EACH_NUMBER.items()},
    )
    claims = quadpath_claims()

    @override
    def warm_up_s(self, cell: Cell) -> float:
        return WARM_UP_S


if __name__ == "__main__":
    from scenarios.command import runner

    runner.main(CongestionQuadpath())
