"""Why TCP Vegas stays behind in a tunnel over four paths, as the paper on four paths found and did not explain.

No paper's experiment, so the claims are ours; the theory is Brakmo and Peterson's (TCP Vegas, IEEE JSAC 13(8), 1995).
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

import congestion
from results.figures.charts import bars, looks_of, save_all
from results.records import Cell, CellResult, Claim, Measurement, Metric
from scenarios import fidelity
from scenarios.framework import runner
from scenarios.framework.algorithms import obtainable
from scenarios.framework.claims import Finding, cells_note, claim
from scenarios.framework.plan import Plan
from scenarios.framework.scenario import Context
from scenarios.multipath.multipath import Configuration, MultipathScenario, means
from topologies.links.spec import LinkSpec
from topologies.links.texts import short_link
from topologies.testbed.testbed import Testbed

SLOW, FAST, ONE = "4x10Mbit", "4x100Mbit", "1x400Mbit"
PATHS: Mapping[str, tuple[int, str]] = {
    SLOW: (4, "10Mbit,10ms,1000p"),
    FAST: (4, "100Mbit,1ms,1000p"),
    ONE: (1, "400Mbit,1ms,1000p"),
}
"""How many paths, and each one's link. The first is the second with all times multiplied by ten."""

_EXAMPLES = Path(congestion.__file__).parent / "examples"
FILES = {name: str(_EXAMPLES / f"{name}.bpf.c") for name in ("vegas_x4", "vegas_x16")}
ALGORITHMS = ("cubic", "vegas", *FILES)
ALL, LITTLE = 95.0, 75.0
"""Per cent of what the paths can carry."""


