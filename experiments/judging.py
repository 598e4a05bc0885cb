"""The rules by which measurements decide a claim.

A claim has a direction ("faster") and, where a paper states it, a size ("by 380 %"): two claims, each judged by itself.
Each allows a range of values. What was measured is a 95 % interval:

- all of it is in the range: reproduced;
- all of it is outside: not reproduced;
- it is partly outside, or there is none because of a single repetition: not decided.

A claim about several things, such as each file size, is judged for each of them, without pooling: one that fails makes
it not reproduced, one that was not measured makes it not tested.

Up to `EQUAL_PERCENT` is a tie in all claims, neither faster nor slower. The tolerance of a size is stated with it, and
follows from the precision with which the paper states its value.
"""

import itertools
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from experiments.claims import ClaimCheck, Evidence, InsufficientData, Outcome
from results.records import ClaimVerdict
from results.statistics.estimates import Estimate, growth_of_pairs, growth_percent, mean

EQUAL_PERCENT = 0.5
"""Differences up to this are a tie: half of the deviation between repetitions that the papers call minimal."""

ABOUT_PERCENT = 5.0
"""Tolerance of "about", "almost" and "no change", in per cent of the value."""

TWO_VALUES_PERCENT = 2.0
"""Tolerance of a ratio of two values stated with two digits or more: the papers' own deviation of 1 % for each."""

LEAST_PAIRS = 3
"""Fewest pairs for an interval: Student's t for two is 13 standard errors."""

ONE_REPETITION = "one repetition has no interval: --repeat 3"
TOO_WIDE = "the interval is too wide: more repetitions (--repeat)"

PERCENT = "{:+z.1f} %"
_MOST_NAMED = 3


class NotMeasured(InsufficientData):
    """The cells that a claim needs are missing; the text names their parameters."""


Found = Estimate | InsufficientData
"""A measured value, or the reason why there is none."""

Members = Callable[[Evidence], Mapping[str, Found]]
"""Finds what a claim is about: the value of each thing by its name, which is empty if there is only one."""

Point = Mapping[str, object]
"""Parameters of some cells; a tuple stands for any of its values."""


@dataclass(frozen=True)
class Range:
    """The values that a claim allows, both bounds included."""

    least: float = float("-inf")
    most: float = float("inf")

    def verdict(self, found: Estimate) -> ClaimVerdict:
        """Returns whether an interval is in the range, outside, or neither."""
        if found.low is None or found.high is None:
            return ClaimVerdict.NOT_DECIDED
        if self.least <= found.low and found.high <= self.most:
            return ClaimVerdict.REPRODUCED
        if found.high < self.least or found.low > self.most:
            return ClaimVerdict.NOT_REPRODUCED
        return ClaimVerdict.NOT_DECIDED


MORE, LESS = Range(least=EQUAL_PERCENT), Range(most=-EQUAL_PERCENT)
NOT_MORE = Range(most=EQUAL_PERCENT)
ALIKE = Range(-ABOUT_PERCENT, ABOUT_PERCENT)
"""Ranges of changes in per cent."""


def about(value: float, within: float) -> Range:
    """Returns the values that are near another one, on both sides."""
    return Range(value - within, value + within)


def of_ratio(percent: float, tolerance_percent: float) -> float:
    """Returns a tolerance of a ratio in percentage points of the change: 2 % of +100 % are 4 points."""
    return (1 + percent / 100) * tolerance_percent


def found(measure: Callable[[], Estimate]) -> Found:
    """Returns what a function measures, or why it cannot."""
    try:
        return measure()
    except InsufficientData as reason:
        return reason


def change(evidence: Evidence, metric: str, before: Point, after: Point, *, times: float = 1) -> Found:
    """Returns the change of a metric from some cells, or a multiple of them, to others in per cent.

    In virtual time, cells of the same repetition have the same seed, and so met the same chance, such as the moments of
    other traffic. They are compared by pairs (common random numbers), if there are `LEAST_PAIRS`.
    """

    def measure() -> Estimate:
        samples = sample(evidence, metric, before, times), sample(evidence, metric, after)
        pairs = _pairs(evidence.where(**before), evidence.where(**after), metric)
        if len(pairs) < LEAST_PAIRS:
            return growth(*samples)
        return growth_of_pairs([(times * first, last) for first, last in pairs])

    return found(measure)


