"""How the runs of a claim are made up."""

import random
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from results.records import Cell, CellResult, Certificate, ClaimVerdict, Measurement, Metric, Series, Verdict

Point = Mapping[str, Any]
Values = Mapping[str, float]

QUIET = (0.9999, 1.0, 1.0001)
"""Factors of the repetitions of an exact measurement."""

NOISY = (0.1, 0.5, 1.0, 2.0, 10.0)
"""Factors of repetitions that say nothing."""

SAME: Values = {
    **{"goodput": 1e8, "ftp_goodput": 1e8, "ftp_download": 10.0, "download": 5.0, "cpu_total": 50.0},
    **{"share_of_sum": 50.0, "rtt": 5.0, "cpu_sender": 25.0, "cpu_receiver": 20.0, "cpu_per_gbps": 100.0},
}
"""No difference between any cells."""


@dataclass(frozen=True)
class Change:
    """Other values of some metrics in the cells with some parameters: numbers, or expressions.

    An expression has the paper's values, the cell's parameters, and the constants of the world as its names.
    """

    values: Mapping[str, float | str]
    at: Point = field(default_factory=dict)

    def of(self, point: Point, paper: Values, constants: Values) -> Values:
        """The changed values in a cell."""
        if not is_at(point, self.at):
            return {}
        names = {**constants, **paper, **point}
        return {name: eval(text, names) if isinstance(text, str) else text for name, text in self.values.items()}


NO_CHANGE = Change({})


@dataclass(frozen=True)
class Case:
    """What is fed to a claim, and what it must say.

    In a file, a table with the sentence of the claim has as keys these attributes, of which `opposite` must be there,
    and further ones. `at` are the parameters of the cells in which the opposite is measured, and `tie_at` those of the
    tie; without them it is all cells. `bound` stands for a `tie` that is not decided. A list of values of a parameter
    stands for any of them.

    Attributes:
        opposite: makes of the paper's values what the claim denies.
        tie: makes of them what is at the edge: no difference, or exactly the bound.
        gap: the parameters of cells that are missing; by default `at`.
        on_tie: the verdict on a tie.
        on_tie_of_size: the verdict on it of the claim on the size.
        noise: the factors of the repetitions.
        on_noise: the verdict on it.
        on_one: the verdict on a single repetition; by default the same.
        noise_of_opposite, noise_of_paper: the factors with the opposite, and with what the paper measured.
    """

    opposite: Change
    tie: Change
    gap: Point
    on_tie: str = ClaimVerdict.NOT_REPRODUCED
    on_tie_of_size: str = ClaimVerdict.NOT_REPRODUCED
    noise: Sequence[float] = NOISY
    on_noise: str = ClaimVerdict.NOT_DECIDED
    on_one: str | None = None
    noise_of_opposite: Sequence[float] = QUIET
    noise_of_paper: Sequence[float] = QUIET

    @classmethod
    def read(
        cls, opposite: Values, at: Point | None = None, tie: Values = SAME, tie_at: Point | None = None, **more: Any
    ) -> "Case":
        """The case in a table of a file."""
        if bound := more.pop("bound", None):
            tie, more["on_tie"] = bound, ClaimVerdict.NOT_DECIDED
        return cls(Change(opposite, at or {}), Change(tie, tie_at or {}), **{"gap": at or {}, **more})


def all_cases() -> dict[str, dict[str, Case]]:
    """The cases of all files, by world and sentence."""
    worlds: dict[str, dict[str, Case]] = {}
    for file in sorted(Path(__file__).parent.glob("*.toml")):
        for world, tables in tomllib.loads(file.read_text(encoding="utf-8")).items():
            worlds[world] = {sentence: Case.read(**table) for sentence, table in tables.items()}
    return worlds


def case_in(cases: Mapping[str, Case], sentence: str) -> Case | None:
    """The case of a claim; that on a size has the runs of the claim on the direction."""
    case = cases.get(sentence)
    if case is None and (case := cases.get(sentence.removesuffix(": by how much"))) is not None:
        return replace(case, on_tie=case.on_tie_of_size)
    return case


@dataclass(frozen=True)
class World:
    """What a paper measured.

    Attributes:
        paper: the metrics of a cell, in the units of the claims' metrics; `noise` is a power of the noise.
        exact: metrics that have no noise, because they are not measured.
        of_series: metrics that become a series of ups and downs by as much.
        constants: further names for the expressions of cases.
    """

    points: Sequence[Point]
    paper: Callable[[Point], Values]
    exact: Sequence[str] = ()
    of_series: Sequence[str] = ()
    constants: Values = field(default_factory=dict)

    def run(
        self, change: Change = NO_CHANGE, gap: Point | None = None, noise: Sequence[float] = QUIET
    ) -> list[CellResult]:
        """The cells of a run, without those with the parameters of the gap."""
        cells: list[CellResult] = []
        for point in self.points:
            if gap is None or not is_at(point, gap):
                paper = self.paper(point)
                cells += self._cells(point, {**paper, **change.of(point, paper, self.constants)}, noise)
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


def is_at(point: Point, parameters: Point) -> bool:
    """Whether a cell has some parameters."""
    return all(point[name] in (value if isinstance(value, list) else (value,)) for name, value in parameters.items())


def _ups_and_downs(by: float) -> Series:
    times_s = tuple(float(second) for second in range(8))
    return Series("%", times_s, tuple(50.0 + by * (second % 2) for second in range(8)))
