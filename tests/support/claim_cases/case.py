"""Recipes for the runs of a claim."""

import random
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from results.records import Cell, CellResult, Certificate, ClaimVerdict, Measurement, Metric, Series, Verdict

Point = Mapping[str, Any]
Values = Mapping[str, float]
Factors = Sequence[float]

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
    """Other values of some metrics in some cells: numbers, or expressions of the paper's values and the parameters."""

    values: Mapping[str, float | str]
    at: Point = field(default_factory=dict)

    def of(self, point: Point, paper: Values) -> Values:
        if not is_at(point, self.at):
            return {}
        names = {**paper, **point}
        return {name: eval(text, names) if isinstance(text, str) else text for name, text in self.values.items()}


NO_CHANGE = Change({})


@dataclass(frozen=True)
class Case:
    """Input of a claim, and the verdicts that it must give.

    In a file, a table with the sentence of the claim has metrics as keys, with the values that each has in the
    `opposite` and in a `tie`, or in place of that at a `bound`, which is not decided. Further keys are the attributes
    below; `at`, the parameters of the cells in which the opposite is measured, which the table of a world may have for
    all of its claims; and `tie_at`, those of the tie. Without them it is all cells. A list of values of a parameter
    stands for any of them.

    Attributes:
        opposite: makes of the paper's values what the claim denies.
        tie: makes of them what is at the edge: exactly the bound, or by default no difference.
        gap: the parameters of cells that are missing; by default `at`.
        on_tie, on_noise, on_one: the verdicts on a tie, on noise, and on a single repetition; by default that on noise.
        on_tie_of_size: the verdict on a tie of the claim on the size.
        noise, noise_of_opposite, noise_of_paper: the factors of the repetitions.
    """

    opposite: Change
    tie: Change
    gap: Point
    on_tie: str = ClaimVerdict.NOT_REPRODUCED
    on_tie_of_size: str = ClaimVerdict.NOT_REPRODUCED
    noise: Factors = NOISY
    on_noise: str = ClaimVerdict.NOT_DECIDED
    on_one: str | None = None
    noise_of_opposite: Factors = QUIET
    noise_of_paper: Factors = QUIET

    @classmethod
    def read(cls, at: Point, tie_at: Mapping[str, Any] = {}, **table: Any) -> "Case":
        own = {field.name: table.pop(field.name) for field in fields(cls) if field.name in table}

        def values(of: str) -> Values:
            return {name: each[of] for name, each in table.items() if each.get(of) is not None}

        if bound := values("bound"):
            own["on_tie"] = ClaimVerdict.NOT_DECIDED
        tie = bound or values("tie") or SAME
        return cls(Change(values("opposite"), at), Change(tie, tie_at), **{"gap": at, **own})


def all_cases() -> dict[str, dict[str, Case]]:
    """The cases of all files, by world and sentence."""
    worlds: dict[str, dict[str, Case]] = {}
    for file in sorted(Path(__file__).parent.glob("*.toml")):
        for world, tables in tomllib.loads(file.read_text(encoding="utf-8")).items():
            at = tables.pop("at", {})
            worlds[world] = {sentence: Case.read(**{"at": at, **table}) for sentence, table in tables.items()}
    return worlds


def case_in(cases: Mapping[str, Case], sentence: str) -> Case | None:
    """The case of a claim; that on a size has the runs of the claim on the direction."""
    case = cases.get(sentence)
    if case is None and (case := cases.get(sentence.removesuffix(": by how much"))) is not None:
        return replace(case, on_tie=case.on_tie_of_size)
    return case


@dataclass(frozen=True)
class World:
    """Measurements of a paper.

    Attributes:
        paper: the metrics of a cell, in the units of the claims' metrics; `spread` is a power of the noise, and
            `busy_…` becomes a series of ups and downs by as much.
        exact: metrics that have no noise, because they are not measured.
    """

    points: Sequence[Point]
    paper: Callable[[Point], Values]
    exact: Sequence[str] = ()

    def run(self, change: Change = NO_CHANGE, gap: Point | None = None, noise: Factors = QUIET) -> list[CellResult]:
        """The cells of a run, without those with the parameters of the gap."""
        points = (point for point in self.points if gap is None or not is_at(point, gap))
        return [cell for point in points for cell in self._cells(point, change, noise)]

    def _cells(self, point: Point, change: Change, noise: Factors) -> Iterable[CellResult]:
        paper = self.paper(point)
        values = {**paper, **change.of(point, paper)}
        draw = random.Random(str(point))
        factors = {name: draw.sample(list(noise), len(noise)) for name in values}
        powers = {name: 0.0 if name in self.exact else values.get("spread", 1.0) for name in values}
        for index in range(len(noise)):
            noisy = {name: value * factors[name][index] ** powers[name] for name, value in values.items()}
            series = {name: _ups_and_downs(by) for name, by in noisy.items() if name.startswith("busy_")}
            metrics = {name: Metric(value, "1") for name, value in noisy.items() if name not in series}
            yield CellResult(Cell(dict(point), index + 1), Measurement(metrics, series), Certificate(Verdict.FAITHFUL))


def is_at(point: Point, parameters: Point) -> bool:
    return all(point[name] in (value if isinstance(value, list) else (value,)) for name, value in parameters.items())


def _ups_and_downs(by: float) -> Series:
    times_s = tuple(float(second) for second in range(8))
    return Series("%", times_s, tuple(50.0 + by * (second % 2) for second in range(8)))
