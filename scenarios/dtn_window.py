"""The window against the path, measured by file transfer and by iperf3 side by side.

Experiment 4 of Mohammed et al., "Net-Preflight Check" (2021).
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from mininet.topo import Topo

from probes.preflight import TransferSpec
from probes.transfers.iperf3 import Iperf3
from results.records import Cell, CellResult, Claim, Measurement
from scenarios import fidelity
from scenarios.dtn.transfer import KIB, DtnTransfer, goodput_figure, mean_goodputs
from scenarios.framework import runner
from scenarios.framework.claims import NOTHING, Finding, Untestable, cells_note, claim
from scenarios.framework.plan import Plan
from scenarios.framework.scenario import Context
from scenarios.framework.testbed_scenario import noting_congestion_control
from services.iperf3 import Iperf3Server
from topologies.dtn_pair import SOURCE, TARGET, DtnPair
from topologies.hosts import congestion_control
from topologies.testbed.testbed import Testbed

TOOLS = ("preflight", "iperf3")
AGREES_SHARE = 0.05


class DtnWindow(DtnTransfer):
    """The scenario; see its description."""

    name = "dtn_window"
    summary = "throughput against the window, SFTP beside iperf3 (paper: netpreflight, experiment 4)"
    description = """\
Throughput against the window, by file transfer (preflight) and by iperf3.

As with `iperf3 --window`, the window is what the receiver's socket buffer allows; here dtn2's kernel gives it to both
tools, so that they meet the same path and the same limit. The expected throughput is window / round trip (Equation 2
of the paper) until the bottleneck is reached.

  python -m scenarios.dtn_window
  python -m scenarios.dtn_window --only window_kib=128 --seconds 10"""

    path = "1Gbit,15ms,1bdp"
    programs = (*DtnTransfer.programs, "iperf3")

    def add_options(self, parser: ArgumentParser) -> None:
        """Adds the duration."""
        super().add_options(parser)
        parser.add_argument("--seconds", type=int, default=4, help="of each transfer (default %(default)s)")

    def plan(self, options: Namespace) -> Plan:
        """The quick or full plan, changed by the options."""
        full = options.form == "full"
        axes = {
            "window_kib": (8, 16, 32, 64, 128, 256, 512, 1024, 2048) if full else (8, 32, 128, 512, 2048),
            "tool": TOOLS,
        }
        settings = {"link": options.link, "seconds": options.seconds}
        return self.planned(options, axes, settings, quick_repeat=2, full_repeat=3)

    def topology(self, cell: Cell, plan: Plan) -> Topo:
        """The pair; dtn2 receives into buffers of that size."""
        return DtnPair(
            link=self.link(cell, plan),
            switched=False,
            congestion_control=plan.settings["congestion_control"],
            receive_buffer_bytes=int(cell.parameters["window_kib"]) * KIB,
        )

    def transfer(self, cell: Cell, plan: Plan) -> TransferSpec:
        """For as long as iperf3 transfers."""
        return TransferSpec(time_limit_s=float(plan.settings["seconds"]), route=False)

    def load(self, testbed: Testbed, watch: fidelity.Watch, cell: Cell, context: Context) -> Measurement:
        """One of the two tools."""
        if cell.parameters["tool"] == "preflight":
            return super().load(testbed, watch, cell, context)
        source, target = testbed.host(SOURCE), testbed.host(TARGET)
        with Iperf3Server(source, context.folder, on_listening=congestion_control.set_on_listeners):
            context.progress(0.3, "transferring")
            self.load_begins(testbed, context)
            with noting_congestion_control(watch, SOURCE):
                probe = Iperf3(seconds=float(context.plan.settings["seconds"]), warm_up_s=0, reverse=True)
                return probe.run(target, source.address(), watch=watch.check)

    def estimate_s(self, cell: Cell, plan: Plan) -> float:
        """The transfer, and starting."""
        return self.starting_s + plan.settings["seconds"] + 1

    def figures(self, cells: Sequence[CellResult], folder: Path) -> list[Path]:
        """The paper's figure 3b."""
        return goodput_figure(
            cells,
            folder,
            name="fig3b_window",
            x="window_kib",
            by="tool",
            x_label="window (KiB)",
            title="Throughput against the window, by tool",
            logarithmic=True,
        )

    def claims(self, cells: Sequence[CellResult], form: str) -> list[Claim]:
        """What the paper says of windows and of iperf."""
        note = cells_note(cells)
        return [
            claim(
                "the probe's throughput is largely in agreement with iperf's",
                f"comparable (here: within {AGREES_SHARE:.0%} at every window)",
                lambda: _agreement(cells),
                note,
            ),
            claim(
                "the window decides: there is a best one, and larger ones are slower",
                "best at 128 KiB, slower at 512 KiB and above",
                lambda: _best_window(cells),
                note,
            ),
        ]


def _means(cells: Sequence[CellResult], tool: str) -> dict[int, float]:
    return mean_goodputs([cell for cell in cells if cell.cell.parameters["tool"] == tool], "window_kib")


def _agreement(cells: Sequence[CellResult]) -> Finding:
    mine, theirs = _means(cells, "preflight"), _means(cells, "iperf3")
    ratios = {window: mine[window] / theirs[window] for window in mine if window in theirs}
    if not ratios:
        raise Untestable(NOTHING)
    worst = max(ratios, key=lambda window: abs(ratios[window] - 1))
    told = f"{ratios[worst] - 1:+.1%} at worst, at {worst:g} KiB"
    return Finding.of(abs(ratios[worst] - 1) <= AGREES_SHARE, told, f"over {len(ratios)} windows")


def _best_window(cells: Sequence[CellResult]) -> Finding:
    means = _means(cells, "preflight")
    if len(means) < 3:
        raise Untestable("fewer than three windows were measured")
    best = max(means, key=means.__getitem__)
    largest = max(means)
    holds = best < largest and means[largest] < 0.95 * means[best]
    told = f"best at {best:g} KiB ({means[best] / 1e6:.0f} Mbit/s)"
    return Finding.of(holds, told, "the paper supposes background traffic behind its drop; there is none here")


if __name__ == "__main__":
    sys.exit(runner.main(DtnWindow()))
