"""How the runs of a claim are made up."""

import itertools
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from experiments.parameters import Axis
from results.records import Cell, CellResult, Certificate, ClaimVerdict, Measurement, Metric, Series, Verdict

Point = Mapping[str, object]
Values = Mapping[str, float]
Change = Callable[[Point, Values], Values]
"""Other values of some metrics in a cell."""

QUIET = (0.9999, 1.0, 1.0001)
"""Factors of the repetitions of an exact measurement."""

NOISY = (0.1, 0.5, 1.0, 2.0, 10.0)
"""Factors of repetitions that say nothing."""


@dataclass(frozen=True)
class Case:
    """What is fed to a claim, and what it must say.

    Attributes:
        opposite: makes of the paper's values what the claim denies.
        tie: makes of them what is at the edge: no difference, or exactly the bound.
        gap: the parameters of cells that are missing.
        on_tie: the verdict on a tie.
        on_tie_of_size: the verdict on it of the claim on the size.
        noise: the factors of the repetitions.
        on_noise: the verdict on it.
        on_one: the verdict on a single repetition; by default the same.
        noise_of_opposite: the factors with the opposite.
    """

    opposite: Change
    tie: Change
    gap: Point
    on_tie: ClaimVerdict = ClaimVerdict.NOT_REPRODUCED
    on_tie_of_size: ClaimVerdict = ClaimVerdict.NOT_REPRODUCED
    noise: Sequence[float] = NOISY
    on_noise: ClaimVerdict = ClaimVerdict.NOT_DECIDED
    on_one: ClaimVerdict | None = None
    noise_of_opposite: Sequence[float] = QUIET


@dataclass(frozen=True)
class World:
    """What a paper measured, and the case of each of its claims by its sentence.

    Attributes:
        paper: the metrics of a cell, in the units of the claims' metrics; `noise` is a power of the noise.
        exact: metrics that have no noise, because they are not measured.
        of_series: metrics that become a series of ups and downs by as much.
    """

    points: Sequence[Point]
    paper: Callable[[Point], Values]
    cases: Mapping[str, Case]
    exact: Sequence[str] = ()
    of_series: Sequence[str] = ()

    def case(self, sentence: str) -> Case | None:
        """The case of a claim; that on a size has the runs of the claim on the direction."""
        case = self.cases.get(sentence)
        if case is None and (case := self.cases.get(sentence.removesuffix(": by how much"))) is not None:
            return replace(case, on_tie=case.on_tie_of_size)
        return case

    def run(
        self, change: Change = lambda point, values: {}, gap: Point | None = None, noise: Sequence[float] = QUIET
    ) -> list[CellResult]:
        """The cells of a run, without those with the parameters of the gap."""
        cells = []
        for point in self.points:
            if gap is None or not is_at(point, **gap):
                paper = self.paper(point)
                cells += self._cells(point, {**paper, **change(point, paper)}, noise)
        return cells

    def _cells(self, point: Point, values: Values, noise: Sequence[float]) -> Iterable[CellResult]:
        draw = random.Random(str(point))
        factors = {name: draw.sample(list(noise), len(noise)) for name in values}
        for index in range(len(noise)):
            power = values.get("noise", 1.0)
            noisy = {
                name: value * (1.0 if name in self.exact else factors[name][index] ** power)
                for name, value in values.items()
                if name != "noise"
            }
            series = {name: _ups_and_downs(noisy[name]) for name in self.of_series}
            metrics = {name: Metric(value, "1") for name, value in noisy.items() if name not in series}
            yield CellResult(Cell(dict(point), index + 1), Measurement(metrics, series), Certificate(Verdict.FAITHFUL))


def grid(axes: Iterable[Axis], **more: Sequence[object]) -> list[Point]:
    """The cells of the full form: of all axes, with other values for some of them, or further parameters."""
    values = {axis.name: axis.full or axis.quick for axis in axes} | more
    return [dict(zip(values, point, strict=True)) for point in itertools.product(*values.values())]


def is_at(point: Point, **parameters: object) -> bool:
    """Whether a cell has some parameters; a tuple stands for any of its values."""
    return all(point[name] in (value if isinstance(value, tuple) else (value,)) for name, value in parameters.items())


def where(wanted: Point, change: Change) -> Change:
    """A change of the cells with some parameters only."""
    return lambda point, values: change(point, values) if is_at(point, **wanted) else {}


def times(metric: str, factor: float) -> Change:
    """A metric that is so many times as large."""
    return lambda point, values: {metric: values[metric] * factor}


def constant(**values: float) -> Change:
    """The same values in all cells."""
    return lambda point, paper: values


SAME = constant(
    goodput=1e8,
    ftp_goodput=1e8,
    ftp_download=10.0,
    download=5.0,
    cpu_total=50.0,
    share_of_sum=50.0,
    rtt=5.0,
    cpu_sender=25.0,
    cpu_receiver=20.0,
    cpu_per_gbps=100.0,
)
"""No difference between any cells."""


def case(refuting: Point, change: Change, gap: Point | None = None, tie: Change = SAME, **more: Any) -> Case:
    """A case whose opposite is a change of some cells; if no others are given, these are missing in the gap."""
    return Case(where(refuting, change), tie, refuting if gap is None else gap, **more)


def _ups_and_downs(by: float) -> Series:
    times_s = tuple(float(second) for second in range(8))
    return Series("%", times_s, tuple(50.0 + by * (second % 2) for second in range(8)))
