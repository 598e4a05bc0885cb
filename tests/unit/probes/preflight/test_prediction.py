"""Predictions of the next measurement, tried on series of which the truth is known."""

import math
import random

import pytest

from probes.preflight.history.prediction import WINDOW, back_test, needed, predict
from tests.support.preflight_made_up import SHAPES as COMMON_SHAPES

SHAPES = {**COMMON_SHAPES, "wide": lambda noise: noise.gauss(0, 0.3)}


def drawn(shape: str, count: int, *, drift: float = 0.0) -> list[float]:
    noise = random.Random(f"{shape} {count} {drift}")
    return [1e9 * math.exp(drift * number + SHAPES[shape](noise)) for number in range(count)]


@pytest.mark.parametrize("coverage", [0.8, 0.9])
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_of_a_stationary_series_hold_what_they_promise(shape, coverage):
    tested = back_test(drawn(shape, 1500), coverage)
    assert tested.coverage == pytest.approx(coverage, abs=0.035)
    assert tested.errors["prediction"] < tested.errors["last value"]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_first_interval_already_holds(shape):
    noise, tries, held = random.Random(shape), 1000, 0
    for _ in range(tries):
        *past, truth = [math.exp(SHAPES[shape](noise)) for _ in range(needed() + 1)]
        expected = predict(past)
        held += expected.low <= truth <= expected.high
    assert 0.86 <= held / tries <= 0.97


@pytest.mark.parametrize("drift", [-0.02, 0.02])
@pytest.mark.parametrize("shape", ["normal", "uniform"])
def test_intervals_follow_a_drift(shape, drift):
    tested = back_test(drawn(shape, 600, drift=drift))
    assert tested.coverage == pytest.approx(0.9, abs=0.04)
    assert tested.errors["prediction"] < tested.errors["mean"] / 5


def test_a_step_is_missed_and_then_learned():
    before, after = drawn("normal", 60), [each / 2 for each in drawn("normal", 200)]
    expected = predict(before)
    assert not expected.low <= after[0] <= expected.high
    assert predict([*before, *after[:6]]).value == pytest.approx(5e8, rel=0.12)
    assert predict([*before, *after[: WINDOW + 5]]).high < 6e8, "the step has left the window"
    tested = back_test([*before, *after])
    assert tested.coverage > 0.85
    assert tested.errors["prediction"] < tested.errors["mean"] / 2


def test_a_path_that_remembers_is_predicted_better_than_by_its_mean():
    noise, level, values = random.Random(5), 0.0, []
    for _ in range(600):
        level = 0.9 * level + noise.gauss(0, 0.1)
        values.append(1e8 * math.exp(level))
    tested = back_test(values)
    assert tested.errors["prediction"] < tested.errors["mean"]
    assert tested.coverage == pytest.approx(0.9, abs=0.04)


def test_equal_values_leave_no_doubt():
    expected = predict([5.0] * needed())
    assert (expected.low, expected.value, expected.high) == pytest.approx((5, 5, 5))
    assert back_test([5.0] * 30).coverage == 1


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95])
def test_too_few_values_have_no_interval(coverage):
    assert needed(0.9) == 10, "nine errors"
    values = drawn("normal", needed(coverage) + 1)
    assert predict(values[:-2], coverage).low is None
    assert predict(values[:-1], coverage).low is not None
    assert back_test(values[:-1], coverage) is None
    assert back_test(values, coverage).count == 1
