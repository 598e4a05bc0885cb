"""`preflight predict` on stores: what it prints, and its exit codes."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from probes.preflight.history.prediction import needed
from probes.preflight.records import LimitedBy
from probes.preflight.spec import TransferSpec
from tests.support.preflight_made_up import HOST, day, measurement, noisy, store_daily, store_result, upload


def store_recent(folder, rates_bps, **of_measurement):
    """Stores a measurement an hour, the newest just now."""
    now = datetime.now(UTC)
    for age, rate in enumerate(reversed(rates_bps)):
        store_result(measurement([rate], at=now - timedelta(hours=age), **of_measurement), folder)


def test_throughput_duration_and_latency_are_predicted(tmp_path, ask):
    store_recent(tmp_path, noisy(15), rtt_ms=25.0)
    code, stdout, _ = ask("predict", HOST, "--transfer", "900GB", "--json")
    found = json.loads(stdout)
    goodput, transfer = found["expected"]["goodput"], found["transfer"]
    assert (code, found["measurements"]) == (0, 15)
    assert goodput["value"] == pytest.approx(900e6, rel=0.04)
    assert goodput["low"] < goodput["value"] < goodput["high"]
    assert transfer["seconds"] == pytest.approx(8000, rel=0.04)
    assert transfer["low_s"] < transfer["seconds"] < transfer["high_s"]
    assert found["expected"]["rtt"]["value"] == pytest.approx(25)
    assert found["expected"]["connect"]["value"] == pytest.approx(30)
    code, stdout, _ = ask("predict", HOST, "--transfer", "900GB")
    assert code == 0
    assert all(
        words in stdout for words in ("time for 900 GB", "throughput", "round trip", "25 ms", "connection set-up")
    )


def test_settings_choose_the_history(tmp_path, ask):
    store_recent(tmp_path, noisy(11), spec=TransferSpec(streams=4))
    store_recent(tmp_path, noisy(11, usual_bps=300e6))
    store_recent(tmp_path, noisy(11, usual_bps=100e6), spec=upload())
    expected = {
        words: json.loads(ask("predict", HOST, "--json", *words)[1])["expected"]["goodput"]["value"]
        for words in [("--streams", "4"), ("--streams", "1"), ("--upload",)]
    }
    assert list(expected.values()) == [pytest.approx(rate, rel=0.05) for rate in (900e6, 300e6, 100e6)]
    code, _, stderr = ask("predict", HOST, "--streams", "8")
    assert code == 2 and "with these settings" in stderr and "preflight history" in stderr


def test_back_testing_reports_coverage_and_errors(tmp_path, ask):
    store_daily(tmp_path, noisy(30))
    code, stdout, _ = ask("predict", HOST, "--back-test", "--json")
    tested = json.loads(stdout)["back_tests"]["goodput"]
    assert (code, tested["count"]) == (0, 30 - needed())
    assert 0.78 <= tested["coverage"] <= 1
    assert 0 < tested["errors"]["prediction"] < tested["errors"]["last value"] < 0.1
    code, stdout, _ = ask("predict", HOST, "--back-test")
    assert code == 0 and f"{tested['held']} of 20" in stdout


@pytest.mark.parametrize("count", [1, needed() - 1])
@pytest.mark.parametrize("words", [(), ("--back-test",)])
def test_a_small_history_predicts_nothing(tmp_path, ask, count, words):
    store_recent(tmp_path, noisy(count))
    code, stdout, stderr = ask("predict", HOST, *words)
    assert (code, stdout) == (4, "")
    assert "too small" in stderr and f"{needed() + len(words)} are needed" in stderr


def test_an_old_history_predicts_only_on_request(tmp_path, ask):
    store_recent(tmp_path, noisy(3), host="other")
    for number, rate in enumerate(noisy(11)):
        store_result(measurement([rate], at=day(number) - timedelta(days=3650)), tmp_path)
    code, _, stderr = ask("predict", HOST)
    assert code == 4 and "too old" in stderr and "--max-age" in stderr
    assert ask("predict", HOST, "--max-age", "9000d")[0] == 0


def test_what_did_not_measure_the_path_is_left_out(tmp_path, ask):
    store_recent(tmp_path, noisy(2), verdict=LimitedBy.CLIENT_LIMITED, reason="busy")
    assert ask("predict", HOST)[0] == 2
