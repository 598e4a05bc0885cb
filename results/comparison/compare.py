"""Comparison of runs, or of two samples of a metric: changes, and whether chance explains them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from flightpath.clock import Clock
from results.comparison.clocks import machine_or_protocol
from results.metrics import Better, metric_kind
from results.records import CellResult, ParameterValue, Run, RunRecord, Verdict
from results.statistics.blocks import machine_of, without_machines
from results.statistics.effects import ALPHA, Effect, against_history, between, holm
from results.statistics.estimates import Summary, group, usable
from results.summary.means import metric_names, summaries
from results.summary.numbers import parameters_text, scale, short
from results.summary.runs import headlines
from results.summary.verdicts import doubts

_RATES, _TIMES = ("bit/s", "B/s", "1/s"), ("s", "ms", "us", "ns", "min")
_NO_SPEED = ("cpu_", "idle", "ramp", "schedule")
"""Prefixes of metrics in seconds or rates that do not measure speed."""

_Key = tuple[tuple[str, ParameterValue], ...]


class Change(StrEnum):
    """The outcome of a comparison."""

    FASTER = "faster"
    SLOWER = "slower"
    MORE = "more"
    LESS = "less"
    SAME = "no difference shown"
    UNKNOWN = "cannot be told"


_UNWANTED = {Better.HIGHER: Change.LESS, Better.LOWER: Change.MORE}


@dataclass(frozen=True)
class Comparison:
    """One metric at one point of two runs.

    Attributes:
        effect: the difference; None if the numbers are too large or too small to compute it.
        change: the outcome, corrected for multiple comparisons.
        verdict: the worst verdict of the compared cells.
    """

    metric: str
    unit: str
    parameters: Mapping[str, ParameterValue]
    effect: Effect | None
    change: Change
    verdict: Verdict

    @property
    def point(self) -> str:
        return _point(self.parameters)

    @property
    def is_worse(self) -> bool:
        """True if it is slower, or changed for the worse in another way, such as more errors."""
        kind = metric_kind(self.metric)
        unwanted = _UNWANTED.get(kind.better) if kind and kind.better else None
        return self.change in (Change.SLOWER, unwanted)

    @property
    def is_equal(self) -> bool:
        """True if both means are the same number, as those of two runs in virtual time are."""
        return self.effect is not None and self.effect.before == self.effect.after

    @property
    def change_text(self) -> str:
        """Difference with its interval, for example `+3.1 % (+2.0 to +4.2)`."""
        if self.effect is None:
            return "-"
        change, unit = self.effect.change, " %" if self.effect.relative else "" if self.unit == "1" else f" {self.unit}"
        text = f"{_signed(change.value)}{unit}"
        return (
            text
            if change.low is None or change.high is None
            else f"{text} ({_signed(change.low)} to {_signed(change.high)})"
        )

    @property
    def means_text(self) -> tuple[str, str]:
        if self.effect is None:
            return "-", "-"
        factor, unit = scale((self.effect.before, self.effect.after), self.unit)
        tail = "" if self.unit == "1" else f" {unit}"
        return f"{short(self.effect.before * factor)}{tail}", f"{short(self.effect.after * factor)}{tail}"


@dataclass(frozen=True)
class Compared:
    """Two runs, or a run and those before it.

    Attributes:
        before, after: names of the sides, or run ids.
        comparisons: all metrics, at each common point.
        only_before, only_after: points that only one side has.
    """

    before: str
    after: str
    comparisons: Sequence[Comparison]
    only_before: Sequence[str]
    only_after: Sequence[str]
    notes: Sequence[str]

    @property
    def sentence(self) -> str:
        changes = {each.change for each in self.comparisons}
        if not self.comparisons:
            return f"{self.after} and {self.before} have no usable cells in common whose means could be compared."
        if {Change.FASTER, Change.SLOWER} <= changes:
            return f"{self.after} is faster than {self.before} in some respects, and slower in others."
        for change in (Change.FASTER, Change.SLOWER):
            if change in changes:
                return f"{self.after} is {change} than {self.before}."
        if changes & {Change.MORE, Change.LESS}:
            return f"{self.after} differs from {self.before}, but is neither faster nor slower."
        if Change.UNKNOWN in changes:
            return f"Whether {self.after} differs from {self.before} cannot be told: too few repetitions."
        if all(each.is_equal for each in self.comparisons):
            return f"All compared means of {self.after} and {self.before} are equal."
        return f"Between {self.after} and {self.before} there is no difference that these data can show."

    @property
    def sentences(self) -> list[str]:
        by_metric: dict[str, list[Comparison]] = {}
        for each in self.comparisons:
            by_metric.setdefault(each.metric, []).append(each)
        return [_metric_sentence(metric, members) for metric, members in by_metric.items()]


def compare_runs(before: Run, after: Run, metrics: Sequence[str] | None = None) -> Compared:
    """Compares a run with an earlier one, point by point; by default in the headline metrics of its scenario."""
    comparisons = _by_points([before], after, metrics, lambda old, new: between(old[0].steady, new.steady))
    old, new = ({_key(c.cell.parameters): _point(c.cell.parameters) for c in cells} for _, cells in (before, after))
    one_side = [old[key] for key in old if key not in new], [new[key] for key in new if key not in old]
    shown = _metrics(after[0], [before[1], after[1]], metrics)
    notes = [*_notes([before, after]), *machine_or_protocol(before, after, shown)]
    return Compared(before[0].run_id, after[0].run_id, comparisons, *one_side, notes)


def compare_with_history(history: Sequence[Run], after: Run, metrics: Sequence[str] | None = None) -> Compared:
    """Compares a run with several earlier ones of its scenario; by default in its headline metrics."""
    comparisons = _by_points(
        history,
        after,
        metrics,
        lambda old, new: against_history([summary.estimate.value for summary in old], new.estimate.value),
    )
    words = f"the {len(history)} runs before it" if len(history) != 1 else "the run before it"
    return Compared(words, after[0].run_id, comparisons, (), (), _notes([*history, after]))


def compare_samples(
    before: tuple[str, Sequence[float]], after: tuple[str, Sequence[float]], metric: str, unit: str
) -> Compared:
    """Compares two samples of one metric; each side is a name and its values.

    Raises:
        ValueError: a sample is empty.
    """
    effect = _computed(lambda: between(before[1], after[1]))
    comparison = Comparison(metric, unit, {}, effect, Change.UNKNOWN, Verdict.FAITHFUL)
    return Compared(before[0], after[0], _judged([comparison]), (), (), ())


def _by_points(
    earlier: Sequence[Run],
    after: Run,
    metrics: Sequence[str] | None,
    effect_of: Callable[[Sequence[Summary], Summary], Effect],
) -> list[Comparison]:
    """Compares each metric at each point that the run has in common with earlier ones."""
    comparisons = []
    for name in _metrics(after[0], [*(cells for _, cells in earlier), after[1]], metrics):
        runs = [*(cells for _, cells in earlier), after[1]]
        # Of all runs together, so that a machine that measured more of one run than of another causes no change.
        steady = without_machines([usable(point) for cells in runs for point in group(cells).values()], name)
        *before, newest = (_by_point(cells, name, steady) for cells in runs)
        for key, new in newest.items():
            if old := [each[key] for each in before if key in each and each[key].unit == new.unit]:
                effect = _computed(partial(effect_of, old, new))
                verdict = Verdict.worst([summary.verdict for summary in (*old, new)])
                comparisons.append(Comparison(name, new.unit, new.parameters, effect, Change.UNKNOWN, verdict))
    return _judged(comparisons)


def _metrics(record: RunRecord, sides: Sequence[Sequence[CellResult]], metrics: Sequence[str] | None) -> list[str]:
    known = [set(metric_names(cells)) for cells in sides]
    names = list(metrics) if metrics is not None else headlines(record) or metric_names(sides[-1])
    return [name for name in names if name in known[-1] and any(name in names_of for names_of in known[:-1])]


def _by_point(cells: Sequence[CellResult], metric: str, steady: Mapping[int, float]) -> dict[_Key, Summary]:
    return {_key(s.parameters): s for s in summaries(cells, metric, steady) if s.verdict is not Verdict.UNUSABLE}


def _key(parameters: Mapping[str, ParameterValue]) -> _Key:
    return tuple(sorted(parameters.items()))


def _computed(effect: Callable[[], Effect]) -> Effect | None:
    """Computes an effect; returns None if the numbers are so small or large that their squares overflow."""
    try:
        return effect()
    except ArithmeticError:
        return None


def _judged(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Judges comparisons, with their p values corrected: of twenty, one would differ by chance.

    Equal means need no test.
    """
    tested = [
        (position, each.effect, each.effect.p)
        for position, each in enumerate(comparisons)
        if each.effect is not None and each.effect.p is not None
    ]
    judged = [replace(each, change=Change.SAME) if each.is_equal else each for each in comparisons]
    for (position, effect, _), p in zip(tested, holm([p for _, _, p in tested]), strict=True):
        change = Change.SAME if p > ALPHA else _change(judged[position], effect)
        judged[position] = replace(judged[position], change=change)
    return judged


