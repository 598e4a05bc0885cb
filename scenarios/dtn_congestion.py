"""Throughput by file transfer under several congestion controls, against buffer and file size.

Experiment 2 of Mohammed et al., "Net-Preflight Check" (2021).
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from results.records import CellResult, Claim
from results.statistics.estimates import group
from scenarios.dtn.transfer import BufferedTransfer, goodput_figure, mean_goodputs, of_largest
from scenarios.framework import runner
from scenarios.framework.algorithms import obtainable
from scenarios.framework.claims import Finding, Untestable, cells_note, claim
from scenarios.framework.plan import Plan

ALGORITHMS = ("reno", "htcp", "bic", "cubic")
INSENSITIVE_SHARE = 0.05
"""What "less effect" may be: the best and the worst algorithm within 5 % of each other."""


class DtnCongestion(BufferedTransfer):
    """The scenario; see its description."""

    name = "dtn_congestion"
    summary = "SFTP throughput under reno, htcp, bic and cubic (paper: netpreflight, experiment 2)"
    description = """\
Throughput between two data transfer nodes by file transfer, by congestion control, buffer and file size.

As dtn_buffers, with dtn1 sending under reno, htcp (Hamilton), bic and cubic. An algorithm that this machine neither has
nor can load is skipped by name. On a path without loss, a buffer below the bandwidth-delay product decides, and not
the algorithm; `--link 1Gbit,15ms,1bdp,0.01%` adds what tells them apart.

  python -m scenarios.dtn_congestion
  python -m scenarios.dtn_congestion --algorithms cubic,bbr --link 1Gbit,15ms,1bdp,0.01%"""

    def add_options(self, parser: ArgumentParser) -> None:
        """Adds the algorithms."""
        super().add_options(parser)
        parser.add_argument("--algorithms", default=",".join(ALGORITHMS), metavar="A,A,...", help="(%(default)s)")

    def plan(self, options: Namespace) -> Plan:
        """The quick or full plan, changed by the options."""
        full = options.form == "full"
        axes = {
            "congestion_control": tuple(options.algorithms.split(",")),
            "size_mb": (5, 20, 40, 60, 80, 100) if full else (20, 100),
            "buffer_kib": (512, 1024, 2048, 3072) if full else (512, 3072),
        }
        return self.planned(options, axes, {"link": options.link}, quick_repeat=2, full_repeat=3)

    def attainable(self, plan: Plan) -> Plan:
        """With the algorithms that can be had."""
        return plan.with_axis("congestion_control", obtainable(plan.axes["congestion_control"]))

    def figures(self, cells: Sequence[CellResult], folder: Path) -> list[Path]:
        """The paper's figure 2."""
        return goodput_figure(
            cells,
            folder,
            name="fig2_congestion_control",
            x="size_mb",
            by="congestion_control",
            panels="buffer_kib",
            panel_titles={value: f"buffer {value} KiB" for (value,) in group(cells, ("buffer_kib",))},
            title="SFTP throughput by congestion control",
            x_label="file size (MB)",
        )

    def claims(self, cells: Sequence[CellResult], form: str) -> list[Claim]:
        """What the paper says of the algorithms."""
        note = cells_note(cells)
        return [
            claim(
                "bic performs best in all cases, followed by htcp and cubic, then reno",
                "bic > htcp, cubic > reno",
                lambda: _ranking(cells),
                note,
            ),
            claim(
                "with the largest buffer the algorithms differ little",
                f"within {INSENSITIVE_SHARE:.0%}",
                lambda: _insensitive(cells),
                note,
            ),
        ]


def _ranking(cells: Sequence[CellResult]) -> Finding:
    means = mean_goodputs(cells, "congestion_control")
    if missing := set(ALGORITHMS) - set(means):
        raise Untestable(f"not measured: {', '.join(sorted(missing))}")
    ranked = sorted(means, key=means.__getitem__, reverse=True)
    margin = means[ranked[0]] / means[ranked[1]]
    told = " > ".join(f"{name} {means[name] / 1e6:.0f}" for name in ranked)
    holds = ranked[0] == "bic" and ranked[-1] == "reno" and margin > 1 + INSENSITIVE_SHARE / 2
    return Finding.of(holds, f"{told} Mbit/s", "means over all sizes and buffers; closer than 2.5 % is no order")


def _insensitive(cells: Sequence[CellResult]) -> Finding:
    largest, members = of_largest(cells, "buffer_kib")
    means = mean_goodputs(members, "congestion_control")
    if len(means) < 2:
        raise Untestable("only one algorithm was measured")
    spread = max(means.values()) / min(means.values()) - 1
    return Finding.of(spread <= INSENSITIVE_SHARE, f"{spread:.1%} between best and worst", f"buffer {largest} KiB")


if __name__ == "__main__":
    sys.exit(runner.main(DtnCongestion()))
