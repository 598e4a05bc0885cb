"""Throughput by file transfer over bottlenecks of different bandwidth.

Experiment 3 of Mohammed et al., "Net-Preflight Check" (2021).
"""

import itertools
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from flightpath.errors import UsageError
from flightpath.units import format_bandwidth
from probes.preflight import TransferSpec
from results.records import Cell, CellResult, Claim
from results.statistics.estimates import group
from scenarios.dtn.transfer import MB, DtnTransfer, goodput_figure, mean_goodputs, of_largest
from scenarios.framework import runner
from scenarios.framework.claims import NOTHING, Finding, Untestable, cells_note, claim
from scenarios.framework.plan import Plan
from topologies.links.spec import PAYLOAD_SHARE, LinkSpec

PAPER_GBPS = (10, 5, 2, 1)
SCALE = 0.1
AGREES_SHARE = 0.15


class DtnBottleneck(DtnTransfer):
    """The scenario; see its description."""

    name = "dtn_bottleneck"
    summary = "SFTP throughput over bottlenecks of 10, 5, 2 and 1 Gb/s (paper: netpreflight, experiment 3)"
    description = """\
Throughput between two data transfer nodes by file transfer, over bottlenecks of 10, 5, 2 and 1 Gb/s (30 ms round trip).

No SFTP client fills 10 Gb/s with one core, and one that cannot measures itself. So all rates are scaled by --scale
(0.1: 1 Gb/s to 100 Mb/s); what is asked, whether the measured throughput follows the bottleneck, stays the same. With
faster cores try --scale 1; what the client could not carry is then `unusable`, and says so.

  python -m scenarios.dtn_bottleneck
  python -m scenarios.dtn_bottleneck --scale 0.5 --only size_mb=100"""

    path = None

    def add_options(self, parser: ArgumentParser) -> None:
        """Adds the scale."""
        super().add_options(parser)
        parser.add_argument("--delay", default="15ms", help="of the bottleneck, one way (default %(default)s)")
        parser.add_argument("--scale", type=float, default=SCALE, help="of all bandwidths (%(default)s)")

    def plan(self, options: Namespace) -> Plan:
        """The quick or full plan, changed by the options."""
        if not 0 < options.scale <= 1:
            raise UsageError(f"--scale: {options.scale:g} is not above 0 and at most 1")
        full = options.form == "full"
        axes = {
            "bandwidth_mbps": tuple(round(rate * 1000 * options.scale) for rate in PAPER_GBPS),
            "size_mb": (20, 50, 100, 250, 500) if full else (50, 250),
        }
        settings = {"delay": options.delay, "scale": options.scale}
        return self.planned(options, axes, settings, quick_repeat=2, full_repeat=3)

    def link(self, cell: Cell, plan: Plan) -> LinkSpec:
        """The bottleneck of that bandwidth."""
        return LinkSpec.parse(
            bandwidth=f"{cell.parameters['bandwidth_mbps']}Mbit", delay=plan.settings["delay"], queue="1bdp"
        )

    def transfer(self, cell: Cell, plan: Plan) -> TransferSpec:
        """A file of that size, with the kernel's own sizing of buffers."""
        return TransferSpec(size_bytes=int(cell.parameters["size_mb"]) * MB, route=False, interval_s=0.1)

    def estimate_s(self, cell: Cell, plan: Plan) -> float:
        """The file at the bottleneck's rate, and starting."""
        return self.starting_s + 1 + int(cell.parameters["size_mb"]) * 8 / int(cell.parameters["bandwidth_mbps"])

    def figures(self, cells: Sequence[CellResult], folder: Path) -> list[Path]:
        """The paper's figure 3a."""
        limits = {rate: rate * PAYLOAD_SHARE for (rate,) in group(cells, ("bandwidth_mbps",))}
        return goodput_figure(
            cells,
            folder,
            name="fig3a_bottleneck",
            x="bandwidth_mbps",
            by="size_mb",
            x_label="bottleneck (Mbit/s)",
            title="SFTP throughput against the bottleneck, by file size (MB)",
            references={"what its payload can be": list(limits.items())},
        )

    def claims(self, cells: Sequence[CellResult], form: str) -> list[Claim]:
        """The paper's sentences on capacity."""
        note = cells_note(cells)
        return [
            claim(
                "a smaller link capacity gives a smaller measured throughput",
                "10 > 5 > 2 > 1 Gb/s",
                lambda: _ordered(cells),
                note,
            ),
            claim(
                "the tool measures the bottleneck",
                "good performance of the measurement",
                lambda: _agrees(cells),
                note,
            ),
        ]


def _means(cells: Sequence[CellResult]) -> dict[float, float]:
    means = mean_goodputs(cells, "bandwidth_mbps")
    if len(means) < 2:
        raise Untestable(NOTHING)
    return means


def _ordered(cells: Sequence[CellResult]) -> Finding:
    means = _means(cells)
    rising = list(means.values())
    holds = all(less < more for less, more in itertools.pairwise(rising))
    told = ", ".join(f"{value / 1e6:.0f} over {rate:.0f}" for rate, value in means.items())
    return Finding.of(holds, f"{told} Mbit/s")


def _agrees(cells: Sequence[CellResult]) -> Finding:
    """Of the largest file, which has the least of slow start in it."""
    size, members = of_largest(cells, "size_mb")
    shares = {rate: value / (rate * 1e6 * PAYLOAD_SHARE) for rate, value in _means(members).items()}
    told = ", ".join(f"{share:.1%} of {format_bandwidth(rate * 1e6)}/s" for rate, share in shares.items())
    why = f"files of {size} MB; within {AGREES_SHARE:.0%} of the payload limit, slow start included"
    return Finding.of(min(shares.values()) >= 1 - AGREES_SHARE, told, why)


if __name__ == "__main__":
    sys.exit(runner.main(DtnBottleneck()))
