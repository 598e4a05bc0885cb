"""The algorithms in a simulated network: each does what defines it, and has the window of an independent model."""

import itertools
import math
import shutil
import statistics
from dataclasses import replace
from functools import cache

import pytest

import congestion
from tests.support.congestion_models import MODELS, Course, HighSpeed, Loss, Round, course
from tests.support.congestion_simulation import Ack, Trial, simulate
from topologies.links.spec import LinkSpec

SECONDS = 12


def link(megabits: int, rtt_ms: int, queue: int) -> LinkSpec:
    return LinkSpec(bandwidth_bps=megabits * 1_000_000, delay_s=rtt_ms / 2e3, queue=f"{queue}p")


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


@cache
def acks(name: str) -> list[Ack]:
    return simulate(TRIALS[name])


@cache
def flow(name: str) -> Course:
    """What a flow did, beside what the model of its algorithm would have done."""
    return course(acks(name), MODELS[name]())


def steady(name: str) -> list[Round]:
    return [each for each in flow(name).rounds if not each.slow_start]


def of_full_queue(name: str) -> list[Loss]:
    """The losses after the last cut of a flow in congestion avoidance."""
    losses = [loss for loss in flow(name).losses if not loss.slow_start and loss.at_s > 2.5]
    assert losses
    return losses


def test_all_that_is_shipped_is_tried():
    assert set(TRIALS) == set(congestion.shipped()) == set(MODELS)


# The window is the model's


@pytest.mark.parametrize("name", TRIALS)
def test_the_window_is_that_of_an_independent_model_to_the_segment_after_each_round_trip(name):
    assert any(each.slow_start for each in flow(name).rounds)
    assert len(steady(name)) > 20
    assert [each for each in flow(name).rounds if each.off > SLACK[name]] == []


@pytest.mark.parametrize("name", TRIALS)
def test_a_loss_leaves_the_window_that_the_model_has_to_the_segment(name):
    losses = flow(name).losses
    assert losses
    # The table of RFC 3649 has one b(w) for windows from 347 to 495, that of the largest. Illinois counts in 64ths.
    share = {"highspeed": 1 / 50, "illinois": 1 / 64}.get(name, 0)
    assert [loss for loss in losses if abs(loss.ssthresh - loss.predicted) > max(1, share * loss.cwnd)] == []


# What defines each


