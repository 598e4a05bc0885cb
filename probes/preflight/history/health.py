"""The health of a path after each of its measurements, and when somebody should be told."""

import math
import statistics
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from flightpath.units import format_rate
from probes.preflight.history.past import PastMeasurement, comparable
from probes.preflight.history.regression_check import MINIMUM, WINDOW, Judgement, Standing, judge, unremarkable_distance

_SAME_TIME = timedelta(minutes=90)
"""Largest distance of times of day that count as the same."""

_DAY = timedelta(days=1)
_REACH = 3.0
"""Distance from the median, in spreads, beyond which a measurement is worse; good ones seldom are."""

_LEARNT = 28
"""Number of worse measurements in a row after which they count as usual."""

_FASTER = 21
"""Number of unusually fast ones among the last `_LEARNT` with which they count as usual; weekends have fewer."""

_Rated = tuple[datetime, float]
"""Time and logarithm of a goodput."""


class Health(StrEnum):
    """Health of a path by one measurement, from best to worst; from `worse` on, something is wrong."""

    HEALTHY = "healthy"
    UNKNOWN = "unknown"
    WORSE = "worse"
    UNTRUSTWORTHY = "untrustworthy"
    FAILED = "failed"

    @property
    def is_bad(self) -> bool:
        return self in (Health.WORSE, Health.UNTRUSTWORTHY, Health.FAILED)


@dataclass(frozen=True)
class Condition:
    """A path after its newest measurement.

    Attributes:
        health, reason: its health by that measurement, and the figures behind it.
        is_alert: whether the one before it was bad, too: a single bad one tells nobody.
        newest: None if the path was never measured.
        usual_bps: usual goodput of the path; None if that is unknown.
    """

    path: str
    health: Health
    reason: str
    is_alert: bool = False
    newest: PastMeasurement | None = None
    usual_bps: float | None = None


def judged(pasts: Sequence[PastMeasurement]) -> Judgement | None:
    """Judges the newest measurement by those before it; None if it did not measure the path."""
    newest = pasts[-1]
    if not (newest.measures_path and newest.goodputs_bps):
        return None
    return judge([past.goodput_bps for past in comparable(pasts, newest) if past.goodput_bps])


def condition(path: str, pasts: Sequence[PastMeasurement]) -> Condition:
    """Returns the condition of a path after its newest measurement; see `conditions`."""
    return next(reversed(list(conditions(path, pasts))), Condition(path, Health.UNKNOWN, "it was never measured"))


def conditions(path: str, pasts: Sequence[PastMeasurement]) -> Iterator[Condition]:
    """Yields the condition of a path after each measurement, oldest first.

    A measurement is `worse` if it is below the median of those before it by more than three times their spread
    (1.4826 times their median absolute deviation, and a factor that makes up for how uncertain the spread of a few is).
    They are those of the same time of day, if there are enough: a path that is busy every morning is not worse in the
    morning. Several in a row that were worse do not count among them, until there are `_LEARNT`: then they are what the
    path usually gives. So do unusually fast ones, if they are `_FASTER` of `_LEARNT`: else the path could lose
    all that it has gained without being worse. Interrupted measurements say nothing.
    """
    judged_ones = [past for past in pasts if past.goodputs_bps or past.has_ended]
    usual, bad, health = list[_Rated](), list[_Rated](), Health.UNKNOWN
    faster = deque[bool](maxlen=_LEARNT)
    for past in judged_ones:
        before = health
        assessment = _assess(past, usual)
        health = assessment.health
        yield Condition(path, health, assessment.reason, health.is_bad and before.is_bad, past, assessment.usual_bps)
        if not (past.measures_path and past.goodput_bps and past.conditions == judged_ones[-1].conditions):
            continue
        bad.append((past.at, math.log(past.goodput_bps)))
        if health is not Health.WORSE:
            usual += bad if len(bad) <= 2 else bad[-1:]
            bad = []
            faster.append(assessment.is_faster)
            if sum(faster) == _FASTER:
                usual = usual[-_FASTER:]
                faster.clear()
        elif len(bad) == _LEARNT:
            usual, bad = bad, []


@dataclass(frozen=True)
class _Assessment:
    """State of a path by one measurement.

    Attributes:
        is_faster: whether it is as far above the usual as a worse one is below.
    """

    health: Health
    reason: str
    usual_bps: float | None = None
    is_faster: bool = False


def _assess(past: PastMeasurement, usual: Sequence[_Rated]) -> _Assessment:
    if not past.goodputs_bps:
        return _Assessment(Health.FAILED, "; ".join(past.reasons) or "the measurement failed")
    if not past.measures_path or past.goodput_bps is None:
        return _Assessment(Health.UNTRUSTWORTHY, "; ".join(past.reasons) or "it did not measure the path")
    same_time = [log for at, log in usual if _is_same_time(at, past.at)][-WINDOW:]
    at_this_time = len(same_time) >= MINIMUM
    logs = same_time if at_this_time else [log for _, log in usual][-WINDOW:]
    if len(logs) < MINIMUM:
        return _Assessment(Health.UNKNOWN, f"too few measurements to judge: {len(logs)} of {MINIMUM} comparable ones")
    middle, reach = statistics.median(logs), unremarkable_distance(logs, _REACH)
    usual_bps, least_bps, most_bps = (math.exp(each) for each in (middle, middle - reach, middle + reach))
    when = " at this time of day" if at_this_time else ""
    reason = (
        f"{format_rate(past.goodput_bps)}, {past.goodput_bps / usual_bps - 1:+.0%} against the usual "
        f"{format_rate(usual_bps)}{when}; {format_rate(least_bps)} would be unremarkable"
    )
    health = Health.WORSE if past.goodput_bps < least_bps else Health.HEALTHY
    return _Assessment(health, reason, usual_bps, past.goodput_bps > most_bps)


def _is_same_time(one: datetime, other: datetime) -> bool:
    distance = abs(one - other) % _DAY
    return min(distance, _DAY - distance) <= _SAME_TIME


def judgement_text(judgement: Judgement) -> str:
    if judgement.standing is Standing.UNKNOWN or judgement.usual_bps is None or judgement.change is None:
        return f"too few measurements to judge: {judgement.count} of {MINIMUM} comparable ones"
    usual_range = f"{format_rate(judgement.low_bps or 0)} to {format_rate(judgement.high_bps or 0)}"
    together = "; not by itself, but the last few together are" if judgement.together else ""
    return (
        f"{judgement.standing} what this path used to give: {judgement.change:+.0%} against the usual "
        f"{format_rate(judgement.usual_bps)}; {usual_range} would be unremarkable{together} "
        f"({judgement.count} comparable measurements)"
    )
