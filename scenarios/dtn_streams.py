"""Aggregated throughput of parallel file transfers, alone and beside the traffic of others.

Experiment 5 of Mohammed et al., "Net-Preflight Check" (2021).
"""

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mininet.topo import Topo

from probes.preflight import TransferSpec
from results.records import Cell, CellResult, Claim, Measurement
from scenarios import fidelity
from scenarios.dtn.transfer import KIB, MB, DtnTransfer, goodput_figure, mean_goodputs, of_largest
from scenarios.framework import runner
from scenarios.framework.claims import NOTHING, Finding, Untestable, cells_note, claim
from scenarios.framework.plan import Plan
from scenarios.framework.scenario import Context
from services.iperf3 import Iperf3Server
from topologies.dtn_pair import DtnPair
from topologies.testbed.testbed import Testbed

STREAMS = (1, 2, 4, 6, 8)
OTHERS_STREAMS, OTHERS_LIMIT_S = 4, 600
SAME_SHARE = 0.1
"""No "significant change": within 10 %."""


class DtnStreams(DtnTransfer):
    """The scenario; see its description."""

    name = "dtn_streams"
    summary = "aggregated SFTP throughput of 1 to 8 streams, alone and among others (paper: netpreflight, experiment 5)"
    description = """\
Aggregated throughput of 1, 2, 4, 6 and 8 parallel file transfers, on an isolated path and on one with cross traffic.

Each stream is an SSH connection of its own with a buffer of 2048 KiB, and they share the file size between them. The
cross traffic, as on the public network of the paper, is four TCP connections of other hosts over the same bottleneck.

  python -m scenarios.dtn_streams
  python -m scenarios.dtn_streams --only traffic=cross --only size_mb=500"""

    path = "1Gbit,15ms,1bdp"
    programs = (*DtnTransfer.programs, "iperf3")

    def plan(self, options: Namespace) -> Plan:
        """The quick or full plan, changed by the options."""
        full = options.form == "full"
        axes = {
            "streams": STREAMS,
            "size_mb": (100, 200, 500, 1000, 2000) if full else (100, 500),
            "traffic": ("isolated", "cross"),
        }
        return self.planned(options, axes, {"link": options.link}, quick_repeat=2, full_repeat=5)

    def topology(self, cell: Cell, plan: Plan) -> Topo:
        """The pair with switches, and a pair of others if there is cross traffic."""
        return DtnPair(
            link=self.link(cell, plan),
            cross_traffic=int(cell.parameters["traffic"] == "cross"),
            congestion_control=plan.settings["congestion_control"],
        )

    def transfer(self, cell: Cell, plan: Plan) -> TransferSpec:
        """The file, shared between the streams."""
        return TransferSpec(
            size_bytes=int(cell.parameters["size_mb"]) * MB,
            streams=int(cell.parameters["streams"]),
            receive_buffer_bytes=2048 * KIB,
            route=False,
            interval_s=0.1,
        )

    def load(self, testbed: Testbed, watch: fidelity.Watch, cell: Cell, context: Context) -> Measurement:
        """The streams, with or without others beside them."""
        if cell.parameters["traffic"] == "isolated":
            return super().load(testbed, watch, cell, context)
        with _others(testbed, context.folder):
            return super().load(testbed, watch, cell, context)

    def estimate_s(self, cell: Cell, plan: Plan) -> float:
        """The file at the bottleneck's rate, or at a part of it, and starting."""
        share = 1 if cell.parameters["traffic"] == "isolated" else 3
        return self.starting_s + 2 + share * int(cell.parameters["size_mb"]) / 100

    def figures(self, cells: Sequence[CellResult], folder: Path) -> list[Path]:
        """The paper's figure 5."""
        return goodput_figure(
            cells,
            folder,
            name="fig5_streams",
            x="streams",
            by="size_mb",
            panels="traffic",
            title="Aggregated SFTP throughput against the number of streams, by file size (MB)",
            x_label="streams",
        )

    def claims(self, cells: Sequence[CellResult], form: str) -> list[Claim]:
        """What the paper says of streams and of sizes."""
        note = cells_note(cells)
        return [
            claim(
                "a change is noticed between one stream and two",
                "increase",
                lambda: _ratio(cells, 1, 2, lambda ratio: ratio > 1 + SAME_SHARE),
                note,
            ),
            claim(
                "between four, six and eight streams there is no significant change",
                f"within {SAME_SHARE:.0%}",
                lambda: _ratio(cells, 4, 8, lambda ratio: abs(ratio - 1) <= SAME_SHARE),
                note,
            ),
            claim("larger files give a larger aggregated throughput", "increase", lambda: _sizes(cells), note),
        ]


@contextmanager
def _others(testbed: Testbed, folder: Path) -> Iterator[None]:
    """x1 sends to y1 for the time of a block."""
    sender, receiver = testbed.host("x1"), testbed.host("y1")
    with Iperf3Server(receiver, folder):
        process = sender.popen(
            [
                *("iperf3", "--client", receiver.address(), "--time", str(OTHERS_LIMIT_S)),
                *("--parallel", str(OTHERS_STREAMS), "--logfile", str(folder / "others.log")),
            ]
        )
        try:
            yield
        finally:
            process.kill()
            process.wait()


def _ratio(cells: Sequence[CellResult], few: int, many: int, holds: Callable[[float], bool]) -> Finding:
    """Of the largest file on the path with cross traffic, as the paper's: more streams over fewer."""
    size, members = of_largest(_crossed(cells), "size_mb")
    means = mean_goodputs(members, "streams")
    if few not in means or many not in means:
        raise Untestable(NOTHING)
    ratio = means[many] / means[few]
    why = f"{many} streams against {few}; files of {size} MB, cross traffic"
    return Finding.of(holds(ratio), f"{ratio:.2f} times", why)


def _sizes(cells: Sequence[CellResult]) -> Finding:
    values = list(mean_goodputs(_crossed(cells), "size_mb").values())
    if len(values) < 2:
        raise Untestable(NOTHING)
    return Finding.of(values[-1] > values[0], f"{values[-1] / values[0]:.2f} times", "largest against smallest file")


def _crossed(cells: Sequence[CellResult]) -> list[CellResult]:
    return [cell for cell in cells if cell.cell.parameters["traffic"] == "cross"]


if __name__ == "__main__":
    sys.exit(runner.main(DtnStreams()))
