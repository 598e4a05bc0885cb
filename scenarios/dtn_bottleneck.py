"""Throughput over bottlenecks of different bandwidth: experiment 3 of Mohammed et al., "Net-Preflight Check" (2021)."""

import itertools
from argparse import Namespace
from collections.abc import Sequence

from matplotlib.figure import Figure

from flightpath.errors import UsageError
from flightpath.overrides import override
from flightpath.units import format_rate
from results.figures.drawing import Figures
from results.records import Cell, CellResult, ParameterValue
from results.statistics.estimates import group
from scenarios.dtn.transfer import DtnTransfer, goodput_curves
from scenarios.framework import runner
from scenarios.framework.claims import ClaimCheck, Evidence, Outcome, reproduced_if
from scenarios.framework.plan import CONGESTION_CONTROL, Axis, Plan, Setting
from topologies.links.spec import PAYLOAD_SHARE, LinkSpec

PAPER_GBPS = (10, 5, 2, 1)
AGREES_SHARE = 0.15


def _scale(scale: float) -> float:
    if not 0 < scale <= 1:
        raise UsageError(f"--scale: {scale:g} is not above 0 and at most 1")
    return scale


def _goodput(cells: Sequence[CellResult]) -> Figure | None:
    limits = [(rate, rate * PAYLOAD_SHARE) for (rate,) in group(cells, ("bandwidth_mbps",))]
    draw = goodput_curves(
        x="bandwidth_mbps",
        by="size_mb",
        x_label="bottleneck (Mbit/s)",
        title="SFTP throughput against the bottleneck, by file size (MB)",
        references={"the most payload that it can carry": limits},
    )
    return draw(cells)


def _ordered(evidence: Evidence) -> Outcome:
    means = evidence.means("goodput", "bandwidth_mbps", least=2)
    holds = all(less < more for less, more in itertools.pairwise(means.values()))
    measured = ", ".join(f"{value / 1e6:.0f} over {rate:.0f}" for rate, value in means.items())
    return reproduced_if(holds, f"{measured} Mbit/s")


def _agrees(evidence: Evidence) -> Outcome:
    """For the largest files, where slow start matters least."""
    size, largest = evidence.largest("size_mb")
    means = largest.means("goodput", "bandwidth_mbps", least=2)
    shares = {rate: value / (rate * 1e6 * PAYLOAD_SHARE) for rate, value in means.items()}
    measured = ", ".join(f"{share:.1%} of {format_rate(rate * 1e6)}" for rate, share in shares.items())
    why = f"files of {size} MB; within {AGREES_SHARE:.0%} of the most payload, slow start included"
    return reproduced_if(min(shares.values()) >= 1 - AGREES_SHARE, measured, why)


class DtnBottleneck(DtnTransfer):
    """Throughput of file transfers between two data transfer nodes, over bottlenecks of 10, 5, 2 and 1 Gb/s.

    The round trip is 30 ms. No SFTP client fills 10 Gb/s with one core; at such a rate the client would be measured,
    not the bottleneck. Therefore all rates are multiplied by --scale (0.1: from 1 Gb/s to 100 Mb/s). The question stays
    the same: does the measured throughput follow the bottleneck? With faster cores try --scale 1; cells that the client
    limits are `unusable`.

      python -m scenarios.dtn_bottleneck
      python -m scenarios.dtn_bottleneck --scale 0.5 --only size_mb=100
    """

    name = "dtn_bottleneck"
    summary = "SFTP throughput over bottlenecks of 10, 5, 2 and 1 Gb/s (paper: netpreflight, experiment 3)"
    axes = (Axis("size_mb", (50, 250), (20, 50, 100, 250, 500)),)
    options = (
        CONGESTION_CONTROL,
        Setting("--delay", "of the bottleneck, one way", "15ms"),
        Setting("--scale", "factor for all bandwidths", 0.1, read=_scale),
    )
    figures = Figures(fig3a_bottleneck=_goodput)
    claims = (
        ClaimCheck("a smaller link capacity gives a smaller measured throughput", "10 > 5 > 2 > 1 Gb/s", _ordered),
        ClaimCheck("the tool measures the bottleneck", "good performance of the measurement", _agrees),
    )

    @override
    def axis_values(self, options: Namespace) -> dict[str, tuple[ParameterValue, ...]]:
        scale = self.settings(options)["scale"]
        bandwidths = tuple(round(rate * 1000 * scale) for rate in PAPER_GBPS)
        return {"bandwidth_mbps": bandwidths, **super().axis_values(options)}

    @override
    def link(self, cell: Cell, plan: Plan) -> LinkSpec:
        bandwidth = f"{cell.parameters['bandwidth_mbps']}Mbit"
        return LinkSpec.parse(bandwidth=bandwidth, delay=plan.settings["delay"], queue="1bdp")

    @override
    def load_s(self, cell: Cell, plan: Plan) -> float:
        return 1 + int(cell.parameters["size_mb"]) * 8 / int(cell.parameters["bandwidth_mbps"])


if __name__ == "__main__":
    runner.main(DtnBottleneck())
