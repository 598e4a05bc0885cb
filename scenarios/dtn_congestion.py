"""Throughput with several congestion controls: experiment 2 of Mohammed et al., "Net-Preflight Check" (2021)."""

import itertools

from experiments.claims import Evidence
from experiments.judging import ABOUT_PERCENT, ALIKE, LESS, MORE, Found, Point, change, claim, steps
from experiments.parameters import Axis
from results.figures.drawing import Figures
from scenarios.dtn.transfer import DtnTransfer, goodput_curves

ALGORITHMS = ("reno", "htcp", "bic", "cubic")
SMALL_KIB, LARGE_KIB = (512, 1024), (2048, 3072)
"""Buffers with which the paper saw differences between algorithms and file sizes, and with which it saw few."""
ORDER = (("bic", "htcp"), ("bic", "cubic"), ("htcp", "reno"), ("cubic", "reno"))
"""Pairs of algorithms, the better one first, as the paper ranks them."""


def _ranking(evidence: Evidence) -> dict[str, Found]:
    """Returns the lead of each algorithm over those that rank below it, at each size and buffer."""
    return {
        f"{better} over {other}{text}": _lead(evidence, better, other, point)
        for text, point in _cases(evidence)
        for better, other in ORDER
    }


def _pairs(evidence: Evidence) -> dict[str, Found]:
    """Returns the difference of each two algorithms at each size with the paper's larger buffers."""
    return {
        f"{second} over {first}{text}": _lead(evidence, second, first, point)
        for text, point in _cases(evidence)
        if point["buffer_kib"] in LARGE_KIB
        for first, second in itertools.combinations(ALGORITHMS, 2)
    }


def _larger_files(evidence: Evidence) -> dict[str, Found]:
    """Returns the change of the goodput with each larger file, with each algorithm and each of the smaller buffers."""
    return {
        name: step
        for algorithm in ALGORITHMS
        for buffer in SMALL_KIB
        for name, step in steps(evidence, "goodput", "size_mb", congestion_control=algorithm, buffer_kib=buffer).items()
    }


def _lead(evidence: Evidence, better: str, other: str, point: Point) -> Found:
    before, after = ({"congestion_control": name, **point} for name in (other, better))
    return change(evidence, "goodput", before, after)


def _cases(evidence: Evidence) -> list[tuple[str, Point]]:
    """Returns each size with each buffer, as text and as parameters."""
    return [
        (f", {size} MB, {buffer} KiB", {"size_mb": size, "buffer_kib": buffer})
        for size in evidence.tried("size_mb")
        for buffer in evidence.tried("buffer_kib")
    ]


class DtnCongestion(DtnTransfer):
    """Throughput between two data transfer nodes by file transfer, by congestion control, buffer and file size.

    Like dtn_buffers, but dtn1 sends with reno, htcp (Hamilton), bic and cubic. An algorithm that this machine neither
    has nor can load is skipped. On a path without loss, a buffer below the bandwidth-delay product is the limit,
    whatever the algorithm; `--link 1Gbit,15ms,1bdp,0.01%` adds loss, which shows the differences between them.

      flightpath run dtn_congestion
      flightpath run dtn_congestion --algorithms cubic,bbr --link 1Gbit,15ms,1bdp,0.01%
    """

    name = "dtn_congestion"
    summary = "SFTP throughput with reno, htcp, bic and cubic (paper: netpreflight, experiment 2)"
    axes = (
        Axis("congestion_control", ALGORITHMS, option="--algorithms", help="congestion controls of dtn1"),
        Axis("size_mb", (20, 100), (5, 20, 40, 60, 80, 100)),
        Axis("buffer_kib", (512, 3072), (512, 1024, 2048, 3072)),
    )
    figures = Figures(
        fig2_congestion_control=goodput_curves(
            x="size_mb",
            by="congestion_control",
            panels="buffer_kib",
            panel_title="buffer {} KiB",
            title="SFTP throughput by congestion control",
            x_label="file size (MB)",
        ),
    )
    claims = (
        claim(
            "bic performs best in all cases, followed by htcp and cubic, then reno",
            "bic > htcp, cubic > reno, at every file and buffer size",
            _ranking,
            MORE,
        ),
        claim(
            "with the larger buffers the algorithms are alike",
            f"within {ABOUT_PERCENT:g} %, with 2048 and 3072 KiB, at every file size",
            _pairs,
            ALIKE,
        ),
        claim(
            "with the smaller buffers a larger file is slower",
            "less with each step, with 512 and 1024 KiB and every algorithm",
            _larger_files,
            LESS,
        ),
    )


if __name__ == "__main__":
    from scenarios.command import runner

    runner.main(DtnCongestion())
