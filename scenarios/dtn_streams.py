"""Throughput of parallel transfers and cross traffic: experiment 5 of Mohammed et al., "Net-Preflight Check" (2021)."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from flightpath.hosts import running
from flightpath.overrides import override
from results.figures.drawing import Figures
from results.records import Cell, Measurement
from scenarios.dtn.transfer import DtnTransfer, goodput_curves
from scenarios.framework import runner
from scenarios.framework.claims import ClaimCheck, Evidence, Outcome, reproduced_if
from scenarios.framework.plan import CONGESTION_CONTROL, Axis, Plan, link_setting
from scenarios.framework.scenario import RunningCell
from services.iperf3 import Iperf3Server

CROSS_STREAMS, CROSS_LIMIT_S = 4, 600
SAME_SHARE = 0.1
"""What "no significant change" may be: within 10 %."""


def _ratio(evidence: Evidence, few: int, many: int, holds: Callable[[float], bool]) -> Outcome:
    """The goodput of many streams over that of few, for the largest file beside cross traffic, as in the paper."""
    size, largest = evidence.where(traffic="cross").largest("size_mb")
    ratio = largest.where(streams=many).mean("goodput") / largest.where(streams=few).mean("goodput")
    why = f"{many} streams against {few}; files of {size} MB, cross traffic"
    return reproduced_if(holds(ratio), f"{ratio:.2f} times", why)


def _sizes(evidence: Evidence) -> Outcome:
    means = list(evidence.where(traffic="cross").means("goodput", "size_mb", least=2).values())
    ratio = means[-1] / means[0]
    return reproduced_if(ratio > 1, f"{ratio:.2f} times", "largest file against smallest")


class DtnStreams(DtnTransfer):
    """Aggregated throughput of 1 to 8 parallel file transfers, on an isolated path and on one with cross traffic.

    Each stream is an SSH connection of its own with a buffer of 2048 KiB; together they transfer one file. As on the
    public network of the paper, the cross traffic is four TCP connections of other hosts over the same bottleneck.

      python -m scenarios.dtn_streams
      python -m scenarios.dtn_streams --only traffic=cross --only size_mb=500
    """

    name = "dtn_streams"
    summary = (
        "aggregated SFTP throughput of 1 to 8 streams, alone and beside cross traffic "
        "(paper: netpreflight, experiment 5)"
    )
    programs = (*DtnTransfer.programs, "iperf3")
    repeats = (2, 5)
    axes = (
        Axis("streams", (1, 2, 4, 6, 8)),
        Axis("size_mb", (100, 500), (100, 200, 500, 1000, 2000)),
        Axis("traffic", ("isolated", "cross")),
    )
    options = (CONGESTION_CONTROL, link_setting("1Gbit,15ms,1bdp", "the bottleneck"))
    buffer_kib = 2048
    figures = Figures(
        fig5_streams=goodput_curves(
            x="streams",
            by="size_mb",
            panels="traffic",
            title="Aggregated SFTP throughput against the number of streams, by file size (MB)",
            x_label="streams",
        ),
    )
    claims = (
        ClaimCheck(
            "a change is noticed between one stream and two",
            "increase",
            partial(_ratio, few=1, many=2, holds=lambda ratio: ratio > 1 + SAME_SHARE),
        ),
        ClaimCheck(
            "between four, six and eight streams there is no significant change",
            f"within {SAME_SHARE:.0%}",
            partial(_ratio, few=4, many=8, holds=lambda ratio: abs(ratio - 1) <= SAME_SHARE),
        ),
        ClaimCheck("larger files give a larger aggregated throughput", "increase", _sizes),
    )

    @override
    def pair_options(self, cell: Cell) -> Mapping[str, Any]:
        return {"cross_traffic": int(cell.parameters["traffic"] == "cross")}

    @override
    def load(self, run: RunningCell) -> Measurement:
        if run.cell.parameters["traffic"] == "isolated":
            return super().load(run)
        sender, receiver = run.testbed.host("x1"), run.testbed.host("y1")
        argv = f"iperf3 --client {receiver.address()} --time {CROSS_LIMIT_S} --parallel {CROSS_STREAMS}".split()
        log = str(run.folder / "cross_traffic.log")
        with Iperf3Server(receiver, run.folder), running(sender, [*argv, "--logfile", log]):
            return super().load(run)

    @override
    def load_s(self, cell: Cell, plan: Plan) -> float:
        slower = 1 if cell.parameters["traffic"] == "isolated" else 3
        return 2 + slower * int(cell.parameters["size_mb"]) / 100


if __name__ == "__main__":
    runner.main(DtnStreams())
