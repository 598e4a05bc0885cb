"""Measures of races between flows: fairness, throughput, convergence; and waits and marks of a recording."""

import dataclasses

import numpy as np
import pytest

from flightpath.errors import UsageError
from flightpath.tcp_info import TcpInfo
from probes.transfers.tcp_flow import FlowTrace
from results.recording.journeys import ARRIVED, DROPPED, UNDER_WAY, Direction, Flow, Journeys
from results.records import Series
from scenarios.congestion.bottleneck_packets import packet_metrics, payload_bytes
from scenarios.congestion.race_measures import STEP_S, converged_after_s, goodput_bps, jain, throughput
from scenarios.congestion_race import CongestionRace
from tests.support.plans import plan_of
from topologies.links.texts import short_link


def trace(begin_s: float, acked: list[tuple[float, int]]) -> FlowTrace:
    """Returns a flow with these bytes acknowledged at these times after `begin_s`."""
    columns = {field.name: (1,) * len(acked) for field in dataclasses.fields(TcpInfo)}
    columns["time_ns"] = tuple(round((begin_s + at_s) * 1e9) for at_s, _ in acked)
    columns["acked_bytes"] = tuple(count for _, count in acked)
    return FlowTrace("mine", columns)


@pytest.mark.parametrize(("shares", "index"), [([5, 5], 1.0), ([3, 1], 0.8), ([1, 0, 0, 0], 0.25)])
def test_jain(shares, index):
    assert jain(shares) == pytest.approx(index)


def test_throughput_is_what_was_acknowledged_in_each_window():
    seen = throughput(trace(100, [(0, 0), (1, 125_000), (2, 375_000)]), 100, 2)
    assert (seen.times_s[0], seen.values[0], seen.values[-1]) == pytest.approx((0.25, 1e6, 2e6))


def test_before_a_flow_began_it_carried_nothing_and_after_its_last_look_nothing_more():
    late = trace(100, [(1, 0), (2, 125_000)])
    assert goodput_bps(late, 100, 0, 1) == 0
    assert goodput_bps(late, 100, 0, 2) == pytest.approx(0.5e6)
    assert goodput_bps(late, 100, 2, 3) == 0


@pytest.mark.parametrize(
    ("first", "second", "began_s", "after_s"),
    [
        ([10] * 5 + [5] * 30, [0] * 5 + [5] * 30, 0.2, 0.3),  # counted from when it stays fair
        ([10] * 10 + [5] * 3 + [0.5] * 20, [0.5] * 10 + [5] * 3 + [10] * 20, 0, None),  # a crossing
        ([5] * 8, [5] * 8, 0, None),  # the race ends too early
    ],
)
def test_a_race_has_converged_when_it_stays_fair(first, second, began_s, after_s):
    flows = [Series("bit/s", tuple(i * STEP_S for i in range(len(each))), tuple(each)) for each in (first, second)]
    assert converged_after_s(flows, began_s) == (None if after_s is None else pytest.approx(after_s))


def test_each_races_nobody_and_each():
    made = plan_of(CongestionRace(), "--algorithm", "cubic,bbr")
    assert made.axes == {"algorithm": ("cubic", "bbr"), "against": ("nobody", "cubic", "bbr")}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--algorithm", "cubic,cubic"], "are called 'cubic'"),
        (["--algorithm", ","], "cannot read"),
        (["--algorithm", "there/is/none.bpf.c"], "no such file"),
        (["--algorithm", "cubic", "--link", "100Mbit"], "--link"),
        (["--algorithm", "cubic", "--link", "100Mbit,20ms,1bdp,0,5"], "--link"),
    ],
)
def test_what_makes_no_race_is_refused(arguments, why):
    with pytest.raises(UsageError, match=why):
        plan_of(CongestionRace(), *arguments)


def test_a_link_in_short_has_a_queue_of_one_bandwidth_delay_product():
    spec = short_link("100Mbit,20ms")
    assert (spec.bandwidth_bps, spec.delay_s, spec.queue_bytes) == (100_000_000, 0.02, 500_000)
    assert short_link("10Mbit,5ms,20p,1%").loss == 0.01


MINE, OTHERS, ACKNOWLEDGEMENTS = range(3)
ECT0, CE = 2, 3
NAMES = ("TCP 10.0.0.1:1 → 10.0.0.2:2", "TCP 10.0.0.11:1 → 10.0.0.111:2", "TCP 10.0.0.2:2 → 10.0.0.1:1")


def found(*packets: tuple[int, int, int, int, int, int]) -> Journeys:
    """Packets of 1000 bytes on a link of 8 Mbit/s: flow, payload, wait (us), ECN before and behind, fate."""
    names = ("flow", "payload", "wait_us", "ecn", "arrived_ecn", "fate")
    columns = dict(zip(names, map(np.array, zip(*packets, strict=True)), strict=True))
    columns |= {"time": np.arange(len(packets)) * 10_000_000, "bytes": np.full(len(packets), 1000)}
    columns["sent"] = columns["time"] + columns["wait_us"] * 1000 + 1_000_000
    link = Direction("s1:s2", "s1", "s2", "", 8e6, 0, None, False)
    return Journeys(columns, [link], [Flow(name, "TCP", None, 0, 0, False, 0) for name in NAMES])


def test_waits_marks_and_drops_are_those_of_the_flow_s_own_data():
    journeys = found(
        (MINE, 900, 0, ECT0, ECT0, ARRIVED),
        (MINE, 900, 2000, ECT0, CE, ARRIVED),
        (MINE, 900, 4000, CE, CE, ARRIVED),  # marked before: not by this link
        (MINE, 900, 0, ECT0, 0, DROPPED),
        (MINE, 900, 0, ECT0, 0, UNDER_WAY),
        (MINE, 0, 9000, 0, 0, ARRIVED),
        (OTHERS, 900, 50_000, 0, 0, ARRIVED),
        (ACKNOWLEDGEMENTS, 900, 70_000, 0, 0, ARRIVED),
    )
    metrics = {name: metric.value for name, metric in packet_metrics(journeys, "10.0.0.1").items()}
    waits = {"queue_delay_mean": 2.0, "queue_delay_p50": 2.0, "queue_delay_p99": 3.96}
    assert metrics == pytest.approx({**waits, "marked": 100 / 3, "dropped": 25.0})
    assert packet_metrics(journeys, "10.0.0.11", "rival_")["rival_queue_delay_mean"].value == pytest.approx(50.0)
    assert packet_metrics(journeys, "10.0.0.99") == {}
    assert payload_bytes(journeys, "10.0.0.1") == 3 * 900
