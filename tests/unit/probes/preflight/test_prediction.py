"""Predictions of the next measurement: on series of which the truth is known, and by `preflight predict` on stores."""

import math
import random
from datetime import UTC, datetime, timedelta

import pytest

from probes.preflight.history.prediction import WINDOW, back_test, needed, predict
from probes.preflight.records import LimitedBy
from probes.preflight.spec import TransferSpec
from tests.support.preflight_made_up import HOST, measurement, noisy, store_daily, store_result, upload
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


def store_recent(folder, rates_bps, **of_measurement):
    """Stores a measurement an hour, the newest just now."""
    now = datetime.now(UTC)
    for age, rate in enumerate(reversed(rates_bps)):
        store_result(measurement([rate], at=now - timedelta(hours=age), **of_measurement), folder)


def test_throughput_duration_and_latency_are_predicted(tmp_path, ask, told):
    store_recent(tmp_path, noisy(15), rtt_ms=25.0)
    found = told("predict", HOST, "--transfer", "900GB")
    goodput, transfer = found["expected"]["goodput"], found["transfer"]
    assert found["measurements"] == 15
    assert goodput["value"] == pytest.approx(900e6, rel=0.04)
    assert goodput["low"] < goodput["value"] < goodput["high"]
    assert transfer["seconds"] == pytest.approx(8000, rel=0.04)
    assert transfer["low_s"] < transfer["seconds"] < transfer["high_s"]
    assert [found["expected"][name]["value"] for name in ("rtt", "connect")] == pytest.approx([25, 30])
    printed = ask("predict", HOST, "--transfer", "900GB").out
    for words in ("time for 900 GB", "throughput", "round trip", "25 ms", "connection set-up"):
        assert words in printed


def test_settings_choose_the_history(tmp_path, ask, told):
    store_recent(tmp_path, noisy(11), spec=TransferSpec(streams=4))
    store_recent(tmp_path, noisy(11, usual_bps=300e6))
    store_recent(tmp_path, noisy(11, usual_bps=100e6), spec=upload())
    for words, rate in ((("--streams", "4"), 900e6), (("--streams", "1"), 300e6), (("--upload",), 100e6)):
        assert told("predict", HOST, *words)["expected"]["goodput"]["value"] == pytest.approx(rate, rel=0.05)
    store_recent(tmp_path, noisy(2), spec=TransferSpec(streams=8), verdict=LimitedBy.CLIENT_LIMITED, reason="busy")
    refused = ask("predict", HOST, "--streams", "8", code=2).err
    assert "with these settings" in refused and "preflight history" in refused


def test_back_testing_reports_coverage_and_errors(tmp_path, ask, told):
    store_daily(tmp_path, noisy(30))
    tested = told("predict", HOST, "--back-test")["back_tests"]["goodput"]
    assert tested["count"] == 30 - needed() and 0.78 <= tested["coverage"] <= 1
    assert 0 < tested["errors"]["prediction"] < tested["errors"]["last value"] < 0.1
    assert f"{tested['held']} of 20" in ask("predict", HOST, "--back-test").out


@pytest.mark.parametrize("count", [1, needed() - 1])
@pytest.mark.parametrize("words", [(), ("--back-test",)])
def test_a_small_history_predicts_nothing(tmp_path, ask, count, words):
    store_recent(tmp_path, noisy(count))
    refused = ask("predict", HOST, *words, code=4)
    assert not refused.out and "too small" in refused.err
    assert f"{needed() + len(words)} are needed" in refused.err


def test_an_old_history_predicts_only_on_request(tmp_path, ask):
    store_recent(tmp_path, noisy(3), host="other")
    store_daily(tmp_path, noisy(11), first_day=-3650)
    refused = ask("predict", HOST, code=4).err
    assert "too old" in refused and "--max-age" in refused
    ask("predict", HOST, "--max-age", "9000d")


@pytest.mark.parametrize(("outliers", "code"), [(1, 0), (2, 4)])
def test_a_path_that_has_just_changed_is_predicted_only_on_request(tmp_path, ask, outliers, code):
    store_recent(tmp_path, [*noisy(30), *noisy(outliers, usual_bps=300e6)])
    predicted = ask("predict", HOST, code=code)
    assert ("has just changed" in predicted.err) == (code == 4) == (not predicted.out)
    ask("predict", HOST, "--despite-change")
