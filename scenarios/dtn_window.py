"""Throughput against the window: experiment 4 of Mohammed et al., "Net-Preflight Check" (2021)."""

from functools import partial

from results.figures.drawing import Figures
from scenarios.dtn.comparison import TOOLS, DtnComparison
from scenarios.dtn.transfer import goodput_curves
from scenarios.framework import runner
from scenarios.framework.claims import Evidence
from scenarios.framework.judging import ABOUT_PERCENT, ALIKE, LESS, Found, change, claim
from scenarios.framework.plan import CONGESTION_CONTROL, Axis, Setting, link_setting

BEST_KIB = 128
"""The window with which the paper measured most."""


def _agreement(evidence: Evidence) -> dict[str, Found]:
    """How far the probe is above iperf3 at each window."""
    return {
        f"{window} KiB": change(
            evidence, "goodput", *({"tool": tool, "window_kib": window} for tool in reversed(TOOLS))
        )
        for window in evidence.tried("window_kib")
    }


def _against_best(evidence: Evidence, *, larger: bool) -> dict[str, Found]:
    """How far the throughput with each larger, or smaller, window is from that with the paper's best one."""
    windows = [
        window for window in evidence.tried("window_kib") if window != BEST_KIB and (window > BEST_KIB) == larger
    ]
    best = {"tool": TOOLS[0], "window_kib": BEST_KIB}
    return {f"{window} KiB": change(evidence, "goodput", best, {**best, "window_kib": window}) for window in windows}


class DtnWindow(DtnComparison):
    """Throughput against the window, by file transfer (preflight) and by iperf3.

    As with `iperf3 --window`, the window is what the receiver's socket buffer allows. Here dtn2's kernel sets this
    buffer for both tools, so that both have the same path and the same limit. The expected throughput is window / round
    trip (Equation 2 of the paper) until the bottleneck is reached.

      python -m scenarios.dtn_window
      python -m scenarios.dtn_window --only window_kib=128 --seconds 10
    """

    name = "dtn_window"
    summary = "throughput against the window, by SFTP and by iperf3 (paper: netpreflight, experiment 4)"
    window = "window_kib"
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
        claim(
            "the probe's throughput is largely in agreement with iperf's",
            f"comparable: within {ABOUT_PERCENT:g} % at every window",
            _agreement,
            ALIKE,
        ),
        claim(
            "the window decides: smaller ones than the paper's best are slower",
            f"slower than with {BEST_KIB} KiB, at every smaller window",
            partial(_against_best, larger=False),
            LESS,
        ),
        claim(
            "larger windows than the paper's best are slower",
            f"slower than with {BEST_KIB} KiB, at every larger window",
            partial(_against_best, larger=True),
            LESS,
            note=lambda evidence: "the paper explains it with background traffic, which is absent here",
        ),
    )


if __name__ == "__main__":
    runner.main(DtnWindow())