def _pairs(before: Evidence, after: Evidence, metric: str) -> list[tuple[float, float]]:
    """Returns the positive values of a metric that two cells of one seed have."""
    first, last = before.by_seed(metric), after.by_seed(metric)
    pairs = [(first[seed], last[seed]) for seed in first if seed in last]
    return pairs if all(min(pair) > 0 for pair in pairs) else []


def sample(evidence: Evidence, metric: str, parameters: Point, factor: float = 1) -> list[float]:
    """Returns the values of a metric in cells with some parameters, times a factor.

    Raises:
        InsufficientData: there are none; it names the parameters.
    """
    part = evidence.where(**parameters)
    if evidence.cells and not part.cells:
        point = " ".join(_pair(name, value) for name, value in parameters.items())
        raise InsufficientData(f"{point}: {part.why_empty}") if part.left_out else NotMeasured(point)
    return [factor * value for value in part.values(metric)]


def growth(before: Sequence[float], after: Sequence[float]) -> Estimate:
    """Returns the change of the mean in per cent.

    Raises:
        InsufficientData: a mean is not positive.
    """
    if min(statistics.fmean(before), statistics.fmean(after)) <= 0:
        raise InsufficientData("a mean is not positive, so that there is no ratio")
    return growth_percent(before, after)


def level(evidence: Evidence, metric: str, *, scale: float = 1, **parameters: object) -> Found:
    """Returns the mean of a metric over some cells, in a unit of so many times its own."""
    return found(lambda: mean(sample(evidence, metric, parameters, scale)))


def steps(evidence: Evidence, metric: str, along: str, **parameters: object) -> dict[str, Found]:
    """Returns the change of a metric, among some cells, from each number of a parameter to the next larger one.

    Raises:
        InsufficientData: there is no larger one.
    """
    context = "".join(f", {name} {_shown(value)}" for name, value in parameters.items())
    return {
        f"{along} {small} to {large}{context}": change(
            evidence, metric, {**parameters, along: small}, {**parameters, along: large}
        )
        for small, large in itertools.pairwise(evidence.numbers(along, least=2))
    }


def judge(members: Mapping[str, Found], wanted: Range, form: str = PERCENT) -> Outcome:
    """Returns whether all members are in a range; `form` shows a value with its unit."""
    measured = {name: value for name, value in members.items() if isinstance(value, Estimate)}
    gaps = [value for value in members.values() if isinstance(value, InsufficientData)]
    verdicts = {name: wanted.verdict(value) for name, value in measured.items()}
    text = members_text(measured, form)
    if failing := [name for name in verdicts if verdicts[name] is ClaimVerdict.NOT_REPRODUCED]:
        return Outcome(ClaimVerdict.NOT_REPRODUCED, text, _naming("not so", failing))
    if gaps or not members:
        return Outcome(ClaimVerdict.NOT_TESTED, why=_why_untested(gaps))
    if vague := [name for name in verdicts if verdicts[name] is ClaimVerdict.NOT_DECIDED]:
        return Outcome(ClaimVerdict.NOT_DECIDED, text, _why_vague(vague, measured))
    return Outcome(ClaimVerdict.REPRODUCED, text)


def together(*outcomes: Outcome) -> Outcome:
    """Returns the outcome of a claim that says several things: the worst one decides, and says why."""
    order = (
        ClaimVerdict.NOT_REPRODUCED,
        ClaimVerdict.NOT_TESTED,
        ClaimVerdict.NOT_DECIDED,
        ClaimVerdict.REPRODUCED,
    )
    verdict = min((outcome.verdict for outcome in outcomes), key=order.index)
    measured = "; ".join(filter(None, (outcome.measured for outcome in outcomes)))
    deciding = (outcome.why for outcome in outcomes if outcome.verdict is verdict)
    why = "; ".join(dict.fromkeys(filter(None, deciding)))
    return Outcome(verdict, "" if verdict is ClaimVerdict.NOT_TESTED else measured, why)


def noted(outcome: Outcome, note: str) -> Outcome:
    """Returns the same outcome with a further remark; what was not tested needs none."""
    if outcome.verdict is ClaimVerdict.NOT_TESTED:
        return outcome
    return replace(outcome, why="; ".join(filter(None, (outcome.why, note))))


