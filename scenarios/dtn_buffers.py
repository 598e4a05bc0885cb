"""Throughput by file transfer against the receiver's socket buffer and the size of the file.

Experiment 1 of Mohammed et al., "Net-Preflight Check" (2021).
"""

import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from results.records import CellResult, Claim
from results.statistics.estimates import group, usable
from scenarios.dtn.transfer import BufferedTransfer, goodput_figure, mean_goodputs
from scenarios.framework import runner
from scenarios.framework.claims import NOTHING, Finding, Untestable, cells_note, claim
from scenarios.framework.plan import Plan


class DtnBuffers(BufferedTransfer):
    """The scenario; see its description."""

    name = "dtn_buffers"
    summary = "SFTP throughput against socket buffer and file size (paper: netpreflight, experiment 1)"
    description = """\
Throughput between two data transfer nodes by file transfer, against socket buffer and file size.

dtn2 downloads a file from dtn1 by SFTP over 10 Gb/s and a round trip of 30 ms. A receiver offers no larger window than
its buffer, so a small one limits a long path (Equation 2 of the paper: window / round trip); a small file ends before
the window has grown.

  python -m scenarios.dtn_buffers
  python -m scenarios.dtn_buffers --only buffer_kib=4096 --link 1Gbit,50ms"""

    def plan(self, options: Namespace) -> Plan:
        """The quick or full plan, changed by the options."""
        full = options.form == "full"
        axes = {
            "size_mb": (5, 10, 20, 40, 60, 80, 100) if full else (5, 20, 100),
            "buffer_kib": (512, 1024, 2048, 3072, 4096) if full else (512, 1024, 2048, 4096),
        }
        return self.planned(options, axes, {"link": options.link}, quick_repeat=3, full_repeat=5)

    def figures(self, cells: Sequence[CellResult], folder: Path) -> list[Path]:
        """The paper's figures 2 and 4, of this kernel's cubic."""
        words = {"x_label": "socket buffer (KiB)", "title": "SFTP throughput against socket buffer, by file size (MB)"}
        return goodput_figure(cells, folder, name="fig_buffers", x="buffer_kib", by="size_mb", **words)

    def claims(self, cells: Sequence[CellResult], form: str) -> list[Claim]:
        """The paper's two sentences on buffers and sizes."""
        note = cells_note(cells)
        return [
            claim(
                "an increase of the buffer increases the throughput",
                "increase, at every file size",
                lambda: _moves(cells, "buffer_kib", "size_mb", upwards=True),
                note,
            ),
            claim(
                "an increase of the file size decreases the throughput",
                "decrease, at every buffer size",
                lambda: _moves(cells, "size_mb", "buffer_kib", upwards=False),
                note,
            ),
        ]


def _moves(cells: Sequence[CellResult], along: str, at: str, *, upwards: bool) -> Finding:
    """Whether the mean goodput rises (falls) from the least to the largest value of a parameter, at each of another."""
    changes = []
    for (_,), members in group(usable(cells), (at,)).items():
        means = list(mean_goodputs(members, along).values())
        if len(means) > 1:
            changes.append(means[-1] / means[0])
    if not changes:
        raise Untestable(NOTHING)
    holds = all(change > 1.05 if upwards else change < 0.95 for change in changes)
    factors = ", ".join(f"{change:.2f}" for change in changes)
    return Finding.of(holds, f"times {factors}", f"from the least to the largest, at each {at}")


if __name__ == "__main__":
    sys.exit(runner.main(DtnBuffers()))
