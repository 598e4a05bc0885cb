"""Statistics that are robust to outliers, and independent of the distribution.

Without SciPy, because `preflight check` would spend most of its time on loading `scipy.stats`.
"""

import bisect
import functools
import math
import statistics
from collections.abc import Sequence

_NORMAL = 1.4826
"""Standard deviation of a normal distribution, as a multiple of its median absolute deviation."""


def mad_scale(values: Sequence[float]) -> float:
    """Estimates the standard deviation by the median absolute deviation; up to half of the values may be outliers.

    Raises:
        statistics.StatisticsError: there are no values.
    """
    centre = statistics.median(values)
    return _NORMAL * statistics.median(abs(value - centre) for value in values)


def weighted_quantile(values: Sequence[float], weights: Sequence[float], share: float) -> float:
    """Returns the value with a share of the weight below it, or the middle of two if the share is between them.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("no values")
    pairs = sorted(zip(values, weights, strict=True))
    wanted, below = math.fsum(weights) * share, 0.0
    for position, (value, weight) in enumerate(pairs):
        below += weight
        if math.isclose(below, wanted, rel_tol=1e-9) and position + 1 < len(pairs):
            return (value + pairs[position + 1][0]) / 2
        if below > wanted:
            return value
    return pairs[-1][0]


def share_above(first: Sequence[float], second: Sequence[float]) -> float:
    """Returns the fraction of pairs in which the second sample's value is larger; ties count half.

    Raises:
        ValueError: a sample is empty.
    """
    if not first or not second:
        raise ValueError("a comparison needs values on both sides")
    ordered = sorted(first)
    above = sum(bisect.bisect_left(ordered, value) + bisect.bisect_right(ordered, value) for value in second)
    return above / 2 / len(first) / len(second)


def mann_whitney(first: Sequence[float], second: Sequence[float]) -> float:
    """Returns the exact two-sided p value of the Mann-Whitney test.

    For small samples: the time is proportional to the square of the number of pairs.

    Source: Mann, Whitney, *On a Test of Whether one of Two Random Variables is Stochastically Larger than the Other*,
    1947.

    Raises:
        ValueError: a sample is empty.
    """
    share, pairs = share_above(first, second), len(first) * len(second)
    fewer = math.floor(min(share, 1 - share) * pairs + 1e-9)
    orders = sum(_orders(count, len(first), len(second)) for count in range(fewer + 1))
    return min(1.0, 2 * orders / math.comb(len(first) + len(second), len(first)))


@functools.cache
def _orders(pairs: int, first: int, second: int) -> int:
    """Counts the orders of both samples with a number of reversed pairs: the recurrence of Mann and Whitney."""
    if pairs < 0:
        return 0
    if first == 0 or second == 0:
        return int(pairs == 0)
    return _orders(pairs - second, first - 1, second) + _orders(pairs, first, second - 1)
