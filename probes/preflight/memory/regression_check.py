"""What measurements mean for a transfer: without it a figure would say neither how long, nor whether all is well.

All works on the logarithm of the goodput of comparable measurements, one value (the median of its iterations) each:
iterations of one measurement share their moment, so they are no independent witnesses of the path.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from probes.preflight.memory.robust import mad_scale, mann_whitney, student_t, weighted_quantile

WINDOW = 60
"""How many comparable measurements today is judged against: the newest."""

MINIMUM = 8
"""Fewer tell too little of how a path varies: with seven the spread itself is uncertain by a factor of two."""

RECENT = 4
"""So many measurements in a row, the newest included, are also judged together."""

NEGLIGIBLE = 0.05
"""A change by less than this share is nobody's business, however steady the path used to be."""

HALF_LIFE = 10.0
"""For an expected duration a measurement counts half as much as one that is so many measurements newer."""

_CUT_OFF = 3.5
_SMALL_SAMPLE = 7.0
_P_VALUE = 0.01
_MAD_EFFICIENCY = 0.37


class Standing(StrEnum):
    """Where today lies against what a path used to give."""

    WITHIN = "within"
    BELOW = "below"
    ABOVE = "above"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Judgement:
    """Today against the past.

    Attributes:
        standing: below, within or above what the path used to give; unknown without enough history.
        today_bps: the newest measurement.
        usual_bps: the median of those before it; None without any.
        low_bps, high_bps: what a single measurement may be without being remarkable; None without enough history.
        count: how many comparable measurements there were before it.
        together: whether only the last few measurements together are remarkable, and not the newest by itself.
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
        """Today's difference to the usual, as a share of it: -0.2 is 20 % less."""
        return self.today_bps / self.usual_bps - 1 if self.usual_bps else None


@dataclass(frozen=True)
class Outlook:
    """How long a transfer takes.

    Attributes:
        seconds: expected.
        low_s, high_s: the 95 % prediction interval; None from a single figure.
        rate_bps: what was expected of the path.
        basis: what it rests on, in words.
    """

    seconds: float
    low_s: float | None
    high_s: float | None
    rate_bps: float
    basis: str


def judge(goodputs_bps: Sequence[float]) -> Judgement:
    """Whether the newest of some comparable measurements is within what the path used to give.

    Two tests, either of which is enough, and neither of which calls less than `NEGLIGIBLE` a change:

    1. The newest by itself: further from the median of the `WINDOW` before it than 3.5 (1 + 7/n) times 1.4826 times
       their median absolute deviation (Iglewicz and Hoaglin, *How to Detect and Handle Outliers*, 1993; the factor for
       n values is ours, found by simulation, and makes up for how little a few values tell of a spread). Half of the
       history may be outages without upsetting it.
    2. The last `RECENT` together against the `WINDOW` before them: the test of Mann and Whitney (1947), exact, at 0.5 %
       on each side, which assumes no shape. It finds what lasts and is too small to stand out once.

    On stationary noise that is independent from measurement to measurement at most 5 % of the answers are a false
    `below`, for normal, Laplace, Student (3), uniform and exponential shapes, and any history of 8 or more. A drop by
    20 % is found at once where measurements vary by 3 %, and by its fourth measurement where they vary by 8 %. A path
    that is busy every morning is not stationary: measure it at the same hours.

    Args:
        goodputs_bps: oldest first, the newest last.

    Raises:
        ValueError: there are none.
    """
    if not goodputs_bps:
        raise ValueError("nothing to judge")
    logs = [math.log(each) for each in goodputs_bps]
    today, before = logs[-1], logs[:-1][-WINDOW:]
    if len(before) < MINIMUM:
        usual = math.exp(statistics.median(before)) if before else None
        return Judgement(Standing.UNKNOWN, goodputs_bps[-1], usual, None, None, len(before))
    usual = statistics.median(before)
    reach = _CUT_OFF * (1 + _SMALL_SAMPLE / len(before)) * mad_scale(before)
    low, high = usual - max(reach, -math.log(1 - NEGLIGIBLE)), usual + max(reach, -math.log(1 - NEGLIGIBLE))
    standing = Standing.BELOW if today < low else Standing.ABOVE if today > high else Standing.WITHIN
    together = _together(logs) if standing is Standing.WITHIN else Standing.WITHIN
    return Judgement(
        standing if together is Standing.WITHIN else together,
        goodputs_bps[-1],
        *(math.exp(each) for each in (usual, low, high)),
        count=len(before),
        together=together is not Standing.WITHIN,
    )


