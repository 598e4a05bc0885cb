"""Means, medians and ratios with their 95 % confidence intervals, and summaries of cells.

Means are exact: with `fmean` those of two and of three equal values may differ in the last bit, and in virtual time,
where repetitions are equal, no interval covers that.
"""

import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from results.records import CellResult, ParameterValue, Verdict
from results.statistics.blocks import without_machines

CONFIDENCE = 0.95

_FIRST_NUMBER = re.compile(r"\d{1,15}(\.\d{1,15})?")


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % confidence interval, from `count` repetitions; None if these are too few for one."""

    value: float
    low: float | None
    high: float | None
    count: int

    @property
    def half_width(self) -> float | None:
        """Half the interval's width; None without an interval."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    def contains(self, value: float) -> bool:
        """Returns whether the interval includes a value; False without an interval."""
        return self.low is not None and self.high is not None and self.low <= value <= self.high


@dataclass(frozen=True)
class Summary:
    """One metric over the repetitions of one parameter group.

    Attributes:
        parameters: common to the cells of the group.
        estimate: mean over the usable cells, or over the unusable ones if the group has no others.
        verdict: worst verdict of the cells in the mean.
        values: values of those cells.
        steady: the same, adjusted for machines of a cluster (`without_machines`), for intervals and comparisons.
        left_out: values of unusable cells that are not in the mean.
    """

    parameters: Mapping[str, ParameterValue]
    metric: str
    unit: str
    estimate: Estimate
    verdict: Verdict
    values: tuple[float, ...]
    steady: tuple[float, ...] = ()
    left_out: tuple[float, ...] = ()


def mean(values: Sequence[float]) -> Estimate:
    """Returns the mean, with an interval by Student's t for independent, roughly normal values; none for one value.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("a mean needs values")
    centre = statistics.mean(values)
    if len(values) == 1:
        return Estimate(centre, None, None, 1)
    error = statistics.stdev(values) / math.sqrt(len(values))
    reach = students_t(len(values) - 1) * error
    return Estimate(centre, centre - reach, centre + reach, len(values))


def median(values: Sequence[float]) -> Estimate:
    """Returns the median, with the interval between two order statistics (binomial, for any distribution).

    The interval has at least 95 % confidence; fewer than six values allow none.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("a median needs values")
    ordered, count = sorted(values), len(values)
    centre = statistics.median(ordered)
    import numpy as np
    from scipy import special  # here and below: slow to load, and not needed by most commands

    # The largest k with P(at most k - 1 values below the median) <= 2.5 %, so that each side misses it that rarely.
    below = int(np.searchsorted(special.bdtr(np.arange(count), count, 0.5), (1 - CONFIDENCE) / 2))
    if below == 0:
        return Estimate(centre, None, None, count)
    return Estimate(centre, ordered[below - 1], ordered[count - below], count)


def ratio_of_means(numerator: Sequence[float], denominator: Sequence[float]) -> Estimate:
    """Returns the ratio of two means of independent samples of positive values, with its interval.

    The interval is Welch's t on the logarithm of the ratio, whose variance is the sum of the squared coefficients of
    variation of both means (delta method). Fieller's exact interval is unbounded if a mean is not clearly different
    from zero, which happens with three repetitions; this one stays positive, and agrees with Fieller's if the variation
    is a few per cent. `count` is the smaller sample's; there is no interval if it is 1.

    Raises:
        ValueError: a sample is empty or its mean is not positive.
    """
    if not numerator or not denominator:
        raise ValueError("a ratio needs values on both sides")
    above, below = statistics.mean(numerator), statistics.mean(denominator)
    if above <= 0 or below <= 0:
        raise ValueError(f"a ratio of means needs positive means, not {above:g} and {below:g}")
    count = min(len(numerator), len(denominator))
    if count == 1:
        return Estimate(above / below, None, None, 1)
    variance, freedom = log_ratio_spread(numerator, denominator)
    factor = math.exp(min(students_t(freedom) * math.sqrt(variance), 700.0)) if variance else 1.0
    return Estimate(above / below, above / below / factor, above / below * factor, count)


def log_ratio_spread(numerator: Sequence[float], denominator: Sequence[float]) -> tuple[float, float]:
    """Returns variance and degrees of freedom of the logarithm of a ratio of means; samples have two values or more."""
    return welch(
        [(statistics.variance(s) / (len(s) * statistics.mean(s) ** 2), len(s) - 1) for s in (numerator, denominator)]
    )


def welch(parts: Sequence[tuple[float, int]]) -> tuple[float, float]:
    """Returns variance and degrees of freedom of a difference of means, from those of each mean (Welch, 1947)."""
    variance = sum(part for part, _ in parts)
    if variance == 0:
        return 0.0, float("inf")
    # As shares of the whole, because the square of a tiny variance underflows.
    return variance, 1 / sum((part / variance) ** 2 / degrees for part, degrees in parts)


def growth_percent(first: Sequence[float], last: Sequence[float]) -> Estimate:
    """Returns the growth of the mean from `first` to `last` in %, with the interval of `ratio_of_means`."""
    ratio = ratio_of_means(last, first)
    low, high = (None if bound is None else (bound - 1) * 100 for bound in (ratio.low, ratio.high))
    return Estimate((ratio.value - 1) * 100, low, high, ratio.count)


def growth_of_pairs(pairs: Sequence[tuple[float, float]]) -> Estimate:
    """Returns the geometric mean of the growth in several pairs in %, with its interval (Student's t of logarithms).

    Whatever both values of a pair share, such as the traffic that they met, does not widen it.

    Raises:
        ValueError: there are no pairs, or a value is not positive.
    """
    grown = mean([math.log(last / first) for first, last in pairs])
    low, high = (None if bound is None else _growth_of_logarithm(bound) for bound in (grown.low, grown.high))
    return Estimate(_growth_of_logarithm(grown.value), low, high, grown.count)


