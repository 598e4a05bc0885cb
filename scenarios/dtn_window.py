"""Throughput against the window: experiment 4 of Mohammed et al., "Net-Preflight Check" (2021)."""

from functools import partial

from experiments.claims import ClaimCheck, Evidence, InsufficientData
from experiments.judging import ABOUT_PERCENT, ALIKE, LESS, Found, change, claim
from experiments.parameters import CONGESTION_CONTROL, Axis, Setting, at_least, link_setting
from results.figures.drawing import Figures
from scenarios.dtn.cross_traffic import CROSS, ISOLATED, traffic_axis
from scenarios.dtn.transfer import TOOLS, DtnComparison, goodput_curves

BEST_KIB = 128
"""Window with the highest throughput in the paper."""

_ALONE = (ISOLATED, None)
"""Values of `traffic` without cross traffic; runs of earlier versions do not have the parameter."""


def _agreement(evidence: Evidence, traffic: object) -> dict[str, Found]:
    """Returns the difference of the probe from iperf3 at each window."""
    _require(evidence, traffic)
    probe, iperf3 = ({"tool": tool, "traffic": traffic} for tool in TOOLS)
    return {
        f"{window} KiB": change(evidence, "goodput", {**iperf3, "window_kib": window}, {**probe, "window_kib": window})
        for window in evidence.tried("window_kib")
    }


def _against_best(evidence: Evidence, *, larger: bool, traffic: object) -> dict[str, Found]:
    """Returns the change from the paper's best window to each larger, or each smaller, one."""
    _require(evidence, traffic)
    tried = evidence.numbers("window_kib")
    windows = [window for window in tried if window != BEST_KIB and (window > BEST_KIB) == larger]
    best = {"tool": TOOLS[0], "traffic": traffic, "window_kib": BEST_KIB}
    return {f"{window} KiB": change(evidence, "goodput", best, {**best, "window_kib": window}) for window in windows}


def _require(evidence: Evidence, traffic: object) -> None:
    if traffic == CROSS and not evidence.where(traffic=CROSS).cells:
        raise InsufficientData(f"traffic={CROSS} was not measured: --full")


def _larger_are_slower(sentence: str, traffic: object) -> ClaimCheck:
    stated = f"slower than with {BEST_KIB} KiB, at every larger window"
    return claim(sentence, stated, partial(_against_best, larger=True, traffic=traffic), LESS)


class DtnWindow(DtnComparison):
    """Throughput against the window, by file transfer (preflight) and by iperf3.

    As with `iperf3 --window`, the window is what the receiver's socket buffer allows. Here dtn2's kernel sets this
    buffer for both tools, so that both have the same path and the same limit. The expected throughput is window / round
    trip (Equation 2 of the paper) until the bottleneck is reached. The paper explains that its larger windows were
    slower with other traffic; so the full form measures beside four TCP connections of other hosts too.

      flightpath run dtn_window
      flightpath run dtn_window --only window_kib=128 --seconds 10
      flightpath run dtn_window --full --only traffic=cross
    """

    name = "dtn_window"
    summary = "throughput against the window, by SFTP and by iperf3 (paper: netpreflight, experiment 4)"
    window = "window_kib"
    axes = (
        Axis("window_kib", (8, 32, 128, 512, 2048), (8, 16, 32, 64, 128, 256, 512, 1024, 2048)),
        Axis("tool", TOOLS),
        traffic_axis(quick=[ISOLATED]),
    )
    options = (
        CONGESTION_CONTROL,
        link_setting("1Gbit,15ms,1bdp", "the bottleneck"),
        Setting("--seconds", "length of each transfer", 4, read=at_least("--seconds", 1)),
    )
    figures = Figures(
        fig3b_window=goodput_curves(
            x="window_kib",
            by="tool",
            panels="traffic",
            x_label="window (KiB)",
            title="Throughput against the window, by tool",
            logarithmic=True,
        ),
    )
    claims = (
        claim(
            "the probe's throughput is largely in agreement with iperf's",
            f"comparable: within {ABOUT_PERCENT:g} % at every window",
            partial(_agreement, traffic=_ALONE),
            ALIKE,
        ),
        claim(
            "beside other traffic the probe's throughput is largely in agreement with iperf's",
            f"comparable: within {ABOUT_PERCENT:g} % at every window",
            partial(_agreement, traffic=CROSS),
            ALIKE,
        ),
        claim(
            "the window decides: smaller ones than the paper's best are slower",
            f"slower than with {BEST_KIB} KiB, at every smaller window",
            partial(_against_best, larger=False, traffic=_ALONE),
            LESS,
        ),
        _larger_are_slower("larger windows than the paper's best are slower", _ALONE),
        _larger_are_slower("beside other traffic, larger windows than the paper's best are slower", CROSS),
    )


if __name__ == "__main__":
    from scenarios.command import runner

    runner.main(DtnWindow())
