"""Parallel streams against a large segment on one connection: the last sentence of a paper, put to the test.

Mohammed et al., "Net-Preflight Check" (2021): "the use of parallel TCP streams is equivalent to using a large maximum
segment size on a single connection"; after Hacker, Athey and Noble (2002).
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from probes.preflight import TransferSpec
from results.records import Cell, CellResult, Claim
from results.statistics.estimates import group
from scenarios.dtn.transfer import DtnTransfer, goodput_figure, mean_goodputs
from scenarios.framework import runner
from scenarios.framework.claims import NOTHING, Finding, Untestable, cells_note, claim
from scenarios.framework.plan import Plan
from topologies.links.spec import LinkSpec

SMALL, LARGE = 1500, 9000
EQUAL_SHARE = 0.25
"""Equivalent: within a quarter; two different mechanisms will hardly meet more closely."""


class DtnMss(DtnTransfer):
    """The scenario; see its description."""

    name = "dtn_mss"
    summary = "parallel SFTP streams against a large MTU on one connection, with and without loss (netpreflight)"
    description = """\
Is a transfer in n parallel streams the same as one with segments n times as large?

Under loss, a connection's throughput grows with its segment size (Mathis et al., 1997), and n connections add up: six
streams with an MTU of 1500 should then equal one with 9000. Without loss neither should matter.

  python -m scenarios.dtn_mss
  python -m scenarios.dtn_mss --loss 0,0.05% --congestion-control reno"""

    path = None

    def add_options(self, parser: ArgumentParser) -> None:
        """Adds path, loss and duration."""
        super().add_options(parser)
        parser.add_argument("--bandwidth", default="500Mbit", help="of the path (default %(default)s)")
        parser.add_argument("--delay", default="15ms", help="of the path, one way (default %(default)s)")
        parser.add_argument("--loss", default="0,0.01%", metavar="P,P,...", help="of packets (default 0,0.01%%)")
        parser.add_argument("--seconds", type=int, default=6, help="of each transfer (default %(default)s)")

    def plan(self, options: Namespace) -> Plan:
        """The quick or full plan, changed by the options."""
        full = options.form == "full"
        axes = {
            "mtu": (SMALL, LARGE),
            "streams": (1, 2, 4, 6, 8) if full else (1, 6),
            "loss": tuple(options.loss.split(",")),
        }
        settings = {"bandwidth": options.bandwidth, "delay": options.delay, "seconds": options.seconds}
        return self.planned(options, axes, settings, quick_repeat=3, full_repeat=5)

    def link(self, cell: Cell, plan: Plan) -> LinkSpec:
        """The path with that MTU and loss."""
        settings, parameters = plan.settings, cell.parameters
        return LinkSpec.parse(
            bandwidth=settings["bandwidth"],
            delay=settings["delay"],
            queue="1bdp",
            loss=parameters["loss"],
            mtu=parameters["mtu"],
        )

    def transfer(self, cell: Cell, plan: Plan) -> TransferSpec:
        """For some seconds, in that many streams."""
        return TransferSpec(
            streams=int(cell.parameters["streams"]), time_limit_s=float(plan.settings["seconds"]), route=False
        )

    def estimate_s(self, cell: Cell, plan: Plan) -> float:
        """The transfer, and starting."""
        return self.starting_s + plan.settings["seconds"] + 1

    def figures(self, cells: Sequence[CellResult], folder: Path) -> list[Path]:
        """Throughput against streams, by MTU."""
        return goodput_figure(
            cells,
            folder,
            name="fig_mss",
            x="streams",
            by="mtu",
            panels="loss",
            panel_titles={loss: f"loss {loss}" for (loss,) in group(cells, ("loss",))},
            title="SFTP throughput against the number of streams, by MTU (bytes)",
            x_label="streams",
        )

    def claims(self, cells: Sequence[CellResult], form: str) -> list[Claim]:
        """The sentence, with loss and without."""
        note = cells_note(cells)
        lossy = next((str(loss) for (loss,) in group(cells, ("loss",)) if str(loss) not in ("0", "0%")), None)
        return [
            claim(
                "parallel streams are equivalent to a large segment on one connection (with loss)",
                f"6 x 1500 as 1 x 9000 (within {EQUAL_SHARE:.0%})",
                lambda: _equivalent(cells, lossy),
                note,
            ),
            claim(
                "without loss neither streams nor segment size matter",
                f"within {EQUAL_SHARE:.0%} (by Mathis' formula; not in the paper)",
                lambda: _equivalent(cells, "0", alone=True),
                note,
            ),
        ]


def _equivalent(cells: Sequence[CellResult], loss: str | None, *, alone: bool = False) -> Finding:
    """Six small streams against one large one; `alone`: one small stream against one large one as well."""
    means = mean_goodputs([cell for cell in cells if cell.cell.parameters["loss"] == loss], "mtu", "streams")
    if not {(SMALL, 1), (SMALL, 6), (LARGE, 1)} <= means.keys():
        raise Untestable(NOTHING)
    ratio, single = means[SMALL, 6] / means[LARGE, 1], means[SMALL, 1] / means[LARGE, 1]
    holds = abs(ratio - 1) <= EQUAL_SHARE and (not alone or abs(single - 1) <= EQUAL_SHARE)
    told = f"6 x 1500 is {ratio:.2f} of 1 x 9000; 1 x 1500 is {single:.2f} of it"
    return Finding.of(holds, told, f"loss {loss}")


if __name__ == "__main__":
    sys.exit(runner.main(DtnMss()))