def _growth_of_logarithm(value: float) -> float:
    return 100 * math.expm1(min(value, 700.0))


def relative_deviation(values: Sequence[float]) -> Estimate:
    """Returns the standard deviation in % of the mean, with a chi-squared interval for normal repetitions.

    For a single value it is 0, without an interval.

    Raises:
        ValueError: there are no values, or their mean is not positive.
    """
    if not values or statistics.mean(values) <= 0:
        raise ValueError("a relative deviation needs values with a positive mean")
    if len(values) == 1:
        return Estimate(0.0, None, None, 1)
    from scipy import special

    deviation, freedom = 100 * statistics.stdev(values) / statistics.mean(values), len(values) - 1
    tail = (1 - CONFIDENCE) / 2
    low, high = (deviation * math.sqrt(freedom / special.chdtri(freedom, share)) for share in (tail, 1 - tail))
    return Estimate(deviation, float(low), float(high), len(values))


def farthest(values: Sequence[float]) -> Estimate:
    """Returns the distance of the value farthest from their mean, in % of the mean.

    It describes these values, not others to come: its interval is the value itself. For a single value it is 0, without
    an interval.

    Raises:
        ValueError: there are no values, or their mean is not positive.
    """
    if not values or (centre := statistics.mean(values)) <= 0:
        raise ValueError("a relative distance needs values with a positive mean")
    far = 100 * max(abs(value - centre) for value in values) / centre
    return Estimate(far, far, far, len(values)) if len(values) > 1 else Estimate(0.0, None, None, 1)


def difference(before: Estimate, after: Estimate) -> Estimate:
    """Returns the difference of two independent estimates in their unit.

    Its interval follows from both intervals, which need not be symmetric (MOVER: Zou and Donner, 2008); there is none
    if one of them has none.
    """
    value, count = after.value - before.value, min(before.count, after.count)
    if before.low is None or before.high is None or after.low is None or after.high is None:
        return Estimate(value, None, None, count)
    below = math.hypot(after.value - after.low, before.high - before.value)
    above = math.hypot(after.high - after.value, before.value - before.low)
    return Estimate(value, value - below, value + above, count)


def usable(cells: Iterable[CellResult]) -> list[CellResult]:
    return [cell for cell in cells if cell.certificate.verdict is not Verdict.UNUSABLE]


def group(
    cells: Iterable[CellResult], by: Sequence[str] | None = None
) -> dict[tuple[ParameterValue, ...], list[CellResult]]:
    """Groups cells by the values of the named parameters (by default all of the first cell), sorted.

    Cells that lack one of the parameters are left out.
    """
    cells = list(cells)
    names = tuple(by) if by is not None else tuple(cells[0].cell.parameters) if cells else ()
    groups: dict[tuple[ParameterValue, ...], list[CellResult]] = {}
    for cell in cells:
        if all(name in cell.cell.parameters for name in names):
            groups.setdefault(tuple(cell.cell.parameters[name] for name in names), []).append(cell)
    return dict(sorted(groups.items(), key=lambda item: [_sortable(value) for value in item[0]]))


def values_of(cells: Iterable[CellResult], parameter: str) -> list[ParameterValue]:
    """Returns the values of a parameter, sorted."""
    return [value for (value,) in group(cells, [parameter])]


def summarise(
    cells: Iterable[CellResult],
    metric: str,
    by: Sequence[str] | None = None,
    steady: Mapping[int, float] | None = None,
) -> list[Summary]:
    """Returns the mean of a metric for each parameter group; cells that did not measure it are left out.

    Args:
        by: parameters of a group, by default all.
        steady: values of `without_machines`, by default computed from these cells.

    Raises:
        ValueError: the metric has several units.
    """
    cells = [cell for cell in cells if metric in cell.measurement.metrics]
    units = {cell.measurement.metrics[metric].unit for cell in cells}
    if len(units) > 1:
        raise ValueError(f"{metric} has several units: {', '.join(sorted(units))}")
    unit = next(iter(units), "1")
    names = tuple(by) if by is not None else tuple(cells[0].cell.parameters) if cells else ()
    groups = group(cells, names)
    if steady is None:
        steady = without_machines([usable(members) for members in group(cells).values()], metric)
    return [
        _summary(dict(zip(names, key, strict=True)), metric, unit, members, steady) for key, members in groups.items()
    ]


def _summary(
    parameters: Mapping[str, ParameterValue],
    metric: str,
    unit: str,
    members: Sequence[CellResult],
    steady: Mapping[int, float],
) -> Summary:
    used = usable(members) or list(members)
    values = tuple(cell.measurement.metrics[metric].value for cell in used)
    of_one_machine = tuple(steady.get(id(cell), value) for cell, value in zip(used, values, strict=True))
    unused = [cell for cell in members if all(cell is not other for other in used)]
    left_out = tuple(cell.measurement.metrics[metric].value for cell in unused)
    verdict = Verdict.worst([cell.certificate.verdict for cell in used])
    return Summary(parameters, metric, unit, mean(of_one_machine), verdict, values, of_one_machine, left_out)


def students_t(freedom: float) -> float:
    """Returns Student's t: half the width of the 95 % interval, in standard errors."""
    from scipy import special

    return float(special.stdtrit(freedom, (1 + CONFIDENCE) / 2))


def _sortable(value: ParameterValue) -> tuple[int, float, str]:
    """Sorts numbers first, then texts by their leading number (`2k` before `11k`)."""
    if isinstance(value, (int, float)):
        return (0, float(value), "")
    number = _FIRST_NUMBER.match(value)
    return (1, float(number[0]), value) if number else (2, 0.0, value)
