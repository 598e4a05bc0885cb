"""TCP Vegas' thresholds: the reason, which the paper did not find, why it stays behind in a tunnel over four paths.

The experiment and its claims are our own; the theory is that of Brakmo and Peterson (TCP Vegas, IEEE JSAC 13(8), 1995).
"""

from collections.abc import Mapping
from pathlib import Path

import congestion
from experiments.claims import ClaimCheck, Evidence
from experiments.figures import metric_bars
from experiments.judging import LESS, MORE, Found, Range, change, claim, level
from experiments.parameters import Axis
from experiments.plan import Plan
from experiments.scenario import RunningCell
from flightpath.clock import Clock
from flightpath.overrides import override
from results.figures.charts import looks_of
from results.figures.drawing import Figures
from results.records import Cell, Measurement, Metric
from scenarios.multipath.figures import only
from scenarios.multipath.multipath import Configuration, MultipathScenario, transfer_settings
from topologies.links.spec import LinkSpec
from topologies.links.texts import short_link

SLOW, FAST, ONE = "4x10Mbit", "4x100Mbit", "1x400Mbit"
PATHS: Mapping[str, tuple[int, str]] = {
    SLOW: (4, "10Mbit,10ms,1000p"),
    FAST: (4, "100Mbit,1ms,1000p"),
    ONE: (1, "400Mbit,1ms,1000p"),
}
"""Number of paths, and the link of each. The first is the second with all times multiplied by ten."""

_EXAMPLES = Path(congestion.__file__).parent / "examples"
FILES = {name: str(_EXAMPLES / f"{name}.bpf.c") for name in ("vegas_x4", "vegas_x16")}
ALGORITHMS = ("cubic", "vegas", *FILES)
ALL, LITTLE = 95.0, 75.0
"""Shares of the paths' sum, in per cent, that count as all and as little of it."""


def _gets(sentence: str, algorithm: str, paths: str, *, least: float = 0.0, most: float = float("inf")) -> ClaimCheck:
    """Makes the claim that an algorithm gets at least, or at most, a percentage of the sum."""

    def share(evidence: Evidence) -> dict[str, Found]:
        return {"": level(evidence, "share_of_sum", paths=paths, congestion_control=algorithm)}

    bound = f"at least {least:g}" if least else f"at most {most:g}"
    # What keeps Vegas behind is the delay that processors add, so that in virtual time all of it is full.
    return claim(sentence, f"{bound} % of the sum", share, Range(least, most), form="{:.0f} %", needs_real_clock=True)


def _compared(evidence: Evidence, metric: str, *pairs: tuple[str, str]) -> dict[str, Found]:
    """Returns the change of a metric over the fast paths from one algorithm to another."""
    return {
        f"{first} to {second}": change(
            evidence, metric, *({"paths": FAST, "congestion_control": name} for name in (first, second))
        )
        for first, second in pairs
    }


_RTT_GROWTH = "Round trip above the links' delay: what Vegas takes for a queue"
_BARS = metric_bars(
    {
        "share_of_sum": ("What one connection gets of all paths", "share of the sum (%)", 1.0),
        "rtt_growth": (_RTT_GROWTH, "ms", 1.0),
    },
    groups="congestion_control",
    by="paths",
    looks=looks_of(PATHS),
    x_label="congestion control",
)


class VegasThresholds(MultipathScenario):
    """One TCP connection by iperf3, in a tunnel (MPT-GRE) over four paths, and without it on one link of their sum.

    Vegas increases its window while fewer than alpha = 2 packets seem to be queued, and decreases it above beta = 4. It
    estimates the queue from the growth of the round trip alone. Two packets are 60 us at 400 Mbit/s, and 600 us at 40
    Mbit/s; hosts, a tunnel in user space and trains of packets add some hundred us to a loaded round trip at any rate.

      4x10Mbit             four paths of 10 ms: the network of the next line with all times multiplied by ten
      4x100Mbit            four paths of 1 ms
      1x400Mbit            one link of 1 ms, no tunnel
      vegas_x4, vegas_x16  Vegas with alpha, beta and gamma 4 and 16 times as large (congestion/examples)

      flightpath run vegas_thresholds
      flightpath run vegas_thresholds --only congestion_control=vegas --repeat 5
    """

    name = "vegas_thresholds"
    summary = "why TCP Vegas stays behind in a tunnel over four fast paths, and what helps"
    clock = Clock.REAL
    headlines = ("goodput", "share_of_sum", "rtt", "rtt_growth", "idle_cpu")
    axes = (Axis("paths", tuple(PATHS)), Axis("congestion_control", ALGORITHMS))
    options = tuple(transfer_settings((4, 10)))
    figures = Figures(
        share_of_sum=_BARS["share_of_sum"],
        rtt_growth=only("paths", (FAST, ONE), only("congestion_control", ("vegas", *FILES), _BARS["rtt_growth"])),
    )
    claims = (
        _gets("Vegas in a tunnel over four paths of 100 Mbit/s stays behind", "vegas", FAST, most=LITTLE),
        _gets("one link of the same sum, without a tunnel, is not full either", "vegas", ONE, most=LITTLE),
        _gets("the same tunnel with all times ten times as long is full", "vegas", SLOW, least=ALL),
        _gets("the tunnel is also full with thresholds 16 times as wide", "vegas_x16", FAST, least=ALL),
        claim(
            "the wider the thresholds, the more Vegas gets",
            "vegas < x4 < x16",
            lambda evidence: _compared(evidence, "goodput", ("vegas", "vegas_x4"), ("vegas_x4", "vegas_x16")),
            MORE,
            needs_real_clock=True,
        ),
        claim(
            "with wide thresholds the queue stays shorter than cubic's",
            "shorter round trip",
            lambda evidence: _compared(evidence, "rtt", ("cubic", "vegas_x16")),
            LESS,
        ),
    )

    @override
    def algorithm_source(self, algorithm: str, plan: Plan) -> str:
        return FILES.get(algorithm, algorithm)

    @override
    def configuration(self, cell: Cell) -> Configuration:
        return Configuration.named("baseline4" if cell.parameters["paths"] == ONE else "tun4_path4")

    @override
    def links(self, cell: Cell, plan: Plan) -> list[LinkSpec]:
        count, link = PATHS[str(cell.parameters["paths"])]
        return [short_link(link)] * count

    @override
    def warm_up_s(self, cell: Cell) -> float:
        # Until the queue that slow start left has drained, by a packet per round trip.
        return 20.0 if cell.parameters["paths"] == SLOW else 3.0

    @override
    def load(self, run: RunningCell) -> Measurement:
        measured = super().load(run)
        growth_ms = measured.metrics["rtt"].value - 2e3 * self.links(run.cell, run.plan)[0].delay_s
        share = self.share_of_sum(measured, run)
        return measured.merged(Measurement({"share_of_sum": share, "rtt_growth": Metric(growth_ms, "ms")}))


if __name__ == "__main__":
    from scenarios.command import runner

    runner.main(VegasThresholds())
