"""Runs side by side: without this, what changed between two of them would be judged by eye."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from results.records import CellResult, ParameterValue, RunRecord, Verdict
from results.statistics.effects import ALPHA, Effect, against_history, between, holm
from results.statistics.estimates import Summary, summarise
from results.summary.means import metric_names
from results.summary.numbers import scale, short
from results.summary.runs import headlines
from results.summary.verdicts import doubts

_RATES, _TIMES = ("bit/s", "B/s", "1/s"), ("s", "ms", "us", "ns", "min")
_NO_SPEED = ("cpu_", "idle", "ramp", "schedule")
"""Metrics in seconds or rates that say nothing of how fast something was."""

Key = tuple[tuple[str, ParameterValue], ...]


class Change(StrEnum):
    """What a comparison shows."""

    FASTER = "faster"
    SLOWER = "slower"
    MORE = "more"
    LESS = "less"
    SAME = "no difference shown"
    UNKNOWN = "cannot be told"


@dataclass(frozen=True)
class Comparison:
    """One metric at one point, in two runs.

    Attributes:
        metric, unit: what was compared; the numbers are in this unit.
        parameters: the point.
        effect: what changed; None if the figures allow no arithmetic.
        change: what it shows, considering how many comparisons were made at once.
        verdict: the worst of the cells behind it.
    """

    metric: str
    unit: str
    parameters: Mapping[str, ParameterValue]
    effect: Effect | None
    change: Change
    verdict: Verdict

    @property
    def point(self) -> str:
        """The parameters in words."""
        return _point(self.parameters)

    @property
    def change_text(self) -> str:
        """The change with its interval, for example `+3.1 % (+2.0 to +4.2)`."""
        if self.effect is None:
            return "-"
        change, unit = self.effect.change, " %" if self.effect.relative else "" if self.unit == "1" else f" {self.unit}"
        text = f"{_signed(change.value)}{unit}"
        return text if change.low is None else f"{text} ({_signed(change.low)} to {_signed(change.high)})"

    @property
    def means_text(self) -> tuple[str, str]:
        """Both means, with a unit that suits them."""
        if self.effect is None:
            return "-", "-"
        factor, unit = scale((self.effect.before, self.effect.after), self.unit)
        tail = "" if self.unit == "1" else f" {unit}"
        return f"{short(self.effect.before * factor)}{tail}", f"{short(self.effect.after * factor)}{tail}"


@dataclass(frozen=True)
class Compared:
    """A run against another, or against history.

    Attributes:
        before, after: what was compared, in words or as run ids.
        comparisons: metric by metric, point by point.
        only_before, only_after: points that one side alone has.
        notes: what a reader must know.
    """

    before: str
    after: str
    comparisons: Sequence[Comparison]
    only_before: Sequence[str]
    only_after: Sequence[str]
    notes: Sequence[str]

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        found = {each.change for each in self.comparisons}
        if not self.comparisons:
            return f"{self.after} and {self.before} have nothing in common that could be compared."
        if {Change.FASTER, Change.SLOWER} <= found:
            return f"{self.after} is faster than {self.before} in some respects, and slower in others."
        for change in (Change.FASTER, Change.SLOWER):
            if change in found:
                return f"{self.after} is {change} than {self.before}."
        if found & {Change.MORE, Change.LESS}:
            return f"{self.after} differs from {self.before}, but is neither faster nor slower."
        if found == {Change.UNKNOWN}:
            return f"Whether {self.after} differs from {self.before} cannot be told: too few repetitions."
        return f"Between {self.after} and {self.before} there is no difference that these data can show."

    @property
    def sentences(self) -> list[str]:
        """The answer for each metric."""
        by_metric: dict[str, list[Comparison]] = {}
        for each in self.comparisons:
            by_metric.setdefault(each.metric, []).append(each)
        return [_metric_sentence(metric, members) for metric, members in by_metric.items()]


def compare_runs(
    before: tuple[RunRecord, Sequence[CellResult]],
    after: tuple[RunRecord, Sequence[CellResult]],
    metrics: Sequence[str] | None = None,
) -> Compared:
    """A run against an earlier one, point by point.

    Args:
        before: the run that is compared with, and its cells.
        after: the run that is judged, and its cells.
        metrics: which; by default those that the later run's scenario puts first.
    """
    names = _metrics(after[0], [before[1], after[1]], metrics)
    pairs = [_pairs(name, before[1], after[1]) for name in names]
    comparisons = [
        _comparison(old.metric, old.unit, new.parameters, _between(old, new), (old, new))
        for paired in pairs
        for old, new in paired
    ]
    one_side = _one_side(before[1], after[1])
    return Compared(before[0].run_id, after[0].run_id, _judged(comparisons), *one_side, _notes([before, after]))


def compare_with_history(
    history: Sequence[tuple[RunRecord, Sequence[CellResult]]],
    after: tuple[RunRecord, Sequence[CellResult]],
    metrics: Sequence[str] | None = None,
) -> Compared:
    """A run against several earlier ones of its scenario: would one more of them lie where this one does?

    Args:
        history: the earlier runs and their cells.
        after: the run that is judged, and its cells.
        metrics: which; by default those that its scenario puts first.
    """
    comparisons = []
    for name in _metrics(after[0], [*(cells for _, cells in history), after[1]], metrics):
        past: dict[Key, list[Summary]] = {}
        for _, cells in history:
            for key, summary in _by_point(cells, name).items():
                past.setdefault(key, []).append(summary)
        for key, new in _by_point(after[1], name).items():
            if old := [summary for summary in past.get(key, ()) if summary.unit == new.unit]:
                effect = _safe(
                    lambda old=old, new=new: against_history([s.estimate.value for s in old], new.estimate.value)
                )
                comparisons.append(_comparison(name, new.unit, new.parameters, effect, (*old, new)))
    words = f"the {len(history)} runs before it" if len(history) != 1 else "the run before it"
    return Compared(words, after[0].run_id, _judged(comparisons), (), (), _notes([*history, after]))


def _metrics(record: RunRecord, sides: Sequence[Sequence[CellResult]], metrics: Sequence[str] | None) -> list[str]:
    known = [set(metric_names(cells)) for cells in sides]
    names = list(metrics) if metrics is not None else headlines(record) or metric_names(sides[-1])
    return [name for name in names if name in known[-1] and any(name in names_of for names_of in known[:-1])]


def _by_point(cells: Sequence[CellResult], metric: str) -> dict[Key, Summary]:
    axes = list(cells[0].cell.parameters) if cells else []
    try:
        summaries = summarise(cells, metric, axes)
    except (ValueError, ArithmeticError):  # several units, or beyond a computer's range
        return {}
    return {_key(s.parameters): s for s in summaries if s.verdict is not Verdict.UNUSABLE}


def _key(parameters: Mapping[str, ParameterValue]) -> Key:
    return tuple(sorted(parameters.items()))


def _pairs(metric: str, before: Sequence[CellResult], after: Sequence[CellResult]) -> list[tuple[Summary, Summary]]:
    old, new = _by_point(before, metric), _by_point(after, metric)
    return [(old[key], new[key]) for key in new if key in old and old[key].unit == new[key].unit]


def _between(old: Summary, new: Summary) -> Effect | None:
    return _safe(lambda: between(old.values, new.values))


def _safe(compute) -> Effect | None:  # noqa: ANN001
    """None where figures are so small or large that a computer cannot square them."""
    try:
        return compute()
    except ArithmeticError:
        return None


def _comparison(
    metric: str, unit: str, parameters: Mapping[str, ParameterValue], effect: Effect | None, sides: Sequence[Summary]
) -> Comparison:
    return Comparison(metric, unit, parameters, effect, Change.UNKNOWN, Verdict.worst([s.verdict for s in sides]))


def _judged(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The same with their change, each p raised for how many there are: of twenty, one would differ by chance."""
    known = [index for index, each in enumerate(comparisons) if each.effect and each.effect.p is not None]
    raised = dict(zip(known, holm([comparisons[index].effect.p for index in known]), strict=True))
    return [
        replace(each, change=_change(each, raised[index])) if index in raised else each
        for index, each in enumerate(comparisons)
    ]


