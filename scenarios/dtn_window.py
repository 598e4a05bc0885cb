"""Throughput against the window: experiment 4 of Mohammed et al., "Net-Preflight Check" (2021)."""

from collections.abc import Mapping
from typing import Any

from flightpath.overrides import override
from probes.transfers.iperf3 import Iperf3
from results.figures.drawing import Figures
from results.records import Cell, Measurement
from scenarios.dtn.transfer import KIB, DtnTransfer, goodput_curves
from scenarios.framework import runner
from scenarios.framework.claims import ClaimCheck, Evidence, InsufficientData, Outcome, reproduced_if
from scenarios.framework.plan import CONGESTION_CONTROL, Axis, Setting, link_setting
from scenarios.framework.scenario import RunningCell
from services.iperf3 import Iperf3Server
from topologies.dtn_pair import SOURCE, TARGET
from topologies.hosts import congestion_control

TOOLS = ("preflight", "iperf3")
AGREES_SHARE = 0.05


def _agreement(evidence: Evidence) -> Outcome:
    own, iperf3 = (evidence.where(tool=tool).means("goodput", "window_kib") for tool in TOOLS)
    ratios = {window: own[window] / iperf3[window] for window in own if window in iperf3}
    if not ratios:
        raise InsufficientData("no window was measured by both tools")
    worst = max(ratios, key=lambda window: abs(ratios[window] - 1))
    difference = ratios[worst] - 1
    measured = f"{difference:+.1%} at worst, at {worst:g} KiB"
    return reproduced_if(abs(difference) <= AGREES_SHARE, measured, f"over {len(ratios)} windows")


def _best_window(evidence: Evidence) -> Outcome:
    means = evidence.where(tool="preflight").means("goodput", "window_kib", least=3)
    best, largest = max(means, key=means.__getitem__), max(means)
    holds = best < largest and means[largest] < 0.95 * means[best]
    measured = f"best at {best:g} KiB ({means[best] / 1e6:.0f} Mbit/s)"
    why = "the paper explains its drop with background traffic, which is absent here"
    return reproduced_if(holds, measured, why)


class DtnWindow(DtnTransfer):
    """Throughput against the window, by file transfer (preflight) and by iperf3.

    As with `iperf3 --window`, the window is what the receiver's socket buffer allows. Here dtn2's kernel sets this
    buffer for both tools, so that both have the same path and the same limit. The expected throughput is window / round
    trip (Equation 2 of the paper) until the bottleneck is reached.

      python -m scenarios.dtn_window
      python -m scenarios.dtn_window --only window_kib=128 --seconds 10
    """

    name = "dtn_window"
    summary = "throughput against the window, by SFTP and by iperf3 (paper: netpreflight, experiment 4)"
    programs = (*DtnTransfer.programs, "iperf3")
    axes = (
        Axis("window_kib", (8, 32, 128, 512, 2048), (8, 16, 32, 64, 128, 256, 512, 1024, 2048)),
        Axis("tool", TOOLS),
    )
    options = (
        CONGESTION_CONTROL,
        link_setting("1Gbit,15ms,1bdp", "the bottleneck"),
        Setting("--seconds", "length of each transfer", 4),
    )
    figures = Figures(
        fig3b_window=goodput_curves(
            x="window_kib",
            by="tool",
            x_label="window (KiB)",
            title="Throughput against the window, by tool",
            logarithmic=True,
        ),
    )
    claims = (
        ClaimCheck(
            "the probe's throughput is largely in agreement with iperf's",
            f"comparable (here: within {AGREES_SHARE:.0%} at every window)",
            _agreement,
        ),
        ClaimCheck(
            "the window decides: there is a best one, and larger ones are slower",
            "best at 128 KiB, slower at 512 KiB and above",
            _best_window,
        ),
    )

    @override
    def pair_options(self, cell: Cell) -> Mapping[str, Any]:
        return {**super().pair_options(cell), "receive_buffer_bytes": int(cell.parameters["window_kib"]) * KIB}

    @override
    def load(self, run: RunningCell) -> Measurement:
        if run.cell.parameters["tool"] == "preflight":
            return super().load(run)
        source, target = run.testbed.host(SOURCE), run.testbed.host(TARGET)
        with Iperf3Server(source, run.folder, on_listening=congestion_control.set_on_listeners):
            run.progress(0.3, "transferring")
            run.watch.start_events()
            with run.watch.recording_congestion_control(SOURCE):
                probe = Iperf3(seconds=float(run.plan.settings["seconds"]), warm_up_s=0, reverse=True)
                return probe.run(target, source.address(), watch=run.watch.check)


if __name__ == "__main__":
    runner.main(DtnWindow())
