"""Statistics that one bad night does not upset: without them an outage would become what the path used to give.

In plain Python, because `preflight check` answers within a second and SciPy alone takes half of one to import; the
tests hold every function to SciPy's.
"""

import bisect
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

NORMAL_MAD = 1.4826
"""Times the median absolute deviation is the standard deviation, if values are normally distributed."""

_EXACT_UP_TO = 20
"""Size of the smaller sample up to which Mann and Whitney's distribution is counted out."""


@dataclass(frozen=True)
class Shift:
    """By how much one sample lies above another, with its 95 % confidence interval.

    Attributes:
        value: the estimate of Hodges and Lehmann: the median of all differences.
        low, high: the interval; None where the samples are too small for one.
        share_above: of all pairs, how many have the second sample's value above the first's; equal ones count half.
        p_value: of Mann and Whitney's test, both sides: how often chance alone separates equal samples so far.
    """

    value: float
    low: float | None
    high: float | None
    share_above: float
    p_value: float


def mad_scale(values: Sequence[float]) -> float:
    """The median absolute deviation from the median, times `NORMAL_MAD`; half of all values may be wild.

    Raises:
        statistics.StatisticsError: there are no values.
    """
    centre = statistics.median(values)
    return NORMAL_MAD * statistics.median(abs(value - centre) for value in values)


def weighted_quantile(values: Sequence[float], weights: Sequence[float], share: float) -> float:
    """The value with a share of the weight below it; the middle of two if the share falls between them.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("a quantile of nothing")
    pairs = sorted(zip(values, weights, strict=True))
    wanted, below = math.fsum(weights) * share, 0.0
    for position, (value, weight) in enumerate(pairs):
        below += weight
        if math.isclose(below, wanted, rel_tol=1e-9) and position + 1 < len(pairs):
            return (value + pairs[position + 1][0]) / 2
        if below > wanted:
            return value
    return pairs[-1][0]


def student_t(probability: float, freedom: float) -> float:
    """The quantile of Student's t for a probability in (0.5, 1); degrees of freedom at least 1, also fractions.

    Found by bisection of the integral of the density after t = sqrt(freedom) tan(angle), which makes it smooth and
    its range finite.
    """
    constant = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    target, steps = (probability - 0.5) / constant, 400
    width = math.pi / 2 / steps
    heights = [max(math.cos(number * width), 0.0) ** (freedom - 1) for number in range(steps + 1)]
    middles = [math.cos((number + 0.5) * width) ** (freedom - 1) for number in range(steps)]
    area = 0.0
    for number in range(steps):  # Simpson's rule, a step at a time
        piece = width / 6 * (heights[number] + 4 * middles[number] + heights[number + 1])
        if area + piece >= target:
            angle = (number + (target - area) / piece) * width
            return math.sqrt(freedom) * math.tan(angle)
        area += piece
    return math.inf


def mann_whitney(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Mann and Whitney's test that two samples come from one distribution, whatever its shape.

    Source: Mann, Whitney, *On a Test of Whether one of Two Random Variables is Stochastically Larger than the Other*,
    1947; its recurrence for small samples, the normal limit with correction for continuity for large ones.

    Returns:
        How often a value of the second sample is above one of the first, as a share of all pairs (equal ones count
        half), and the probability (both sides) that chance alone brings it so far from one half.

    Raises:
        ValueError: a sample is empty.
    """
    if not first or not second:
        raise ValueError("a comparison needs values on both sides")
    ordered, pairs = sorted(first), len(first) * len(second)
    above = sum((bisect.bisect_left(ordered, each) + bisect.bisect_right(ordered, each)) / 2 for each in second)
    far = math.floor(min(above, pairs - above))
    return above / pairs, min(1.0, 2 * _chance_of_at_most(far, len(first), len(second)))


def hodges_lehmann(first: Sequence[float], second: Sequence[float]) -> Shift:
    """By how much the second sample is shifted against the first, with the interval that the rank test gives.

    Source: Hodges, Lehmann, *Estimates of Location Based on Rank Tests*, 1963; the interval is that of Hollander and
    Wolfe, *Nonparametric Statistical Methods*, section 4.3: all shifts that the test does not reject at 5 %.

    Raises:
        ValueError: a sample is empty.
    """
    share, p_value = mann_whitney(first, second)
    differences = sorted(after - before for after in second for before in first)
    cut = _largest_rejected(len(first), len(second))
    low, high = (None, None) if cut is None else (differences[cut], differences[-1 - cut])
    return Shift(statistics.median(differences), low, high, share, p_value)


def _largest_rejected(first: int, second: int) -> int | None:
    """The largest count of pairs that the test, at 5 % on both sides, still finds too few; None if even 0 is not."""
    low, high = -1, first * second // 2
    while low < high:
        middle = (low + high + 1) // 2
        if _chance_of_at_most(middle, first, second) <= 0.025:
            low = middle
        else:
            high = middle - 1
    return None if low < 0 else low


def _chance_of_at_most(count: int, first: int, second: int) -> float:
    if min(first, second) <= _EXACT_UP_TO and first * second <= 4000:
        ways = _ways(first, second)
        return sum(ways[: count + 1]) / math.comb(first + second, second)
    deviation = math.sqrt(first * second * (first + second + 1) / 12)
    return statistics.NormalDist().cdf((count + 0.5 - first * second / 2) / deviation)


def _ways(first: int, second: int) -> list[int]:
    """In how many orders of both samples each count of pairs occurs: the coefficients of a Gaussian binomial."""
    small, large = sorted((first, second))
    ways = [1] + [0] * (first * second)
    for step in range(1, small + 1):
        for power in range(len(ways) - 1, large + step - 1, -1):  # times 1 - q^(large + step)
            ways[power] -= ways[power - large - step]
        for power in range(step, len(ways)):  # divided by 1 - q^step
            ways[power] += ways[power - step]
    return ways