def _change(comparison: Comparison, p: float) -> Change:
    if p > ALPHA:
        return Change.SAME
    more = comparison.effect.after > comparison.effect.before
    if comparison.unit in _RATES + _TIMES and not comparison.metric.startswith(_NO_SPEED):
        return Change.FASTER if more == (comparison.unit in _RATES) else Change.SLOWER
    return Change.MORE if more else Change.LESS


def _metric_sentence(metric: str, members: Sequence[Comparison]) -> str:
    parts = []
    for change in (Change.FASTER, Change.SLOWER, Change.MORE, Change.LESS):
        if found := [each for each in members if each.change is change]:
            largest = max(found, key=lambda each: abs(each.effect.change.value))
            up_to = "up to " if len(found) > 1 else ""
            parts.append(f"{change} {_where(found, len(members))}, by {up_to}{largest.change_text}")
    if same := [each for each in members if each.change is Change.SAME]:
        parts.append(f"no difference that these data can show {_where(same, len(members))}")
    if unknown := [each for each in members if each.change is Change.UNKNOWN]:
        parts.append(f"not to be told {_where(unknown, len(members))}: too few repetitions")
    return f"{metric}: {'; '.join(parts)}."


def _where(found: Sequence[Comparison], of: int) -> str:
    if len(found) == 1:
        return f"at {found[0].point}"
    if len(found) == of:
        return f"at all {of} points"
    return f"at {len(found)} of {of} points ({found[0].point} and others)"


def _one_side(before: Sequence[CellResult], after: Sequence[CellResult]) -> tuple[list[str], list[str]]:
    old, new = ({_key(c.cell.parameters): _point(c.cell.parameters) for c in cells} for cells in (before, after))
    return [old[key] for key in old if key not in new], [new[key] for key in new if key not in old]


def _point(parameters: Mapping[str, ParameterValue]) -> str:
    return " ".join(f"{name}={_value(value)}" for name, value in parameters.items()) or "all"


def _notes(sides: Iterable[tuple[RunRecord, Sequence[CellResult]]]) -> list[str]:
    return [f"{record.run_id}: {doubt}." for record, cells in sides for doubt in doubts(cells)]


def _value(value: ParameterValue) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _signed(value: float) -> str:
    return f"{value:+.0f}" if abs(value) >= 100 else f"{value:+.2g}" if abs(value) < 10 else f"{value:+.1f}"
