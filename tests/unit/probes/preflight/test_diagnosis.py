"""The likely limit of measurements whose limit is known, and whether the advice has the right numbers."""

import itertools
from dataclasses import replace

import pytest

from probes.preflight.history.diagnosis import Limit, diagnose
from probes.preflight.history.past import PastMeasurement, load
from probes.preflight.history.recording import measurement_of
from probes.preflight.records import LimitedBy
from probes.preflight.spec import Direction, TransferSpec
from results.store.store import Store
from tests.support.preflight_made_up import HOST, day, iteration, measurement, store_result, stream, upload


@pytest.fixture
def kept(tmp_path):
    days = itertools.count()

    def keep(*rates_bps: float, **of_measurement: object) -> PastMeasurement:
        store_result(measurement(rates_bps, at=day(next(days)), **of_measurement), tmp_path)
        return load(Store.open(tmp_path, create=False), HOST)[-1]

    return keep


def test_a_small_window(kept):
    found = diagnose(kept(17e6, spec=TransferSpec(receive_buffer_bytes=65_536)), best_bps=1e9)
    assert found.limit is Limit.WINDOW and "65.54 kB per round trip of 30 ms carries 17.48 Mbit/s" in found.why
    # 1 Gb/s times 30 ms are 3.75 MB; 1000/17 = 58.8 streams.
    assert "window of 3.75 MB " in found.advice[0] and "--receive-buffer 3.75MB " in found.advice[0]
    assert "59 streams" in found.advice[1]


def test_a_window_that_hides_the_rest_is_advised_to_double(kept):
    found = diagnose(kept(17e6, spec=TransferSpec(ssh_window_bytes=65_536)), best_bps=0)
    assert found.limit is Limit.WINDOW and "34 Mbit/s" in found.advice[0] and "2 streams" in found.advice[1]


def test_a_window_that_is_large_enough_is_not_blamed(kept):
    assert diagnose(kept(900e6, spec=TransferSpec(receive_buffer_bytes=2**26)), 900e6).limit is Limit.BOTTLENECK


def test_the_sending_kernel_says_that_the_window_held_it(kept):
    found = diagnose(kept(100e6, spec=upload(), held_s=8.0), best_bps=1e9)
    assert found.limit is Limit.WINDOW and "the far end's window held the sender 80 % of the time" in found.why
    assert diagnose(kept(100e6, spec=upload(), held_s=1.0), best_bps=1e9).limit is not Limit.WINDOW


def test_loss(kept):
    # 10 s at 8 Mb/s are 6906 segments of 1448 B; 69 sent again are 1 %. Reno at 30 ms and 1 %: 4.7 Mb/s (Mathis).
    past = kept(8e6, spec=upload(), retransmitted=69)
    found = diagnose(past, best_bps=100e6, congestion_control="cubic")
    assert found.limit is Limit.LOSS
    assert found.figures["mathis"] == pytest.approx(4.73e6, rel=0.02)
    assert any("13 streams" in words for words in found.advice) and any("bbr" in words for words in found.advice)
    assert diagnose(past, 100e6, congestion_control="bbr").limit is not Limit.LOSS


def test_so_little_loss_explains_nothing(kept):
    assert diagnose(kept(8e6, spec=upload(), retransmitted=0), 100e6, "cubic").limit is Limit.UNKNOWN
    far_below = kept(0.5e6, spec=upload(), retransmitted=1)
    assert diagnose(far_below, 100e6, "cubic").limit is Limit.UNKNOWN


@pytest.mark.parametrize(
    ("rate_bps", "of_measurement", "best_bps", "limit", "why", "advice"),
    [
        (100e6, {"out_of_order": 2000}, 1e9, Limit.LOSS, "out of order", ""),
        (500e6, {"queue_ms": 40.0}, 1e9, Limit.BOTTLENECK, "from 30 to 70 ms", "--streams 2"),
        (930e6, {}, 940e6, Limit.BOTTLENECK, "best that this path ever gave", ""),
        (300e6, {}, 1e9, Limit.UNKNOWN, "the far end", ""),
    ],
    ids=["packets astray in a download", "a standing queue", "as good as ever", "what nothing explains"],
)
def test_what_a_download_shows(kept, rate_bps, of_measurement, best_bps, limit, why, advice):
    found = diagnose(kept(rate_bps, **of_measurement), best_bps)
    assert found.limit is limit and why in found.why
    assert advice in "\n".join(found.advice)


@pytest.mark.parametrize("verdict", [LimitedBy.CLIENT_LIMITED, LimitedBy.CIPHER_LIMITED, LimitedBy.DISK_LIMITED])
def test_the_probes_own_verdict_comes_first(kept, verdict):
    past = kept(17e6, spec=TransferSpec(receive_buffer_bytes=65_536), verdict=verdict, reason="busy 99 % of the time")
    found = diagnose(past, 1e9)
    assert found.limit is Limit.CLIENT and "busy 99 %" in found.why and found.advice


def test_a_rate_that_was_asked_for(kept):
    asked = TransferSpec(rate_limit_bps=100_000_000)
    assert diagnose(kept(99e6, spec=asked), 1e9).limit is Limit.RATE
    assert diagnose(kept(99e6, spec=asked, verdict=LimitedBy.RATE_LIMITED, reason="as asked"), 1e9).limit is Limit.RATE
    assert diagnose(kept(40e6, spec=asked), 1e9).limit is Limit.UNKNOWN


def test_without_round_trips_no_formula_is_used(kept):
    past = kept(100e6, spec=TransferSpec(receive_buffer_bytes=65_536))
    silent = replace(past, metrics={name: v for name, v in past.metrics.items() if not name.startswith("rtt")})
    assert diagnose(silent, 1e9).limit is Limit.UNKNOWN


def test_channels_of_one_connection_are_counted_once():
    shared = [stream(number, 50e6, retransmitted=30, port=40_000) for number in range(4)]
    own = [stream(number, 50e6, retransmitted=30) for number in range(4)]
    one = measurement_of(iteration(rate_bps=200e6, streams=shared), Direction.UPLOAD).metrics
    each = measurement_of(iteration(rate_bps=200e6, streams=own), Direction.UPLOAD).metrics
    assert (one["connections"].value, each["connections"].value) == (1, 4)
    assert (one["retransmitted"].value, each["retransmitted"].value) == (30, 120)
    assert one["loss"].value == pytest.approx(each["loss"].value / 4, rel=0.01)


def test_an_iteration_that_saw_nothing_has_the_metrics_that_it_has():
    bare = replace(iteration(rate_bps=None, streams=[]), intervals=())
    found = measurement_of(bare, Direction.DOWNLOAD)
    assert "goodput" not in found.metrics and "rtt" not in found.metrics
    assert found.metrics["connect"].value == pytest.approx(30)
