"""The health of a path after each of its measurements, and when somebody should be told."""

import math
import statistics
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
    path usually gives. Interrupted measurements say nothing.
    """
    judged_ones = [past for past in pasts if past.goodputs_bps or past.has_ended]
    usual, bad, health = list[_Rated](), list[_Rated](), Health.UNKNOWN
    for past in judged_ones:
        before = health
        health, reason, usual_bps = _assess(past, usual)
        yield Condition(path, health, reason, health.is_bad and before.is_bad, past, usual_bps)
        if not (past.measures_path and past.goodput_bps and past.conditions == judged_ones[-1].conditions):
            continue
        bad.append((past.at, math.log(past.goodput_bps)))
        if health is not Health.WORSE:
            usual += bad if len(bad) <= 2 else bad[-1:]
            bad = []
        elif len(bad) == _LEARNT:
            usual, bad = bad, []


def _assess(past: PastMeasurement, usual: Sequence[_Rated]) -> tuple[Health, str, float | None]:
    """Returns what a measurement says, the reason, and the usual goodput."""
    if not past.goodputs_bps:
        return Health.FAILED, "; ".join(past.reasons) or "the measurement failed", None
    if not past.measures_path or past.goodput_bps is None:
        return Health.UNTRUSTWORTHY, "; ".join(past.reasons) or "it did not measure the path", None
    same_time = [log for at, log in usual if _is_same_time(at, past.at)][-WINDOW:]
    at_this_time = len(same_time) >= MINIMUM
    logs = same_time if at_this_time else [log for _, log in usual][-WINDOW:]
    if len(logs) < MINIMUM:
        return Health.UNKNOWN, f"too few measurements to judge: {len(logs)} of {MINIMUM} comparable ones", None
    middle = statistics.median(logs)
    usual_bps, least_bps = math.exp(middle), math.exp(middle - unremarkable_distance(logs, _REACH))
    when = " at this time of day" if at_this_time else ""
    reason = (
        f"{format_rate(past.goodput_bps)}, {past.goodput_bps / usual_bps - 1:+.0%} against the usual "
        f"{format_rate(usual_bps)}{when}; {format_rate(least_bps)} would be unremarkable"
    )
    return Health.WORSE if past.goodput_bps < least_bps else Health.HEALTHY, reason, usual_bps


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
