"""The BPF algorithms on real links: each does what defines it, and has the window of an independent model.

All run at once, each on its own link, and several tests look at the trace of the same flow.
"""

import contextlib
import itertools
import json
import math
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

import congestion
from congestion import provision
from flightpath.processes import is_machine_root
from probes.transfers.tcp_flow import FlowTrace
from tests.support import congestion_links
from tests.support.congestion_links import Trial, link
from tests.support.congestion_models import MODELS, Course, HighSpeed, Loss, Round, course
from topologies.sandbox import sandbox

SECONDS = 12
PREFIX = "bpf_"  # so that the program is used even if the kernel has the algorithm itself
# A cut in slow start causes the first loss; a full queue or a later cut the others.
TRIALS = {
    "bic": Trial("bic", link(12, 60, 110), SECONDS, (0.2,), 0.005),
    "elastic": Trial("elastic", link(12, 60, 60), SECONDS, (0.2,), 0.005),
    "highspeed": Trial("highspeed", link(12, 200, 300), SECONDS, (0.65, 8), 0.02),
    "htcp": Trial("htcp", link(12, 60, 300), SECONDS, (0.2,), 0.005),
    "illinois": Trial("illinois", link(12, 60, 30), SECONDS, (0.2,), 0.005),
    "scalable": Trial("scalable", link(30, 60, 150), SECONDS, (0.2,), 0.005),
    "vegas": Trial("vegas", link(12, 60, 60), SECONDS, (0.2,), 0.005),
    "veno": Trial("veno", link(12, 60, 12), SECONDS, (0.25, 1.2, 1.43, 1.66, 1.89, 2.12, 2.35), 0.01),
    "westwood": Trial("westwood", link(12, 60, 30), SECONDS, (0.2,), 0.005),
}
pytestmark = [pytest.mark.alone, pytest.mark.skipif(not is_machine_root(), reason="only root may load BPF programs")]


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, FlowTrace]:
    """The traces of all algorithms, whose flows run at once."""
    kept = tmp_path_factory.mktemp("flows") / "traces.json"

    def body() -> int:
        trials = [Trial(**{**vars(trial), "algorithm": PREFIX + name}) for name, trial in TRIALS.items()]
        kept.write_text(json.dumps({name: trace.columns for name, trace in congestion_links.run(trials).items()}))
        return 0

    with contextlib.ExitStack() as stack:
        for name in TRIALS:
            stack.callback(provision.provision(name, name_prefix=PREFIX).release)
        assert sandbox.run_inside(body, keep=[kept.parent]) == 0
    return _read(kept)


@pytest.fixture(scope="module")
def courses(traces: dict[str, FlowTrace]) -> dict[str, Course]:
    """What each flow did, beside what the model of its algorithm would have done."""
    return {name: course(traces[name], MODELS[name](), TRIALS[name].link) for name in TRIALS}


def _read(kept: Path) -> dict[str, FlowTrace]:
    columns = json.loads(kept.read_text())
    return {
        name: FlowTrace(PREFIX + name, {column: tuple(values) for column, values in columns[PREFIX + name].items()})
        for name in TRIALS
    }


def steady(rounds: list[Round]) -> list[Round]:
    return [each for each in rounds if not each.slow_start]


def of_full_queue(losses: list[Loss]) -> Iterator[Loss]:
    """The losses after the last cut of a flow in congestion avoidance."""
    yield from (loss for loss in losses if not loss.slow_start and loss.at_s > 2.5)


def test_all_that_is_shipped_is_tried():
    assert set(TRIALS) == set(congestion.shipped()) == set(MODELS)


# The window is the model's


@pytest.mark.parametrize("name", TRIALS)
def test_the_window_grows_as_in_an_independent_model_within_a_segment_per_round_trip(courses, name):
    rounds = courses[name].rounds
    assert any(each.slow_start for each in rounds)
    assert len(steady(rounds)) > 20
    off = [each for each in rounds if abs(each.growth - each.predicted) > 1.05]
    assert len(off) <= 0.1 * len(rounds), off


@pytest.mark.parametrize("name", sorted(set(TRIALS) - {"vegas"}))  # which has no loss but the first
def test_a_loss_leaves_the_window_that_the_model_has_within_a_segment(courses, name):
    losses = [loss for loss in courses[name].losses if not loss.slow_start]
    assert losses
    slack = 0.06 if name == "westwood" else 0.02  # its bandwidth is a measurement
    off = [loss for loss in losses if abs(loss.ssthresh - loss.predicted) > max(1.05, slack * loss.cwnd)]
    assert len(off) <= 0.2 * len(losses), off


# What defines each


def test_vegas_keeps_alpha_to_beta_segments_in_the_queue_and_loses_none(traces):
    columns, spec = traces["vegas"].columns, TRIALS["vegas"].link
    half = len(columns["time_ns"]) // 2
    segment_us = spec.frame_bytes * 8e6 / spec.bandwidth_bps
    queued = [(rtt - columns["minimum_rtt_us"][-1]) / segment_us for rtt in columns["rtt_us"][half:]]
    # It uses the least round trip of each round; the mean includes the sender's own bursts.
    assert 2 - 1 <= statistics.median(queued) <= 4 + 3
    assert columns["retransmissions"][half] == columns["retransmissions"][-1]