def _change(comparison: Comparison, effect: Effect) -> Change:
    more = effect.after > effect.before
    if comparison.unit in _RATES + _TIMES and not comparison.metric.startswith(_NO_SPEED):
        return Change.FASTER if more == (comparison.unit in _RATES) else Change.SLOWER
    return Change.MORE if more else Change.LESS


def _metric_sentence(metric: str, members: Sequence[Comparison]) -> str:
    parts = []
    for change in (Change.FASTER, Change.SLOWER, Change.MORE, Change.LESS):
        if changed := [each for each in members if each.change is change]:
            largest = max(changed, key=lambda each: abs(each.effect.change.value) if each.effect else 0.0)
            up_to = "up to " if len(changed) > 1 else ""
            parts.append(f"{change}{_where(changed, len(members))}, by {up_to}{largest.change_text}")
    if same := [each for each in members if each.change is Change.SAME]:
        parts.append(f"no difference that these data can show{_where(same, len(members))}")
    if unknown := [each for each in members if each.change is Change.UNKNOWN]:
        parts.append(f"cannot be told{_where(unknown, len(members))}: too few repetitions")
    return f"{metric}: {'; '.join(parts)}."


def _where(affected: Sequence[Comparison], total: int) -> str:
    if not affected[0].parameters:
        return ""
    if len(affected) == 1:
        return f" at {affected[0].point}"
    if len(affected) == total:
        return f" at all {total} points"
    return f" at {len(affected)} of {total} points ({affected[0].point} and others)"


