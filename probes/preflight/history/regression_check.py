"""Judgement of a path by its past measurements, and a forecast of how long a transfer over it takes.

All computations are on the logarithm of the goodput of comparable measurements. Each measurement counts as one value,
the median of its iterations, because these share their moment and are not independent.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from flightpath.units import counted
from results.statistics.estimates import students_t
from results.statistics.robust import mad_scale, mann_whitney, weighted_quantile

WINDOW = 60
"""Maximum number of comparable measurements before the newest."""

MINIMUM = 8
"""Minimum number of measurements to judge: from seven, the spread is uncertain by a factor of two."""

RECENT = 4
"""Number of newest measurements that are also judged together."""

NEGLIGIBLE = 0.05
"""Smallest relative change that is reported, however steady the path used to be."""

HALF_LIFE = 10.0
"""Half-life of a measurement's weight in a forecast, in newer measurements."""

_CUT_OFF = 3.5
_SMALL_SAMPLE = 7.0
_P_VALUE = 0.01
_MAD_EFFICIENCY = 0.37
_NEGLIGIBLE_LOG = -math.log(1 - NEGLIGIBLE)
_LARGEST_FACTOR = 1000.0
"""Bound of a prediction interval: beyond it, the interval only says that nothing is known."""


class Standing(StrEnum):
    """Position of the newest measurement, compared with those before it."""

    WITHIN = "within"
    BELOW = "below"
    ABOVE = "above"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Judgement:
    """The newest measurement compared with those before it.

    Attributes:
        standing: unknown without enough history.
        usual_bps: median of those before it; None if there are none.
        low_bps, high_bps: range in which a single measurement is unremarkable; None without enough history.
        count: number of comparable measurements before it.
        together: whether only the last few together are remarkable, and not the newest alone.
    """

    standing: Standing
    today_bps: float
    usual_bps: float | None
    low_bps: float | None
    high_bps: float | None
    count: int
    together: bool = False

    @property
    def change(self) -> float | None:
        """Difference from the usual as a share of it: -0.2 is 20 % less."""
        return self.today_bps / self.usual_bps - 1 if self.usual_bps else None


@dataclass(frozen=True)
class Forecast:
    """The expected duration of a transfer.

    Attributes:
        low_s, high_s: the 95 % prediction interval; None if it is from a single value.
        rate_bps: the goodput behind the expectation.
        basis: data behind the forecast, in words.
    """

    seconds: float
    low_s: float | None
    high_s: float | None
    rate_bps: float
    basis: str


def judge(goodputs_bps: Sequence[float]) -> Judgement:
    """Compares the newest of some comparable measurements (oldest first) with those before it.

    Two tests, either of which is enough; neither reports a change of less than `NEGLIGIBLE`:

    1. The newest alone: its distance to the median of the `WINDOW` before it exceeds 3.5 (1 + 7/n) times 1.4826 times
       their median absolute deviation (Iglewicz and Hoaglin, *How to Detect and Handle Outliers*, 1993; the factor for
       n values was found by simulation and makes up for how uncertain the spread of a few values is). Outages in up to
       half of the history do not upset it.
    2. The last `RECENT` together against the `WINDOW` before them: the exact test of Mann and Whitney (1947) at 0.5 %
       on each side, which assumes no distribution. It finds lasting changes that are too small to stand out once.

    On stationary noise that is independent from measurement to measurement, at most 5 % of the answers are a false
    `below`, for normal, Laplace, Student (3), uniform and exponential distributions and any history of 8 or more. A
    drop by 20 % is found at once if measurements vary by 3 %, and by its fourth measurement if they vary by 8 %. A path
    that is busy every morning is not stationary: measure it at the same time of day.

    Raises:
        ValueError: there are none.
    """
    if not goodputs_bps:
        raise ValueError("there is nothing to judge")
    logs = [math.log(each) for each in goodputs_bps]
    today, before = logs[-1], logs[:-1][-WINDOW:]
    if len(before) < MINIMUM:
        usual = math.exp(statistics.median(before)) if before else None
        return Judgement(Standing.UNKNOWN, goodputs_bps[-1], usual, None, None, len(before))
    usual = statistics.median(before)
    reach = unremarkable_distance(before, _CUT_OFF)
    standing, together = _side(today - usual, reach), False
    if standing is Standing.WITHIN:
        standing = _recent_standing(logs)
        together = standing is not Standing.WITHIN
    usual_bps, low_bps, high_bps = (math.exp(each) for each in (usual, usual - reach, usual + reach))
    return Judgement(standing, goodputs_bps[-1], usual_bps, low_bps, high_bps, len(before), together)