def test_vegas_keeps_alpha_to_beta_segments_in_the_queue_and_loses_none():
    spec = TRIALS["vegas"].link
    second_half = acks("vegas")[len(acks("vegas")) // 2 :]
    segment_us = spec.serialisation_s(spec.frame_bytes) * 1e6
    shortest_us = min(ack.rtt_us for ack in acks("vegas"))
    assert min(ack.rtt_us - shortest_us for ack in second_half) / segment_us >= 2
    assert max(ack.rtt_us - shortest_us for ack in second_half) / segment_us <= 4
    assert second_half[0].retransmissions == second_half[-1].retransmissions


def test_veno_takes_a_fifth_at_a_random_loss_and_half_at_a_full_queue():
    at_random = [loss for loss in flow("veno").losses if not loss.slow_start and loss.at_s < 2.5]
    assert len(at_random) == 6
    assert all(loss.ssthresh == loss.cwnd * 4 // 5 for loss in at_random), at_random
    assert all(loss.ssthresh == loss.cwnd // 2 for loss in of_full_queue("veno"))


def test_htcp_grows_the_faster_the_longer_the_last_loss_is_ago():
    first, second = flow("htcp").losses
    growth = [
        statistics.fmean(each.growth for each in steady("htcp") if at_s <= each.at_s - first.repaired_s < at_s + 1)
        for at_s in range(int(second.at_s - first.repaired_s))
    ]
    assert len(growth) == 6
    assert growth[0] == pytest.approx(1, abs=0.1)
    assert all(later > before + 1 for before, later in itertools.pairwise(growth[1:])), growth
    # alpha(t) of the draft, scaled by the round trip, in the middle of each second, less what whole segments round off
    due = [0.6 * (1 + 10 * t + (t / 2) ** 2) for t in (0.5, 1.5, 2.5, 3.5)]
    assert growth[1:5] == pytest.approx(due, abs=1, rel=0.2)


def test_htcp_backs_off_by_the_depth_of_the_queue_once_its_throughput_is_steady():
    last = course(simulate(replace(TRIALS["htcp"], link=link(12, 60, 30))), MODELS["htcp"]()).losses[-1]
    assert last.ssthresh / last.cwnd == pytest.approx(60 / (60 + 30), abs=0.015)


def test_illinois_grows_fast_and_backs_off_little_while_the_queue_is_short():
    rounds = steady("illinois")
    longest = max(each.rtt for each in rounds)
    shortest = min(each.rtt for each in rounds)
    late = [each.growth for each in rounds if each.rtt > shortest + 0.8 * (longest - shortest)]
    assert statistics.fmean(late) == pytest.approx(0.35, abs=0.05)
    first = flow("illinois").losses[0]
    assert first.ssthresh / first.cwnd > 0.6, "a loss with little delay took as much as one with a full queue"
    assert all(loss.ssthresh == math.ceil(loss.cwnd / 2) for loss in of_full_queue("illinois"))


def test_scalable_grows_by_a_hundredth_and_loses_an_eighth():
    large = [each for each in steady("scalable") if each.cwnd > 150]
    assert statistics.fmean(each.growth / each.cwnd for each in large) == pytest.approx(0.01, rel=0.03)
    assert all(loss.ssthresh == loss.cwnd - loss.cwnd // 8 for loss in flow("scalable").losses)


def test_highspeed_has_a_and_b_of_rfc_3649():
    rounds = [each for each in steady("highspeed") if each.cwnd > 60]
    assert len(rounds) > 15
    grown, due = sum(each.growth for each in rounds), sum(math.ceil(HighSpeed.a(each.cwnd)) for each in rounds)
    assert grown == pytest.approx(due, rel=0.05)
    for loss in of_full_queue("highspeed"):
        assert 1 - loss.ssthresh / loss.cwnd == pytest.approx(HighSpeed.b(loss.cwnd), abs=0.03)


def test_westwood_leaves_what_the_path_holds():
    spec = TRIALS["westwood"].link
    held = 2 * spec.delay_s / spec.serialisation_s(spec.frame_bytes)
    assert all(loss.ssthresh == pytest.approx(held, abs=2) for loss in of_full_queue("westwood"))
    assert all(loss.cwnd / 2 < 0.8 * held for loss in of_full_queue("westwood")), "otherwise half would be as much"


def test_bic_bisects_up_to_the_last_maximum_and_then_leaves_it_ever_faster():
    last, following = flow("bic").losses[:2]
    rounds = [each for each in steady("bic") if last.repaired_s <= each.at_s < following.at_s]
    below = [each.growth for each in rounds if last.cwnd - each.cwnd > 10]
    near = [each.growth for each in rounds if abs(last.cwnd - each.cwnd) < 3]
    beyond = [each.growth for each in rounds if each.cwnd - last.cwnd > 8]
    assert below and all(growth > 2 for growth in below)
    assert len(near) > 10 and statistics.fmean(near) == pytest.approx(31 / 16 / 5, abs=0.1)
    assert len(beyond) >= 2 and beyond == sorted(beyond)


def test_elastic_grows_by_its_weighting_function():
    longest = max(each.rtt for each in flow("elastic").rounds)
    rounds = [each for each in steady("elastic") if each.at_s > 3]
    grown = sum(each.growth for each in rounds)
    assert grown == pytest.approx(sum(math.sqrt(longest / each.rtt * each.cwnd) for each in rounds), rel=0.05)
    assert all(loss.ssthresh == loss.cwnd // 2 for loss in of_full_queue("elastic"))
