"""Throughput over bottlenecks of different bandwidth: experiment 3 of Mohammed et al., "Net-Preflight Check" (2021)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from experiments.claims import Evidence
from experiments.judging import MORE, Found, Range, claim, found, growth, level, sample
from experiments.parameters import CONGESTION_CONTROL, Axis, Setting
from experiments.plan import Plan
from flightpath.overrides import override
from results.figures.drawing import Figures
from results.records import Cell, CellResult, ParameterValue
from results.statistics.estimates import values_of
from scenarios.dtn.transfer import DtnTransfer, goodput_curves, goodput_steps
from topologies.links.spec import PAYLOAD_SHARE, LinkSpec

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER_MBPS = (10_000, 5000, 2000, 1000)
AGREES_PERCENT = 85.0


def _goodput(cells: Sequence[CellResult]) -> Figure | None:
    rates = map(float, values_of(cells, "bandwidth_mbps"))
    limits = [(rate, rate * PAYLOAD_SHARE) for rate in rates]
    draw = goodput_curves(
        x="bandwidth_mbps",
        by="size_mb",
        x_label="bottleneck (Mbit/s)",
        title="SFTP throughput against the bottleneck, by file size (MB)",
        references={"maximum payload rate": limits},
    )
    return draw(cells)


def _ordered(evidence: Evidence) -> dict[str, Found]:
    """Returns the change of the goodput with each larger bandwidth, at each file size; needs all four of the paper."""
    evidence.tried("bandwidth_mbps", least=len(PAPER_MBPS))
    return goodput_steps(evidence, along="bandwidth_mbps", at="size_mb")


def _shares(evidence: Evidence) -> dict[str, Found]:
    """Returns the goodput in per cent of the maximum payload rate, for the largest files, where slow start is short."""
    size = evidence.tried("size_mb")[-1]
    return {
        f"{rate} Mbit/s": level(
            evidence, "goodput", scale=1e-4 / (rate * PAYLOAD_SHARE), size_mb=size, bandwidth_mbps=rate
        )
        for rate in evidence.numbers("bandwidth_mbps", least=2)
    }


def _clearer(evidence: Evidence) -> dict[str, Found]:
    """Returns the change of the ratio of the fastest link to the slowest, from the smallest file to the largest."""
    slow, *_, fast = evidence.tried("bandwidth_mbps", least=len(PAPER_MBPS))

    def ratios(size: ParameterValue) -> list[float]:
        low, high = (sample(evidence, "goodput", {"size_mb": size, "bandwidth_mbps": rate}) for rate in (slow, fast))
        return [above / below for below, above in zip(low, high, strict=False)]

    sizes = evidence.tried("size_mb", least=2)
    return {"": found(lambda: growth(ratios(sizes[0]), ratios(sizes[-1])))}


class DtnBottleneck(DtnTransfer):
    """Throughput of file transfers between two data transfer nodes, over bottlenecks of 10, 5, 2 and 1 Gb/s.

    The round trip is 30 ms. Does the measured throughput follow the bottleneck? No SFTP client fills 10 Gb/s with one
    core: on the real clock the client would be measured, and such cells are `unusable`. In virtual time computing
    takes no time; on the real clock `--scale 0.1` asks the same question from 1 Gb/s down to 100 Mb/s.

      flightpath run dtn_bottleneck --clock virtual
      flightpath run dtn_bottleneck --scale 0.1 --only size_mb=50
    """

    name = "dtn_bottleneck"
    summary = "SFTP throughput over bottlenecks of 10, 5, 2 and 1 Gb/s (paper: netpreflight, experiment 3)"
    axes = (
        Axis("bandwidth_mbps", PAPER_MBPS),
        Axis("size_mb", (50, 250), (20, 50, 100, 250, 500)),
    )
    options = (
        CONGESTION_CONTROL,
        Setting("--delay", "one-way delay of the bottleneck", "15ms", metavar="TIME"),
    )
    figures = Figures(fig3a_bottleneck=_goodput)
    claims = (
        claim("a smaller link capacity gives a smaller measured throughput", "10 > 5 > 2 > 1 Gb/s", _ordered, MORE),
        claim(
            "the larger the file, the clearer the difference between the link capacities",
            "the ratio of 10 to 1 Gb/s grows from the smallest file to the largest",
            _clearer,
            MORE,
        ),
        claim(
            "the tool measures the bottleneck (ours)",
            f"at least {AGREES_PERCENT:g} % of what it can carry, slow start included",
            _shares,
            Range(least=AGREES_PERCENT),
            form="{:.1f} %",
        ),
    )

    @override
    def scaled(self, plan: Plan, factor: float) -> Plan:
        def scaled(rates: Sequence[ParameterValue]) -> tuple[int, ...]:
            return tuple(round(factor * float(rate)) for rate in rates)

        axes = {**plan.axes, "bandwidth_mbps": scaled(plan.axes["bandwidth_mbps"])}
        only = {
            name: tuple(map(str, scaled(values))) if name == "bandwidth_mbps" else values
            for name, values in plan.only.items()
        }
        return replace(plan, axes=axes, only=only, scale=factor)

    @override
    def link(self, cell: Cell, plan: Plan) -> LinkSpec:
        bandwidth = f"{cell.parameters['bandwidth_mbps']}Mbit"
        return LinkSpec.parse(bandwidth=bandwidth, delay=plan.settings["delay"], queue="1bdp")

    @override
    def load_s(self, cell: Cell, plan: Plan) -> float:
        return 1 + int(cell.parameters["size_mb"]) * 8 / int(cell.parameters["bandwidth_mbps"])


if __name__ == "__main__":
    from scenarios.command import runner

    runner.main(DtnBottleneck())
