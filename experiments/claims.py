"""Claims, a paper's or a scenario's own, and the cells that they are checked by.

Claims are checked from stored cells alone. Cells whose certificate is `unusable` do not count; those that are
`degraded` count only if they are at most a tenth of the others. Each claim says how many these were. The rules are in
`experiments/judging.py`.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from flightpath.clock import Clock
from results.metrics import is_of_machine
from results.records import CellResult, Claim, ClaimVerdict, ParameterValue, Verdict
from results.statistics.estimates import group, usable, values_of
from results.summary.verdicts import doubts

NEEDS_REAL_CLOCK = "needs the real clock: in virtual time computing takes no time"


_MOST_DEGRADED = 0.1
"""Share of the usable cells of a run that may be degraded and still count."""

NONE_FAITHFUL = "no cell is faithful"
"""Reason why a claim is not tested: all of its cells are degraded."""


class InsufficientData(Exception):
    """This run cannot answer a claim; the message says why."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a claim: verdict, measured value as text with its unit, and what the verdict rests on."""

    verdict: ClaimVerdict
    measured: str = ""
    why: str = ""


@dataclass(frozen=True)
class Evidence:
    """The cells of a run, or some of them.

    Attributes:
        cells: those that count.
        form: the run's, `quick` or `full`.
        left_out: the others.
    """

    cells: Sequence[CellResult]
    form: str
    left_out: Sequence[CellResult] = ()

    @property
    def why_empty(self) -> str:
        """Reason why no cell counts."""
        if not self.left_out:
            return "no cell was measured"
        return "no cell is usable" if not usable(self.left_out) else NONE_FAITHFUL

    def where(self, **parameters: object) -> "Evidence":
        """Returns the cells with these parameters; a tuple stands for any of its values."""
        wanted = {name: value if isinstance(value, tuple) else (value,) for name, value in parameters.items()}

        def matching(cells: Sequence[CellResult]) -> list[CellResult]:
            return [cell for cell in cells if all(cell.cell.parameters.get(name) in wanted[name] for name in wanted)]

        return replace(self, cells=matching(self.cells), left_out=matching(self.left_out))

    def by(self, parameter: str) -> dict[ParameterValue, "Evidence"]:
        """Returns the cells for each value of a parameter, smallest value first."""
        groups = group(self.cells, (parameter,)).items()
        return {value: replace(self, cells=members) for (value,), members in groups}

    def tried(self, parameter: str, *, least: int = 1) -> list[ParameterValue]:
        """Returns the values of a parameter, smallest first, those of cells left out too: their gaps are to be named.

        Raises:
            InsufficientData: there are fewer than `least`.
        """
        values = values_of([*self.cells, *self.left_out], parameter)
        if len(values) < least:
            raise InsufficientData(
                f"fewer than {least} values of {parameter} were measured" if values else self.why_empty
            )
        return values

    def numbers(self, parameter: str, *, least: int = 1) -> list[float]:
        """Returns those of the values of a parameter that are numbers, smallest first.

        Raises:
            InsufficientData: there are fewer than `least`.
        """
        numbers = [value for value in self.tried(parameter, least=least) if isinstance(value, (int, float))]
        if len(numbers) < least:
            raise InsufficientData(f"fewer than {least} numbers of {parameter} were measured")
        return numbers

    def values(self, metric: str) -> list[float]:
        """Returns a metric's value in each cell that has it.

        Raises:
            InsufficientData: no cell has it.
        """
        values = [cell.measurement.metrics[metric].value for cell in self.cells if metric in cell.measurement.metrics]
        if not values and self.cells and is_of_machine(metric) and _are_virtual(self.cells):
            raise InsufficientData(NEEDS_REAL_CLOCK)
        if not values:
            raise InsufficientData(f"no usable cell measured {metric}" if self.cells else self.why_empty)
        return values

    def by_seed(self, metric: str) -> dict[int, float]:
        """Returns a metric's value for each repetition, and so for each seed of the virtual clock.

        It is empty on the real clock, which has no seed, and where several cells share a repetition.
        """
        having = [cell for cell in self.cells if metric in cell.measurement.metrics]
        values = {cell.cell.repetition: cell.measurement.metrics[metric].value for cell in having}
        return values if _are_virtual(having) and len(values) == len(having) else {}

    def mean(self, metric: str) -> float:
        """Returns the mean of `values`."""
        return statistics.fmean(self.values(metric))

    def means(self, metric: str, by: str) -> dict[ParameterValue, float]:
        """Returns a metric's mean for each value of a parameter, smallest value first.

        Raises:
            InsufficientData: it was measured for no value.
        """
        self.values(metric)
        having = replace(self, cells=[cell for cell in self.cells if metric in cell.measurement.metrics])
        return {value: part.mean(metric) for value, part in having.by(by).items()}


Check = Callable[[Evidence], Outcome]
"""Compares a claim with the evidence; may raise InsufficientData."""


@dataclass(frozen=True)
class ClaimCheck:
    """A claim in a sentence, the value that it expects as text with its unit, and the check.

    A claim that `needs_real_clock` is about what processors limit, such as the ceiling of a tunnel in user space.
    """

    claim: str
    expected: str
    check: Check
    needs_real_clock: bool = False


def counting_evidence(cells: Sequence[CellResult], form: str) -> Evidence:
    """Returns the usable cells of a run; without the degraded ones, if these are too many."""
    counted = {Verdict.FAITHFUL, Verdict.DEGRADED}
    degraded = sum(cell.certificate.verdict is Verdict.DEGRADED for cell in cells)
    if degraded > _MOST_DEGRADED * len(usable(cells)):
        counted = {Verdict.FAITHFUL}
    counting, left_out = (
        [cell for cell in cells if (cell.certificate.verdict in counted) is wanted] for wanted in (True, False)
    )
    return Evidence(counting, form, left_out)


def check_claims(checks: Sequence[ClaimCheck], cells: Sequence[CellResult], form: str) -> list[Claim]:
    """Returns each claim beside what all cells of a run say about it."""
    evidence, note = counting_evidence(cells, form), "; ".join(doubts(cells))
    if any(cell.certificate.verdict is Verdict.DEGRADED for cell in evidence.left_out):
        note = f"{note} and left out"
    return [_checked(check, evidence, note) for check in checks]


def _checked(check: ClaimCheck, evidence: Evidence, note: str) -> Claim:
    try:
        if check.needs_real_clock and _are_virtual(evidence.cells):
            raise InsufficientData(NEEDS_REAL_CLOCK)
        outcome = check.check(evidence)
    except InsufficientData as reason:
        outcome = Outcome(ClaimVerdict.NOT_TESTED, why=str(reason))
    why = "; ".join(filter(None, (outcome.why, note)))
    return Claim(check.claim, check.expected, outcome.measured, outcome.verdict, why)


def _are_virtual(cells: Sequence[CellResult]) -> bool:
    return bool(cells) and all(cell.clock is Clock.VIRTUAL for cell in cells)
