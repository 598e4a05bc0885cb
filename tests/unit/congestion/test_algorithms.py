"""The algorithms in a simulated network: each has the window of an independent model of what defines it."""

import shutil
from dataclasses import replace

import pytest

import congestion
from tests.support.congestion_links import link
from tests.support.congestion_models import MODELS, Course, course
from tests.support.congestion_simulation import Trial, simulate

SECONDS = 12

# A cut in slow start causes the first loss; a full queue or a later cut the others.
TRIALS = {
    "bic": Trial("bic", link(12, 60, 110), SECONDS, (0.2,), 0.005),
    "elastic": Trial("elastic", link(12, 60, 60), SECONDS, (0.2,), 0.005),
    "highspeed": Trial("highspeed", link(12, 200, 300), SECONDS, (0.65, 8), 0.02),
    "htcp": Trial("htcp", link(12, 60, 300), SECONDS, (0.2,), 0.005),
    "illinois": Trial("illinois", link(12, 60, 30), SECONDS, (0.2,), 0.005),
    "scalable": Trial("scalable", link(30, 60, 150), SECONDS, (0.2,), 0.005),
    "vegas": Trial("vegas", link(12, 60, 60), SECONDS, (2,), 0.005),
    "veno": Trial("veno", link(12, 60, 12), SECONDS, (0.25, 1.2, 1.43, 1.66, 1.89, 2.12, 2.35), 0.01),
    "westwood": Trial("westwood", link(12, 60, 30), SECONDS, (0.2,), 0.005),
}
# By how many segments a window may differ from that of its model, which has fractions of them.
SLACK = dict.fromkeys(TRIALS, 1) | {
    "bic": 2,  # its count of ACKs goes over from one stage of the search to the next, where fewer make a segment
    "htcp": 2,  # the longer the last loss is ago, the more there are for the ACK that makes a segment
    "vegas": 0.5,
    "veno": 1.5,  # beside a queue it grows by one in two round trips, and by none in one
}

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def flow(trial: Trial) -> Course:
    """Course of a flow, beside that of its algorithm's model."""
    return course(simulate(trial), MODELS[trial.algorithm]())


def test_all_that_is_shipped_is_tried():
    assert set(TRIALS) == set(congestion.shipped()) == set(MODELS)


@pytest.mark.parametrize("name", TRIALS)
def test_the_window_is_that_of_an_independent_model_to_the_segment_after_each_round_trip_and_loss(name):
    found = flow(TRIALS[name])
    assert any(each.slow_start for each in found.rounds)
    assert sum(not each.slow_start for each in found.rounds) > 20
    assert [each for each in found.rounds if each.off > SLACK[name]] == []
    assert any(not loss.slow_start for loss in found.losses)
    # The table of RFC 3649 has one b(w) for windows from 347 to 495, that of the largest. Illinois counts in 64ths.
    share = {"highspeed": 1 / 50, "illinois": 1 / 64}.get(name, 0)
    assert [loss for loss in found.losses if abs(loss.ssthresh - loss.predicted) > max(1, share * loss.cwnd)] == []


def test_htcp_backs_off_by_the_depth_of_the_queue_once_its_throughput_is_steady():
    last = flow(replace(TRIALS["htcp"], link=link(12, 60, 30))).losses[-1]
    assert last.ssthresh / last.cwnd == pytest.approx(60 / (60 + 30), abs=0.015)


@pytest.mark.parametrize("rtt_ms", [10, 50])
def test_vegas_comes_down_from_slow_start_to_the_first_window_that_queues_no_more_than_beta(rtt_ms):
    path = link(12, rtt_ms, 60)
    acks = simulate(Trial("vegas", path, 8))
    base_us, last = min(ack.rtt_us for ack in acks), acks[-1]
    segment_us = round(path.serialisation_s(path.frame_bytes) * 1e6)
    queued, with_one_more = (
        (last.cwnd + more) * (last.rtt_us + more * segment_us - base_us) // base_us for more in (0, 1)
    )
    assert queued <= 4 < with_one_more
