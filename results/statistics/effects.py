"""Differences between two samples, with confidence intervals and tests."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from results.statistics.estimates import Estimate, growth_percent, log_ratio_spread, mean, students_t, welch

ALPHA = 0.05
"""Level of significance."""


@dataclass(frozen=True)
class Effect:
    """The difference between two samples of one quantity.

    Attributes:
        before, after: the means.
        change: change of the mean with its 95 % interval; in % of `before` if `relative`, else in the quantity's unit.
        relative: true if all values are positive, so that a ratio is meaningful.
        p: probability of so large a change by chance; None for too few values.
    """

    before: float
    after: float
    change: Estimate
    relative: bool
    p: float | None


def between(before: Sequence[float], after: Sequence[float]) -> Effect:
    """Compares two samples of independent repetitions by Welch's t, positive ones by the logarithm of their ratio.

    Two values on each side are enough. In simulations the test keeps its level for normal, Laplace, Student (3),
    uniform and exponential distributions; outliers widen the interval.

    Raises:
        ValueError: a sample is empty.
    """
    if not before or not after:
        raise ValueError("an effect needs values on both sides")
    first, last, p = statistics.mean(before), statistics.mean(after), None
    relative = min(*before, *after) > 0
    change = growth_percent(before, after) if relative else difference_of_means(after, before)
    if min(len(before), len(after)) > 1:
        distance = math.log(last / first) if relative else last - first
        variance, freedom = (log_ratio_spread if relative else _difference_spread)(after, before)
        p = _two_sided(distance, math.sqrt(variance), freedom)
    return Effect(first, last, change, relative, p)


def against_history(history: Sequence[float], today: float) -> Effect:
    """Compares one run's mean with those of earlier runs.

    Repetitions within a run are more alike than runs are, so each run counts as one value. The interval of the change
    is the prediction interval of one more run, moved to this one.

    Raises:
        ValueError: there is no history.
    """
    expected = prediction(history)
    relative = min(*history, today) > 0
    factor = 100 / expected.value if relative else 1.0
    change = (today - expected.value) * factor
    if expected.half_width is None:
        return Effect(expected.value, today, Estimate(change, None, None, len(history)), relative, None)
    reach = expected.half_width * factor
    p = _two_sided(today - expected.value, _prediction_error(history), len(history) - 1)
    return Effect(expected.value, today, Estimate(change, change - reach, change + reach, len(history)), relative, p)


def difference_of_means(later: Sequence[float], earlier: Sequence[float]) -> Estimate:
    """Returns the difference of two means with Welch's interval; without one if a sample has a single value."""
    difference, count = statistics.mean(later) - statistics.mean(earlier), min(len(later), len(earlier))
    if count == 1:
        return Estimate(difference, None, None, 1)
    variance, freedom = _difference_spread(later, earlier)
    reach = students_t(freedom) * math.sqrt(variance) if variance else 0.0
    return Estimate(difference, difference - reach, difference + reach, count)


def prediction(history: Sequence[float]) -> Estimate:
    """Returns the mean and the 95 % prediction interval of one more value, which takes at least three values.

    It is wider than the interval of the mean, because the next value varies too.

    Raises:
        ValueError: there are no values.
    """
    centre = mean(history).value
    if len(history) < 3:
        return Estimate(centre, None, None, len(history))
    reach = students_t(len(history) - 1) * _prediction_error(history)
    return Estimate(centre, centre - reach, centre + reach, len(history))


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns the p values, in their order, corrected for multiple tests (Holm, 1979)."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    raised, least = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        least = max(least, min(1.0, p_values[index] * (len(p_values) - rank)))
        raised[index] = least
    return raised


def _prediction_error(history: Sequence[float]) -> float:
    return statistics.stdev(history) * math.sqrt(1 + 1 / len(history))


def _two_sided(distance: float, error: float, freedom: float) -> float:
    if error == 0:
        return 1.0 if distance == 0 else 0.0
    from scipy import special  # as in `estimates`

    return float(2 * special.stdtr(freedom, -abs(distance) / error))


def _difference_spread(later: Sequence[float], earlier: Sequence[float]) -> tuple[float, float]:
    return welch([(statistics.variance(sample) / len(sample), len(sample) - 1) for sample in (later, earlier)])
