"""The health of a path after each of its measurements, and when somebody should be told."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from flightpath.units import format_rate
from probes.preflight.history.past import PastMeasurement, comparable
from probes.preflight.history.regression_check import MINIMUM, Judgement, Standing, judge

_SAME_TIME = timedelta(minutes=90)
"""Largest distance of times of day that count as the same."""

_DAY = timedelta(days=1)


class Health(StrEnum):
    """What a measurement says of its path, from best to worst; from `worse` on, something is wrong."""

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
        health, reason: what that measurement says, and the figures behind it.
        is_alert: whether the one before it was bad, too: a single bad one tells nobody.
        newest: None if the path was never measured.
        usual_bps: what the path usually gives; None if that is unknown.
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
    """Returns the condition of a path with these measurements, oldest first.

    A measurement is `worse` if it is below what the path used to give, and below what it used to give at this time of
    day, where enough is known of that: a path that is busy every morning is not worse in the morning. Interrupted
    measurements say nothing.
    """
    told = [past for past in pasts if past.goodputs_bps or past.has_ended]
    if not told:
        return Condition(path, Health.UNKNOWN, "it was never measured")
    health, reason, usual_bps = _one(told)
    confirmed = health.is_bad and len(told) > 1 and _one(told[:-1])[0].is_bad
    return Condition(path, health, reason, confirmed, told[-1], usual_bps)


def _one(pasts: Sequence[PastMeasurement]) -> tuple[Health, str, float | None]:
    """Returns what the newest measurement says, the reason, and the usual goodput."""
    newest = pasts[-1]
    if not newest.goodputs_bps:
        return Health.FAILED, "; ".join(newest.reasons) or "the measurement failed", None
    judgement = judged(pasts)
    if judgement is None:
        return Health.UNTRUSTWORTHY, "; ".join(newest.reasons) or "it did not measure the path", None
    if judgement.standing is Standing.BELOW:
        same_time = [past for past in pasts[:-1] if _is_same_time(past, newest)]
        at_this_time = judged([*same_time, newest])
        if at_this_time and at_this_time.standing not in (Standing.BELOW, Standing.UNKNOWN):
            return Health.HEALTHY, f"{judgement_text(at_this_time)} at this time of day", at_this_time.usual_bps
    kinds = {Standing.BELOW: Health.WORSE, Standing.UNKNOWN: Health.UNKNOWN}
    return kinds.get(judgement.standing, Health.HEALTHY), judgement_text(judgement), judgement.usual_bps


def _is_same_time(past: PastMeasurement, newest: PastMeasurement) -> bool:
    distance = abs(past.at - newest.at) % _DAY
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
