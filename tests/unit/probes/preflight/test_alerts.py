"""Alerts of a path that is measured every six hours for twelve weeks, on histories of which the truth is known."""

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from probes.preflight.history.health import Health, conditions
from probes.preflight.history.past import PastMeasurement
from probes.preflight.records import LimitedBy
from results.records import RunStatus
from tests.support.preflight_made_up import SHAPES, each_shape
from tests.support.rings import nightly

START, EVERY = datetime(2027, 1, 4, 8, tzinfo=UTC), timedelta(hours=6)
WEEKS, FIRST, LASTS, LEVEL_SHIFT = 12 * 7 * 4, 40, 3, 312
KINDS = (0.6, 0.3, None, 0.7)
FAULTS = {FIRST + 14 * number + number % 4: KINDS[number % 4] for number in range(19)} | {LEVEL_SHIFT: 0.7}
"""By the check with which they begin: the share of the goodput that is left; None if nothing can be measured."""


def fault_at(check: int) -> int | None:
    if check >= LEVEL_SHIFT:
        return LEVEL_SHIFT
    return next((start for start in FAULTS if start <= check < start + LASTS), None)


def history(shape: str, noon: float, checks: int, faults: bool) -> Iterator[PastMeasurement]:
    """A path that gives the share `noon` of its goodput every noon."""
    noise = random.Random(f"{shape} {noon}")
    for check in range(checks):
        usual = 1e9 * (noon if check % 4 == 1 else 1.0) * math.exp(SHAPES[shape](noise))
        share = FAULTS[start] if faults and (start := fault_at(check)) is not None else 1.0
        rates, ended = ((), RunStatus.FAILED) if share is None else ((usual * share,), RunStatus.DONE)
        at, settings = START + check * EVERY, {"direction": "download"}
        yield PastMeasurement("", at, "dtn", "", settings, rates, LimitedBy.OK, (), bool(rates), ended, "", {})


@pytest.mark.parametrize("noon", [1.0, 0.75])
def test_faults_of_twelve_weeks_are_alerts_and_nothing_else_is(noon):
    alerts = [each.is_alert for each in conditions("dtn", list(history("normal", noon, WEEKS, faults=True)))]
    seen = {fault_at(check) for check, alert in enumerate(alerts) if alert} - {None}
    begun = [check for check, (before, now) in enumerate(itertools.pairwise(alerts), start=1) if now > before]
    false = [check for check in begun if fault_at(check) is None]
    assert len(seen) >= 19, f"missed: {FAULTS.keys() - seen}"
    assert len(false) <= WEEKS / 200


@pytest.mark.parametrize("noon", [nightly(1.0), 0.75])
@each_shape
def test_good_measurements_raise_at_most_one_false_alarm_in_200(shape, noon):
    checks = 800
    alerts = [each.is_alert for each in conditions("dtn", list(history(shape, noon, checks, faults=False)))]
    assert sum(now > before for before, now in itertools.pairwise(alerts)) <= checks / 200


def test_a_path_that_stays_slow_is_the_usual_after_a_week():
    alerts = [each.is_alert for each in conditions("dtn", list(history("normal", 1.0, LEVEL_SHIFT + 40, faults=True)))]
    assert all(alerts[LEVEL_SHIFT + 1 : LEVEL_SHIFT + 20]) and not any(alerts[LEVEL_SHIFT + 31 :])
    first = next(conditions("dtn", list(history("normal", 1.0, 1, faults=False))))
    assert (first.health, first.is_alert) == (Health.UNKNOWN, False)


@pytest.mark.parametrize("noon", [1.0, 0.75])
def test_what_a_path_has_gained_it_can_lose_again(noon):
    """Eight days after an upgrade by half, 40 % less is an alert, although that is nearly what was usual before."""

    def at_share(past: PastMeasurement, share: float) -> PastMeasurement:
        return replace(past, goodputs_bps=tuple(share * each for each in past.goodputs_bps))

    shares = [1.0] * 120 + [1.5] * 32 + [0.9] * 3
    pasts = [at_share(*each) for each in zip(history("normal", noon, 155, faults=False), shares, strict=True)]
    alerts = [each.is_alert for each in conditions("dtn", pasts)]
    assert alerts[-2:] == [True, True] and not any(alerts[FIRST:-2])