def unremarkable_distance(logs: Sequence[float], spreads: float) -> float:
    """Returns how far from the median of some values the next one may be, given in spreads of an exactly known one."""
    return max(spreads * (1 + _SMALL_SAMPLE / len(logs)) * mad_scale(logs), _NEGLIGIBLE_LOG)


def _side(distance: float, reach: float) -> Standing:
    return Standing.BELOW if distance < -reach else Standing.ABOVE if distance > reach else Standing.WITHIN


def _recent_standing(logs: Sequence[float]) -> Standing:
    recent, before = logs[-RECENT:], logs[:-RECENT][-WINDOW:]
    if len(before) < MINIMUM or mann_whitney(before, recent) > _P_VALUE:
        return Standing.WITHIN
    return _side(recent[-1] - statistics.median(before), _NEGLIGIBLE_LOG)


def forecast(size_bytes: float, goodputs_bps: Sequence[float], iterations_bps: Sequence[float] = ()) -> Forecast:
    """Returns how long a transfer takes, from comparable measurements (oldest first) and the iterations of the newest.

    The rate is the weighted median of the comparable goodputs; a measurement counts half as much as one that is
    `HALF_LIFE` measurements newer. Its 95 % prediction interval is the wider, on each side, of two: the range without
    the lowest and highest 2.5 % of the weight, and a log-normal interval, which is Student's t times 1.4826 times the
    median absolute deviation times sqrt(1 + pi/2n). There n is Kish's effective number of values, a median has pi/2
    times the variance of a mean, and t has 0.37 (n - 1) degrees of freedom, because the median absolute deviation has
    37 % of the efficiency of the standard deviation (Rousseeuw and Croux, *Alternatives to the Median Absolute
    Deviation*, 1993). The interval is for the next measurement; a transfer that takes much longer averages over more,
    and so varies less.

    If `judge` finds that the path has changed, the measurements since the change give the rate, and those before it
    only the spread. From a single measurement, the interval is that of its iterations, which know of no other moment.

    Raises:
        ValueError: there are no measurements.
    """
    judgement = judge(goodputs_bps)
    logs = [math.log(each) for each in goodputs_bps][-WINDOW:]
    if judgement.standing in (Standing.BELOW, Standing.ABOVE):
        since = _since_change(logs, judgement)
        before, after = logs[:-since], logs[-since:]
        usual, now = statistics.median(before), statistics.median(after)
        basis = f"{counted(since, 'measurement')} since the path changed, with the spread of the {len(before)} before"
        moved = [each - usual + now for each in before]
        return _interval(size_bytes, moved, [1.0] * len(before), len(after), now, basis)
    basis = f"{counted(len(logs), 'comparable measurement')}, the newest with the most weight"
    if len(logs) == 1 and len(iterations_bps) > 1:
        logs = [math.log(each) for each in iterations_bps]
        basis = f"the {len(logs)} iterations of one measurement, so of one moment only"
    weights = [2 ** (-age / HALF_LIFE) for age in range(len(logs) - 1, -1, -1)]
    effective = sum(weights) ** 2 / sum(weight**2 for weight in weights)
    return _interval(size_bytes, logs, weights, effective, weighted_quantile(logs, weights, 0.5), basis)


def _since_change(logs: Sequence[float], judgement: Judgement) -> int:
    """Returns how many of the newest measurements lie, without a gap, on the new side of the usual goodput."""
    usual = math.log(judgement.usual_bps or judgement.today_bps)
    sides = (_side(each - usual, _NEGLIGIBLE_LOG) for each in reversed(logs))
    steps = (number for number, side in enumerate(sides) if side is not judgement.standing)
    return max(1, min(next(steps, 1), len(logs) // 2))


def _interval(
    size_bytes: float, logs: Sequence[float], weights: Sequence[float], count: float, centre: float, basis: str
) -> Forecast:
    def seconds(log_rate: float) -> float:
        return size_bytes * 8 / math.exp(log_rate)

    if len(logs) == 1:
        return Forecast(seconds(centre), None, None, math.exp(centre), basis)
    t = students_t(max(1.0, _MAD_EFFICIENCY * (len(logs) - 1)))
    reach = min(t * mad_scale(logs) * math.sqrt(1 + math.pi / 2 / count), math.log(_LARGEST_FACTOR))
    slowest = min(centre - reach, weighted_quantile(logs, weights, 0.025))
    fastest = max(centre + reach, weighted_quantile(logs, weights, 0.975))
    return Forecast(seconds(centre), seconds(fastest), seconds(slowest), math.exp(centre), basis)
