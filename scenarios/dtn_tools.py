"""The probe against iperf3 by file size and buffer: figure 4 of Mohammed et al., "Net-Preflight Check" (2021)."""

from experiments.claims import Evidence
from experiments.judging import ABOUT_PERCENT, ALIKE, MORE, Found, change, claim, steps
from experiments.parameters import Axis
from experiments.plan import Plan
from flightpath.overrides import override
from probes.preflight import TransferSpec
from results.figures.drawing import Figures
from results.records import Cell
from scenarios.dtn.transfer import MB, TOOLS, DtnComparison, goodput_curves


def _agreement(evidence: Evidence) -> dict[str, Found]:
    """Returns the difference of the probe from iperf3 at each file size and buffer."""
    probe, iperf3 = TOOLS
    return {
        f"{size} MB, {buffer} KiB": change(
            evidence, "goodput", *({"tool": tool, "size_mb": size, "buffer_kib": buffer} for tool in (iperf3, probe))
        )
        for size in evidence.tried("size_mb")
        for buffer in evidence.tried("buffer_kib")
    }


def _larger_buffers(evidence: Evidence) -> dict[str, Found]:
    """Returns the change of the goodput with each larger buffer, for each tool and file size."""
    return {
        name: step
        for tool in TOOLS
        for size in evidence.tried("size_mb")
        for name, step in steps(evidence, "goodput", "buffer_kib", tool=tool, size_mb=size).items()
    }


class DtnTools(DtnComparison):
    """Does a file transfer (preflight) measure what iperf3 measures, by file size and socket buffer?

    Each tool transfers the same number of bytes over 10 Gb/s and a round trip of 30 ms, slow start included. dtn2's
    kernel sets the receiver's buffer for both, so that both have the same limit.

      flightpath run dtn_tools
      flightpath run dtn_tools --only size_mb=100 --link 1Gbit,15ms
    """

    name = "dtn_tools"
    summary = "SFTP against iperf3 by file size and socket buffer (paper: netpreflight, figure 4)"
    repeats = (3, 5)
    window = "buffer_kib"
    axes = (
        Axis("size_mb", (20, 100), (20, 40, 60, 80, 100)),
        Axis("buffer_kib", (512, 2048), (512, 1024, 2048, 3072, 4096)),
        Axis("tool", TOOLS),
    )
    figures = Figures(
        fig4_tools=goodput_curves(
            x="size_mb",
            by="tool",
            panels="buffer_kib",
            panel_title="buffer {} KiB",
            x_label="file size (MB)",
            title="Throughput against file size, by tool",
        ),
    )
    claims = (
        claim(
            "the probe's measurements are largely in agreement with iperf's",
            f"comparable: within {ABOUT_PERCENT:g} % at every file and buffer size",
            _agreement,
            ALIKE,
        ),
        claim(
            "with both tools an increase of the buffer increases the throughput",
            "more with each step, at every file size",
            _larger_buffers,
            MORE,
        ),
    )

    @override
    def transfer(self, cell: Cell, plan: Plan) -> TransferSpec:
        return TransferSpec(size_bytes=int(cell.parameters["size_mb"]) * MB, route=False, interval_s=0.1)


if __name__ == "__main__":
    from scenarios.command import runner

    runner.main(DtnTools())
