"""Waiting: the limit is for progress, not for the whole."""

import itertools

import pytest

from flightpath.errors import MeasurementFailed
from flightpath.waiting import wait_until

LIMIT_S = 0.05


def test_it_goes_on_as_long_as_there_is_progress():
    steps = itertools.count()
    wait_until(lambda: next(steps) > 8, "nine steps", LIMIT_S, poll_s=0.005, progress=lambda: str(steps))


@pytest.mark.parametrize("settings", [{"progress": lambda: 7}, {}], ids=["which stands still", "which is not known"])
def test_it_gives_up_without_progress(settings):
    with pytest.raises(MeasurementFailed, match=r"gave up after 0\.05 s of waiting for rules on a1"):
        wait_until(lambda: False, "rules on a1", LIMIT_S, poll_s=0.005, **settings)