def claim(
    sentence: str,
    expected: str,
    members: Members,
    wanted: Range,
    *,
    form: str = PERCENT,
    note: Callable[[Evidence], str] = lambda evidence: "",
    needs_real_clock: bool = False,
) -> ClaimCheck:
    """Returns the claim that all of some things are in a range; `note` is a remark for the verdict."""

    def check(evidence: Evidence) -> Outcome:
        if not evidence.cells:
            raise InsufficientData(evidence.why_empty)
        return noted(judge(members(evidence), wanted, form), note(evidence))

    return ClaimCheck(sentence, expected, check, needs_real_clock)


def direction_and_size(
    sentence: str,
    members: Members,
    percent: float,
    within: float,
    *,
    direction: Range | None = None,
    stated: str = "",
    note: Callable[[Evidence], str] = lambda evidence: "",
    needs_real_clock: bool = False,
) -> tuple[ClaimCheck, ClaimCheck]:
    """Makes the claims that something changes in a direction, and by a size within some percentage points.

    Args:
        direction: the changes that the sentence allows; by default it follows from the size.
        stated: the paper's own words or values for the size.
        note: a remark for the verdict on the size.
    """
    direction = direction or (MORE if percent > 0 else LESS)
    words = {MORE: "more", LESS: "less", NOT_MORE: "not more"}[direction]
    size = f"{percent:+.3g} ± {within:.2g} %" + (f" ({stated})" if stated else "")
    return (
        claim(sentence, words, members, direction, needs_real_clock=needs_real_clock),
        claim(
            f"{sentence}: by how much",
            size,
            members,
            about(percent, within),
            note=note,
            needs_real_clock=needs_real_clock,
        ),
    )


def estimate_text(estimate: Estimate, form: str) -> str:
    """Returns a value with its interval, if it has one."""
    if estimate.low is None or estimate.high is None:
        return form.format(estimate.value)
    bound = form[: form.index("}") + 1]  # without the unit
    return f"{form.format(estimate.value)} ({bound.format(estimate.low)} to {bound.format(estimate.high)})"


def percent_text(estimate: Estimate) -> str:
    """Returns a difference in per cent with its interval, or a remark that there is none."""
    without = " (one repetition, no interval)" if estimate.low is None else ""
    return estimate_text(estimate, PERCENT) + without


def members_text(measured: Mapping[str, Estimate], form: str) -> str:
    """Returns each value with its interval, or the least and the greatest of many."""
    if len(measured) <= _MOST_NAMED:
        return "; ".join(f"{name}: {estimate_text(e, form)}".removeprefix(": ") for name, e in measured.items())
    least, most = (pick(measured, key=lambda name: measured[name].value) for pick in (min, max))
    return f"{' to '.join(_named_text(name, measured[name], form) for name in (least, most))}, of {len(measured)}"


def _named_text(name: str, estimate: Estimate, form: str) -> str:
    """Returns a value with its name and its interval: `+5.0 % (20 MB: +4.8 to +5.2)`."""
    text = estimate_text(estimate, form)
    return text.replace(" (", f" ({name}: ", 1) if estimate.low is not None else f"{text} ({name})"


def _why_untested(gaps: Sequence[InsufficientData]) -> str:
    points = dict.fromkeys(str(gap) for gap in gaps if isinstance(gap, NotMeasured))
    others = dict.fromkeys(str(gap) for gap in gaps if not isinstance(gap, NotMeasured))
    missing = f"{_listed(points)} {'was' if len(points) == 1 else 'were'} not measured" if points else ""
    return "; ".join(filter(None, (missing, _listed(others)))) or "no cell was measured"


def _why_vague(vague: Iterable[str], measured: Mapping[str, Estimate]) -> str:
    if any(measured[name].low is None for name in vague):
        return ONE_REPETITION
    return "; ".join(filter(None, (_naming("not sure", list(vague)), TOO_WIDE)))


def _naming(words: str, names: list[str]) -> str:
    return f"{words}: {_listed(map(_in_list, names))}" if names != [""] else ""


def _in_list(name: str) -> str:
    """Returns the name of a thing without commas outside of brackets: `cubic (tun4_path4)`."""
    first, comma, others = name.partition(", ")
    return f"{first} ({others})" if comma else name


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    more = len(names) - _MOST_NAMED
    return ", ".join([*names[:_MOST_NAMED], f"and {more} more"] if more > 0 else names)


def _pair(name: str, value: object) -> str:
    """Returns a parameter in words; a text says by itself what it is."""
    shown = _shown(value)
    return f"{name}={shown}" if shown[:1].isdigit() else shown


def _shown(value: object) -> str:
    return str(next(each for each in value if each is not None)) if isinstance(value, tuple) else str(value)