def test_veno_takes_a_fifth_at_a_random_loss_and_half_at_a_full_queue(courses):
    losses = [loss for loss in courses["veno"].losses if not loss.slow_start]
    at_random = [loss for loss in losses if loss.at_s < 2.6]
    assert len(at_random) >= 2
    assert all(loss.ssthresh == loss.cwnd * 4 // 5 for loss in at_random), at_random
    full = list(of_full_queue(losses))
    assert full and all(loss.ssthresh / loss.cwnd == pytest.approx(0.5, abs=0.02) for loss in full)


def test_htcp_grows_the_faster_the_longer_the_last_loss_is_ago(courses):
    found = courses["htcp"]
    begin = found.losses[0].repaired_s
    next_loss = min(loss.at_s for loss in found.losses[1:])
    growth = [
        statistics.fmean(each.growth for each in steady(found.rounds) if second <= each.at_s - begin < second + 1)
        for second in range(int(next_loss - begin))
    ]
    assert len(growth) >= 4
    assert growth[0] == pytest.approx(1, abs=0.5)
    assert all(later > before + 1 for before, later in itertools.pairwise(growth[1:])), growth
    # alpha(t) of the draft, scaled by the round trip, in the fourth second
    t = 2.5
    assert growth[3] == pytest.approx((1 + 10 * t + (t / 2) ** 2) * 0.6, rel=0.25)


def test_illinois_grows_fast_and_backs_off_little_while_the_queue_is_short(traces, courses):
    rounds = steady(courses["illinois"].rounds)
    longest = max(each.rtt for each in rounds)
    shortest = min(each.rtt for each in rounds)
    late = [each.growth for each in rounds if each.rtt > shortest + 0.8 * (longest - shortest)]
    assert statistics.fmean(late) == pytest.approx(0.35, abs=0.3)
    first = courses["illinois"].losses[0]
    assert first.ssthresh / first.cwnd > 0.6, "a loss with little delay took as much as one with a full queue"
    for loss in of_full_queue(courses["illinois"].losses):
        assert loss.ssthresh / loss.cwnd == pytest.approx(0.5, abs=0.06)


def test_scalable_grows_by_a_hundredth_and_loses_an_eighth(courses):
    large = [each for each in steady(courses["scalable"].rounds) if each.cwnd > 150]
    assert statistics.fmean(each.growth / each.cwnd for each in large) == pytest.approx(0.01, abs=0.0015)
    losses = [loss for loss in courses["scalable"].losses if not loss.slow_start]
    assert losses and all(loss.ssthresh / loss.cwnd == pytest.approx(7 / 8, abs=0.015) for loss in losses)


def test_highspeed_has_a_and_b_of_rfc_3649(courses):
    rounds = [each for each in steady(courses["highspeed"].rounds) if each.cwnd > 60]
    assert len(rounds) > 15
    grown, due = sum(each.growth for each in rounds), sum(math.ceil(HighSpeed.a(each.cwnd)) for each in rounds)
    assert grown == pytest.approx(due, rel=0.15)
    later = list(of_full_queue(courses["highspeed"].losses))
    assert later and all(
        1 - loss.ssthresh / loss.cwnd == pytest.approx(HighSpeed.b(loss.cwnd), abs=0.03) for loss in later
    )


def test_westwood_leaves_what_the_path_holds(courses):
    spec = TRIALS["westwood"].link
    held = spec.bandwidth_bps * (2 * spec.delay_s) / 8 / spec.frame_bytes
    losses = list(of_full_queue(courses["westwood"].losses))
    assert losses and all(loss.ssthresh == pytest.approx(held, rel=0.1) for loss in losses)
    assert all(loss.cwnd / 2 < 0.8 * held for loss in losses), "otherwise half would be as much"


def test_bic_bisects_up_to_the_last_maximum_and_then_leaves_it_ever_faster(courses):
    found = courses["bic"]
    last = found.losses[0]
    rounds = [each for each in steady(found.rounds) if last.repaired_s <= each.at_s < found.losses[1].at_s]
    maximum = last.ssthresh / 0.8
    below = [each for each in rounds if maximum - each.cwnd > 10]
    near = [each.growth for each in rounds if abs(maximum - each.cwnd) < 3]
    beyond = [each.growth for each in rounds if each.cwnd - maximum > 8]
    assert below and all(each.growth > 2 for each in below)
    assert len(near) > 5 and statistics.fmean(near) < 1
    assert len(beyond) >= 2 and beyond == sorted(beyond)


def test_elastic_grows_by_its_weighting_function(courses):
    found = courses["elastic"]
    longest = max(each.rtt for each in found.rounds)
    rounds = [each for each in steady(found.rounds) if each.at_s > 3]
    grown = sum(each.growth for each in rounds)
    assert grown == pytest.approx(sum(math.sqrt(longest / each.rtt * each.cwnd) for each in rounds), rel=0.1)
    assert all(loss.ssthresh / loss.cwnd == pytest.approx(0.5, abs=0.02) for loss in of_full_queue(found.losses))
