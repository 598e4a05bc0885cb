"""How much two results differ: without this the better of two noisy figures would be called the faster one."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from results.statistics.estimates import Estimate, growth_percent, log_ratio_spread, mean, students_t, welch

ALPHA = 0.05
"""A difference is shown if chance alone would bring one so large less often than this."""


@dataclass(frozen=True)
class Effect:
    """What changed between two samples of one quantity.

    Attributes:
        before, after: the means.
        change: of the mean with its 95 % interval; in % of `before`, or in the quantity's unit if not `relative`.
        relative: whether both means are positive, so that a share of them means something.
        p: how probable so large a change is by chance alone; None where too few values tell nothing.
    """

    before: float
    after: float
    change: Estimate
    relative: bool
    p: float | None


def between(before: Sequence[float], after: Sequence[float]) -> Effect:
    """Two samples of independent repetitions, by Welch's t; of positive values on their logarithms.

    Raises:
        ValueError: a sample is empty.
    """
    if not before or not after:
        raise ValueError("an effect needs values on both sides")
    first, last = statistics.fmean(before), statistics.fmean(after)
    relative = min(*before, *after) > 0
    change = growth_percent(before, after) if relative else difference_of_means(after, before)
    return Effect(first, last, change, relative, _p_value(before, after, relative=relative))


def against_history(history: Sequence[float], today: float) -> Effect:
    """One run's mean against those of earlier runs.

    Repetitions within a run are more alike than runs are, so it is the runs that count: the change is shown with the
    interval in which one more run would lie if nothing had changed, moved to where this one lies.

    Raises:
        ValueError: there is no history.
    """
    expected = prediction(history)
    relative = min(*history, today) > 0
    factor = 100 / expected.value if relative else 1.0
    change = (today - expected.value) * factor
    reach = None if expected.half_width is None else expected.half_width * factor
    bounds = (None, None) if reach is None else (change - reach, change + reach)
    p = _p_value_of_one(today, history)
    return Effect(expected.value, today, Estimate(change, *bounds, len(history)), relative, p)


def difference_of_means(later: Sequence[float], earlier: Sequence[float]) -> Estimate:
    """The difference of two means of independent samples, with Welch's interval; none if a sample has one value."""
    difference, count = statistics.fmean(later) - statistics.fmean(earlier), min(len(later), len(earlier))
    if count == 1:
        return Estimate(difference, None, None, 1)
    variance, freedom = _difference_spread(later, earlier)
    reach = students_t(freedom) * math.sqrt(variance) if variance else 0.0
    return Estimate(difference, difference - reach, difference + reach, count)


def prediction(history: Sequence[float]) -> Estimate:
    """Where one more value is to be expected after some independent ones: mean, and 95 % prediction interval.

    Wider than the interval of the mean, because the next value scatters too. Fewer than three values allow none.

    Raises:
        ValueError: there are no values.
    """
    centre = mean(history).value
    if len(history) < 3:
        return Estimate(centre, None, None, len(history))
    reach = students_t(len(history) - 1) * statistics.stdev(history) * math.sqrt(1 + 1 / len(history))
    return Estimate(centre, centre - reach, centre + reach, len(history))


def holm(p_values: Sequence[float]) -> list[float]:
    """The same probabilities, raised for how many questions were asked at once (Holm, 1979), in the same order."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    raised, least = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        least = max(least, min(1.0, p_values[index] * (len(p_values) - rank)))
        raised[index] = least
    return raised


def _p_value(before: Sequence[float], after: Sequence[float], *, relative: bool) -> float | None:
    if min(len(before), len(after)) < 2:
        return None
    first, last = statistics.fmean(before), statistics.fmean(after)
    distance = math.log(last / first) if relative else last - first
    variance, freedom = log_ratio_spread(after, before) if relative else _difference_spread(after, before)
    return _two_sided(distance, math.sqrt(variance), freedom)


def _p_value_of_one(value: float, history: Sequence[float]) -> float | None:
    if len(history) < 3:
        return None
    spread = statistics.stdev(history) * math.sqrt(1 + 1 / len(history))
    return _two_sided(value - statistics.fmean(history), spread, len(history) - 1)


def _two_sided(distance: float, error: float, freedom: float) -> float:
    if error == 0:
        return 1.0 if distance == 0 else 0.0
    from scipy import special  # as `statistics` does

    return float(2 * special.stdtr(freedom, -abs(distance) / error))


def _difference_spread(later: Sequence[float], earlier: Sequence[float]) -> tuple[float, float]:
    return welch([(statistics.variance(sample) / len(sample), len(sample) - 1) for sample in (later, earlier)])