class VegasThresholds(MultipathScenario):
    """The scenario; see its description."""

    name = "vegas_thresholds"
    summary = "why TCP Vegas stays behind in a tunnel over four fast paths, and what mends it"
    description = f"""\
One TCP connection by iperf3, in a tunnel (MPT-GRE) over four paths; and on one link of the same sum, without a tunnel.

Vegas lets its window grow while less than alpha = 2 packets seem to queue, and takes it back above beta = 4. It knows
the queue by the growth of the round trip only. At 400 Mbit/s two packets are 60 us, at 40 Mbit/s 600 us; and what a
host, a tunnel in user space and a train of packets add to a round trip under load is some hundred us at any rate.

  {SLOW:20} four paths of 10 ms: the network of the next line with all times multiplied by ten
  {FAST:20} four paths of 1 ms
  {ONE:20} one link of 1 ms, no tunnel
  {", ".join(FILES):20} Vegas with alpha, beta and gamma 4 and 16 times as large (congestion/examples)

  python -m scenarios.vegas_thresholds
  python -m scenarios.vegas_thresholds --only congestion_control=vegas --repeat 5"""

    headlines = ("goodput", "share_of_sum", "rtt", "rtt_growth", "idle_cpu")
    seconds = (4, 10)

    def add_options(self, parser: ArgumentParser) -> None:
        """Adds how long iperf3 sends."""
        self.add_transfer_options(parser)

    def plan(self, options: Namespace) -> Plan:
        """The quick or full plan, changed by the options."""
        axes = {"paths": tuple(PATHS), "congestion_control": ALGORITHMS}
        return self.planned(options, axes, self.transfer_settings(options), quick_repeat=1, full_repeat=10)

    def attainable(self, plan: Plan) -> Plan:
        """With the algorithms that can be had."""
        given = obtainable([FILES.get(str(name), str(name)) for name in plan.axes["congestion_control"]])
        return plan.with_axis("congestion_control", tuple(map(congestion.name_of, given)))

    def require(self, plan: Plan) -> None:
        """Those that are files are asked for as such."""
        for name in {self.congestion_control(cell, plan) for cell in plan.cells()} & set(FILES):
            congestion.ensure(FILES[name])
        super().require(plan)

    def configuration(self, cell: Cell) -> Configuration:
        """One link needs no tunnel."""
        return Configuration.named("baseline4" if cell.parameters["paths"] == ONE else "tun4_path4")

    def links(self, cell: Cell, plan: Plan) -> list[LinkSpec]:
        """All alike."""
        count, link = PATHS[str(cell.parameters["paths"])]
        return [short_link(link)] * count

    def warm_up_s(self, cell: Cell) -> float:
        """Until the queue that slow start left is gone: a packet a round trip."""
        return 20.0 if cell.parameters["paths"] == SLOW else 3.0

    def load(self, testbed: Testbed, watch: fidelity.Watch, cell: Cell, context: Context) -> Measurement:
        """What all have, the share of the sum, and by how much the round trip is longer than the links' delay."""
        measured = super().load(testbed, watch, cell, context)
        growth = measured.metrics["rtt"].value - 2e3 * self.links(cell, context.plan)[0].delay_s
        share = self.share_of_sum(measured, cell, context.plan)
        return measured.merged(Measurement({"share_of_sum": share, "rtt_growth": Metric(growth, "ms")}))

    def figures(self, cells: Sequence[CellResult], folder: Path) -> list[Path]:
        """What each gets of the sum, and at what delay."""
        fast = [cell for cell in cells if cell.cell.parameters["paths"] != SLOW]
        charts = {
            metric: bars(
                shown,
                metric,
                groups="congestion_control",
                by="paths",
                looks=looks_of(
                    [name for name in PATHS if any(cell.cell.parameters["paths"] == name for cell in shown)]
                ),
                title=title,
                x_label="congestion control",
                y_label=label,
            )
            for metric, title, label, shown in (
                ("share_of_sum", "What one connection gets of all paths", "share of the sum (%)", cells),
                (
                    "rtt_growth",
                    "Round trip above the links' delay: what Vegas takes for a queue",
                    "ms",
                    [cell for cell in fast if cell.cell.parameters["congestion_control"] != "cubic"],
                ),
            )
        }
        return save_all(charts, Path(folder))

    def claims(self, cells: Sequence[CellResult], form: str) -> list[Claim]:
        """The theory, step by step."""
        note = cells_note(cells)

        def fills(sentence: str, algorithm: str, paths: str) -> Claim:
            claimed = f"at least {ALL:g} % of the sum"
            return claim(sentence, claimed, lambda: _share(cells, algorithm, paths, least=ALL), note)

        def stays(sentence: str, algorithm: str, paths: str) -> Claim:
            claimed = f"at most {LITTLE:g} % of the sum"
            return claim(sentence, claimed, lambda: _share(cells, algorithm, paths, most=LITTLE), note)

        return [
            stays("Vegas in a tunnel over four paths of 100 Mbit/s stays behind", "vegas", FAST),
            stays("one link of the same sum, without a tunnel, is not full either", "vegas", ONE),
            fills("the same tunnel with all times ten times as long is full", "vegas", SLOW),
            fills("so is it with thresholds 16 times as wide", "vegas_x16", FAST),
            claim("the wider they are, the more it gets", "vegas < x4 < x16", lambda: _ordered(cells), note),
            claim("and the queue stays shorter than cubic's", "shorter round trip", lambda: _shorter(cells), note),
        ]


def _mean(cells: Sequence[CellResult], metric: str, paths: str, algorithm: str) -> float:
    return means(cells, metric, "congestion_control", paths=paths, congestion_control=algorithm)[algorithm]


def _share(
    cells: Sequence[CellResult], algorithm: str, paths: str, *, least: float = 0.0, most: float = float("inf")
) -> Finding:
    share, goodput = (_mean(cells, metric, paths, algorithm) for metric in ("share_of_sum", "goodput"))
    return Finding.of(least <= share <= most, f"{share:.0f} %: {goodput / 1e6:.0f} Mbit/s")


def _ordered(cells: Sequence[CellResult]) -> Finding:
    names = ("vegas", "vegas_x4", "vegas_x16")
    found = [_mean(cells, "goodput", FAST, name) for name in names]
    told = ", ".join(f"{name} {value / 1e6:.0f}" for name, value in zip(names, found, strict=True))
    return Finding.of(found == sorted(found), f"{told} Mbit/s")


def _shorter(cells: Sequence[CellResult]) -> Finding:
    own, cubic = (_mean(cells, "rtt", FAST, name) for name in ("vegas_x16", "cubic"))
    return Finding.of(own < cubic, f"{own:.1f} ms with vegas_x16, {cubic:.1f} ms with cubic")


if __name__ == "__main__":
    sys.exit(runner.main(VegasThresholds()))