def _point(parameters: Mapping[str, ParameterValue]) -> str:
    return parameters_text(parameters) or "all"


def _notes(sides: Iterable[Run]) -> list[str]:
    sides = list(sides)
    clocks = {record.run_id: record.clock for record, _ in sides}
    virtual = [run_id for run_id, clock in clocks.items() if clock is Clock.VIRTUAL]
    notes = [f"{record.run_id}: {doubt}." for record, cells in sides for doubt in doubts(cells)] + _machine_notes(sides)
    if virtual and len(virtual) < len(clocks):
        verb = "were" if len(virtual) > 1 else "was"
        notes.append(
            f"{', '.join(virtual)} {verb} measured in virtual time, in which computing takes no time: what differs may "
            "be the machine, not the network."
        )
    return notes


def _machine_notes(sides: Sequence[Run]) -> list[str]:
    """Warns of runs on a cluster that have no machine in common."""
    machines = [{machine_of(cell) for cell in cells} for _, cells in sides]
    if any("" in names or not names for names in machines) or set.intersection(*machines):
        return []
    return ["No machine measured cells of all these runs: what differs may be the machines, not the network."]


def _signed(value: float) -> str:
    return f"{value:+.0f}" if abs(value) >= 100 else f"{value:+.2g}" if abs(value) < 10 else f"{value:+.1f}"