def _together(logs: Sequence[float]) -> Standing:
    recent, before = logs[-RECENT:], logs[:-RECENT][-WINDOW:]
    if len(before) < MINIMUM:
        return Standing.WITHIN
    share, p_value = mann_whitney(before, recent)
    change = recent[-1] - statistics.median(before)
    if p_value > _P_VALUE or abs(change) < -math.log(1 - NEGLIGIBLE):
        return Standing.WITHIN
    return Standing.ABOVE if share > 0.5 else Standing.BELOW


def expect(size_bytes: float, goodputs_bps: Sequence[float], iterations_bps: Sequence[float] = ()) -> Outlook:
    """How long a transfer takes, from past and present measurements.

    The rate is the weighted median of the comparable goodputs, a measurement counting half as much as one that is
    `HALF_LIFE` measurements newer. Its 95 % prediction interval is the wider, on each side, of two: what the lowest and
    highest 2.5 % of that weight leave, and a log-normal one, Student's t times 1.4826 times the median absolute
    deviation times sqrt(1 + pi/2n), where n is Kish's effective number of values, the variance of a median is pi/2 that
    of a mean, and t has 0.37 (n - 1) degrees of freedom, a median absolute deviation being worth 37 % of a standard
    deviation (Rousseeuw and Croux, *Alternatives to the Median Absolute Deviation*, 1993). It is what the next
    measurement will be; a transfer that lasts far longer averages over more, and so varies less.

    If `judge` finds that the path has changed, the measurements since then give the rate, and those before only the
    spread. A single measurement gives the interval of its own iterations, which know of no other moment.

    Args:
        size_bytes: what is to be transferred.
        goodputs_bps: comparable measurements, oldest first.
        iterations_bps: the iterations of the newest.

    Raises:
        ValueError: there are no measurements.
    """
    judgement = judge(goodputs_bps)
    logs = [math.log(each) for each in goodputs_bps][-WINDOW:]
    if judgement.standing in (Standing.BELOW, Standing.ABOVE):
        since = _since_change(logs, judgement)
        before, after = logs[:-since], logs[-since:]
        usual, now = statistics.median(before), statistics.median(after)
        basis = f"{_count(since, 'measurement')} since the path changed, varying as the {len(before)} before"
        return _outlook(
            size_bytes, [each - usual + now for each in before], [1.0] * len(before), len(after), now, basis
        )
    basis = f"{_count(len(logs), 'comparable measurement')}, the newest weighing most"
    if len(logs) == 1 and len(iterations_bps) > 1:
        logs = [math.log(each) for each in iterations_bps]
        basis = f"the {len(logs)} iterations of one measurement, so of one moment only"
    weights = [2 ** (-age / HALF_LIFE) for age in range(len(logs) - 1, -1, -1)]
    effective = sum(weights) ** 2 / sum(weight**2 for weight in weights)
    return _outlook(size_bytes, logs, weights, effective, weighted_quantile(logs, weights, 0.5), basis)


def _since_change(logs: Sequence[float], judgement: Judgement) -> int:
    """How many of the newest measurements lie, without a gap, on the new side of the path's usual goodput."""
    usual = math.log(judgement.usual_bps or judgement.today_bps)
    sign = -1 if judgement.standing is Standing.BELOW else 1
    steps = (number for number, each in enumerate(reversed(logs)) if sign * (each - usual) < -math.log(1 - NEGLIGIBLE))
    return max(1, min(next(steps, 1), len(logs) // 2))


def _outlook(
    size_bytes: float, logs: Sequence[float], weights: Sequence[float], count: float, centre: float, basis: str
) -> Outlook:
    def seconds(log_rate: float) -> float:
        return size_bytes * 8 / math.exp(log_rate)

    if len(logs) == 1:
        return Outlook(seconds(centre), None, None, math.exp(centre), basis)
    t = student_t(0.975, max(1.0, _MAD_EFFICIENCY * (len(logs) - 1)))
    # Beyond a factor of a thousand an interval says only that nothing is known.
    reach = min(t * mad_scale(logs) * math.sqrt(1 + math.pi / 2 / count), math.log(1000))
    slowest = min(centre - reach, weighted_quantile(logs, weights, 0.025))
    fastest = max(centre + reach, weighted_quantile(logs, weights, 0.975))
    return Outlook(seconds(centre), seconds(fastest), seconds(slowest), math.exp(centre), basis)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
