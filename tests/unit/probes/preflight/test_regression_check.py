"""Meaning of measurements, tried on histories of which the truth is known."""

import math
import random

import pytest

from probes.preflight.history.regression_check import MINIMUM, RECENT, Standing, forecast, judge
from tests.support.preflight_made_up import SHAPES, each_shape, noisy

TB = 10**12


def drawn(shape: str, count: int, noise: random.Random) -> list[float]:
    return [1e9 * math.exp(SHAPES[shape](noise)) for _ in range(count)]


@pytest.mark.parametrize("before", [MINIMUM, 20, 60])
@each_shape
def test_stationary_noise_raises_few_false_alarms(shape, before):
    noise = random.Random(f"{shape} {before}")
    tries = 1200
    alarms = sum(judge(drawn(shape, before + 1, noise)).standing is Standing.BELOW for _ in range(tries))
    # 5 % are allowed; of 1200 draws with 5 %, all but one in a thousand show less than 6.9 %.
    assert alarms / tries <= 0.069


@pytest.mark.parametrize(("spread", "measured", "found"), [(0.03, 1, 0.9), (0.05, RECENT, 0.99), (0.08, RECENT, 0.9)])
def test_a_drop_of_20_percent_is_found(spread, measured, found):
    noise = random.Random(f"{spread} {measured}")
    tries, alarms = 400, 0
    for _ in range(tries):
        before = [math.exp(noise.gauss(0, spread)) for _ in range(20)]
        after = [0.8 * math.exp(noise.gauss(0, spread)) for _ in range(measured)]
        alarms += any(judge([*before, *after[: n + 1]]).standing is Standing.BELOW for n in range(measured))
    assert alarms / tries >= found


def test_a_rise_is_above_and_no_alarm():
    assert judge([*noisy(20), 1.4 * 900e6]).standing is Standing.ABOVE
    assert judge([*noisy(20, spread=0.08), *noisy(RECENT, usual_bps=1.25 * 900e6, spread=0.08)]).together


@pytest.mark.parametrize(("lowest", "together"), [(1, True), (2, False)])  # p by Mann and Whitney: 0.00998 and 0.029
def test_the_last_together_are_judged_at_half_a_per_cent_on_each_side(lowest, together):
    before = [math.exp(0.02 * number) for number in range(20)]
    recent = [before[lowest] * math.exp(0.001 * number + 0.001) for number in range(RECENT)]
    assert judge([*before, *recent]).together is together


def test_a_change_that_nobody_would_mind_is_none():
    steady = [1e9 + number for number in range(20)]
    assert judge([*steady, 0.96e9]).standing is Standing.WITHIN
    assert judge([*steady, *[0.96e9] * RECENT]).standing is Standing.WITHIN
    assert judge([*steady, 0.94e9]).standing is Standing.BELOW


def test_what_came_back_is_within():
    history = [*noisy(20, spread=0.08), *noisy(RECENT - 1, usual_bps=500e6, spread=0.01, seed=2), 900e6]
    assert judge(history).standing is Standing.WITHIN


def test_outages_in_the_past_do_not_hide_a_drop():
    history = noisy(40)
    for number in range(0, 40, 3):
        history[number] = 1e6
    assert judge([*history, 0.7 * 900e6]).standing is Standing.BELOW
    assert judge([*history, 900e6]).standing is Standing.WITHIN


@pytest.mark.parametrize("count", range(MINIMUM))
def test_without_history_nothing_is_judged(count):
    judged = judge([*noisy(count), 1e6])
    assert (judged.standing, judged.count, judged.low_bps) == (Standing.UNKNOWN, count, None)
    assert (judged.usual_bps is None) == (count == 0)


@each_shape
@pytest.mark.parametrize("count", [2, 5, 20, 60])
def test_the_interval_of_a_duration_holds_the_next_measurement(shape, count):
    noise = random.Random(f"{shape} {count}")
    tries, held = 400, 0
    for _ in range(tries):
        *past, truth = drawn(shape, count + 1, noise)
        expected = forecast(TB, past)
        held += expected.low_s <= TB * 8 / truth <= expected.high_s
    assert held / tries >= 0.88, "nominally 95 %, for noise of unknown shape"


def test_a_duration_is_the_size_over_the_usual_rate():
    expected = forecast(2 * TB, noisy(30))
    assert expected.seconds == pytest.approx(2 * TB * 8 / 900e6, rel=0.03)
    assert expected.low_s < expected.seconds < expected.high_s < 1.25 * expected.seconds
    assert "30 comparable measurements" in expected.basis
    equal = forecast(TB, [1e9] * 10)
    assert (equal.low_s, equal.high_s) == (pytest.approx(8000), pytest.approx(8000)), "equal figures leave no doubt"


def test_the_newest_weighs_most():
    declining = [1e9 * 0.9985**number for number in range(60)]
    # Half of the weight lies in the newest ten.
    assert declining[-14] > forecast(TB, declining).rate_bps > declining[-7]


def test_after_a_change_only_what_came_since_counts():
    history = [*noisy(30), *noisy(3, usual_bps=450e6, seed=2)]
    expected = forecast(TB, history)
    assert expected.rate_bps == pytest.approx(450e6, rel=0.05)
    assert expected.high_s < 1.3 * expected.seconds
    assert "3 measurements since the path changed" in expected.basis


def test_few_figures_promise_little():
    assert forecast(TB, [1e9]).low_s is None
    one = forecast(TB, [1e9], [0.9e9, 1e9, 1.1e9])
    assert one.low_s < one.seconds < one.high_s and "of one moment only" in one.basis
    two = forecast(TB, [1e9, 1.1e9])
    assert two.high_s > 1.5 * two.seconds
