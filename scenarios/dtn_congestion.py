"""Throughput with several congestion controls: experiment 2 of Mohammed et al., "Net-Preflight Check" (2021)."""

from results.figures.drawing import Figures
from scenarios.dtn.transfer import DtnTransfer, goodput_curves
from scenarios.framework import runner
from scenarios.framework.claims import ClaimCheck, Evidence, Outcome, reproduced_if
from scenarios.framework.plan import Axis

ALGORITHMS = ("reno", "htcp", "bic", "cubic")
INSENSITIVE_SHARE = 0.05
"""What "less effect" may be: the best and the worst algorithm within 5 % of each other."""


def _ranking(evidence: Evidence) -> Outcome:
    means = evidence.means("goodput", "congestion_control", needed=ALGORITHMS)
    ranked = sorted(means, key=means.__getitem__, reverse=True)
    lead = means[ranked[0]] / means[ranked[1]] - 1
    measured = " > ".join(f"{name} {means[name] / 1e6:.0f}" for name in ranked)
    holds = ranked[0] == "bic" and ranked[-1] == "reno" and lead > INSENSITIVE_SHARE / 2
    why = f"means over all sizes and buffers; a lead of less than {INSENSITIVE_SHARE / 2:.1%} does not count"
    return reproduced_if(holds, f"{measured} Mbit/s", why)


def _insensitive(evidence: Evidence) -> Outcome:
    buffer, largest = evidence.largest("buffer_kib")
    means = largest.means("goodput", "congestion_control", least=2).values()
    spread = max(means) / min(means) - 1
    return reproduced_if(spread <= INSENSITIVE_SHARE, f"{spread:.1%} between best and worst", f"buffer {buffer} KiB")


class DtnCongestion(DtnTransfer):
    """Throughput between two data transfer nodes by file transfer, by congestion control, buffer and file size.

    Like dtn_buffers, but dtn1 sends with reno, htcp (Hamilton), bic and cubic. An algorithm that this machine neither
    has nor can load is skipped. On a path without loss, a buffer below the bandwidth-delay product is the limit,
    whatever the algorithm; `--link 1Gbit,15ms,1bdp,0.01%` adds loss, which shows the differences between them.

      python -m scenarios.dtn_congestion
      python -m scenarios.dtn_congestion --algorithms cubic,bbr --link 1Gbit,15ms,1bdp,0.01%
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
        ClaimCheck(
            "bic performs best in all cases, followed by htcp and cubic, then reno",
            "bic > htcp, cubic > reno",
            _ranking,
        ),
        ClaimCheck(
            "with the largest buffer the algorithms differ little", f"within {INSENSITIVE_SHARE:.0%}", _insensitive
        ),
    )


if __name__ == "__main__":
    runner.main(DtnCongestion())
