"""The likely limit of measurements whose limit is known, and whether the advice has the right numbers."""

from dataclasses import replace

import pytest

from probes.preflight.history.diagnosis import Limit, diagnose
from probes.preflight.history.past import PastMeasurement, load
from probes.preflight.history.recording import measurement_of
from probes.preflight.records import LimitedBy
from probes.preflight.spec import Direction, TransferSpec
from results.store.store import Store
from tests.support.preflight_made_up import HOST, iteration, measurement, store_result, stream, upload

SMALL = {"spec": TransferSpec(receive_buffer_bytes=65_536)}
LIMITED = {"spec": TransferSpec(rate_limit_bps=100_000_000)}
LOSSY = {"spec": upload(), "retransmitted": 69}
"""10 s at 8 Mb/s are 6906 segments of 1448 B; 69 sent again are 1 %."""

CASES = {
    # 1 Gb/s times 30 ms are 3.75 MB; 1000/17 = 58.8 streams.
    "a small window": (17e6, SMALL, 1e9, "", Limit.WINDOW, "carries 17.48 Mbit/s|window of 3.75 MB |59 streams"),
    "what it hides": (17e6, {"spec": TransferSpec(ssh_window_bytes=2**16)}, 0, "", Limit.WINDOW, "34 Mbit/s|2 streams"),
    "a large window": (9e8, {"spec": TransferSpec(receive_buffer_bytes=2**26)}, 9e8, "", Limit.BOTTLENECK, ""),
    "a sender that was held": (1e8, {"spec": upload(), "held_s": 8.0}, 1e9, "", Limit.WINDOW, "far end's window|80 %"),
    "one that was hardly held": (1e8, {"spec": upload(), "held_s": 1.0}, 1e9, "", Limit.UNKNOWN, ""),
    "loss": (8e6, LOSSY, 1e8, "cubic", Limit.LOSS, "13 streams|bbr"),
    "loss beside bbr": (8e6, LOSSY, 1e8, "bbr", Limit.UNKNOWN, ""),
    "no loss": (8e6, {**LOSSY, "retransmitted": 0}, 1e8, "cubic", Limit.UNKNOWN, ""),
    "loss that does not explain so little": (5e5, {**LOSSY, "retransmitted": 1}, 1e8, "cubic", Limit.UNKNOWN, ""),
    "packets astray in a download": (1e8, {"out_of_order": 2000}, 1e9, "", Limit.LOSS, "out of order"),
    "a standing queue": (5e8, {"queue_ms": 40.0}, 1e9, "", Limit.BOTTLENECK, "from 30 to 70 ms|--streams 2"),
    "as good as ever": (9.3e8, {}, 9.4e8, "", Limit.BOTTLENECK, "best that this path ever gave"),
    "what nothing explains": (3e8, {}, 1e9, "", Limit.UNKNOWN, "the far end"),
    "a rate that was asked for": (99e6, LIMITED, 1e9, "", Limit.RATE, ""),
    "a rate that was held": (99e6, {**LIMITED, "verdict": LimitedBy.RATE_LIMITED}, 1e9, "", Limit.RATE, ""),
    "a rate that was not reached": (40e6, LIMITED, 1e9, "", Limit.UNKNOWN, ""),
    **{
        str(verdict): (17e6, {**SMALL, "verdict": verdict, "reason": "busy 99 %"}, 1e9, "", Limit.CLIENT, "busy 99 %")
        for verdict in (LimitedBy.CLIENT_LIMITED, LimitedBy.CIPHER_LIMITED, LimitedBy.DISK_LIMITED)
    },
}


def past(folder, rate_bps: float, **of_measurement: object) -> PastMeasurement:
    store_result(measurement([rate_bps], **of_measurement), folder)
    return load(Store.open(folder, create=False), HOST)[-1]


@pytest.mark.parametrize(("rate_bps", "found", "best_bps", "control", "limit", "said"), CASES.values(), ids=CASES)
def test_a_limit_is_found_and_what_helps_is_said(tmp_path, rate_bps, found, best_bps, control, limit, said):
    diagnosis = diagnose(past(tmp_path, rate_bps, **found), best_bps, control)
    assert diagnosis.limit is limit
    text = "\n".join([diagnosis.why, *diagnosis.advice])
    assert [words for words in said.split("|") if words not in text] == [], text
    assert diagnosis.advice or limit is Limit.UNKNOWN


def test_without_round_trips_no_formula_is_used_and_with_them_it_is_mathis(tmp_path):
    # Reno at 30 ms and 1 %: 4.7 Mb/s.
    lossy = diagnose(past(tmp_path / "lossy", 8e6, **LOSSY), best_bps=100e6, congestion_control="cubic")
    assert lossy.figures["mathis"] == pytest.approx(4.73e6, rel=0.02)
    small = past(tmp_path / "small", 100e6, **SMALL)
    silent = replace(small, metrics={name: v for name, v in small.metrics.items() if not name.startswith("rtt")})
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
    found = measurement_of(replace(iteration(rate_bps=None, streams=[]), intervals=()), Direction.DOWNLOAD)
    assert "goodput" not in found.metrics and "rtt" not in found.metrics
    assert found.metrics["connect"].value == pytest.approx(30)
