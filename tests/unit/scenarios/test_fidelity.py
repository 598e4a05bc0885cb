import dataclasses
from functools import partial
from types import SimpleNamespace

import pytest

from experiments import fidelity
from experiments.fidelity.findings import Finding
from experiments.fidelity.goodput import judge_goodput
from experiments.fidelity.links import expected_drops
from results.records import Certificate, Measurement, Metric, Series, Verdict
from topologies.calibration.records import Calibration, LinkCalibration, PathCalibration
from topologies.links.events import LinkEvent
from topologies.links.spec import BurstLoss, LinkSpec

FAITHFUL, DEGRADED, UNUSABLE = Verdict

GOOD = LinkCalibration("h1_a", "a_to_b", 5.02, 5.2, 5.0, rate_bps=50_010_000, expected_rate_bps=50_000_000)
PATH = PathCalibration("h1", "h2", 0, 0.6, 0.0)


def link(late_p99_us=100.0, **changes):
    counters = {
        "packets": 100_000,
        "drops": {"queue": 9, **changes.pop("drops", {})},
        "lateness_us": {"p99": late_p99_us},
        "late_share": 0.04,
        "rate_bps": 50_000_000,
        "max_frame_bytes": 6_250,
        **changes,
    }
    return {"h1_a": {"a_to_b": counters}}


def percent(*values):
    return Series("%", tuple(map(float, range(len(values)))), values)


certify = partial(
    fidelity.certify,
    facts={},
    idle=percent(40.0, 30.0, 35.0, 45.0),
    steal=percent(0.0, 1.0),
    links=link(),
    calibration=Calibration((GOOD,), (PATH,)),
    expected_drops={},
    congestion_control={"h1": {"cubic": 12}},
    expected_congestion_control="cubic",
)


def judged(**changes):
    certificate = certify(**changes)
    return certificate.verdict, "; ".join(certificate.reasons)


def test_a_testbed_that_kept_up_is_faithful():
    certificate = certify()
    assert certificate.verdict is FAITHFUL and not certificate.reasons
    assert certificate.found["links_before_load"][0]["rate_bps"] == 50_010_000
    assert certificate.found["idle_cpu_percent"] == [40.0, 30.0, 35.0, 45.0]


@pytest.mark.parametrize(
    ("offsets_s", "how"),
    [
        ((1e9, 1e9 + 1e-4, 1e9 - 1.0), "back by 1s"),
        ((1e9, 1e9 + 3600, 1e9), "forward by 1h"),
        ((1e9, 1e9 + 0.02), "forward by 20ms"),
        ((1e9, 1e9 + 0.002, 1e9 - 0.003), None),  # it went on evenly
    ],
)
def test_a_time_of_day_that_was_set_makes_a_cell_unusable_in_virtual_time_too(offsets_s, how):
    for clock in ("real", "virtual"):
        verdict, why = judged(facts={"clock": clock}, epoch_offsets_s=offsets_s)
        assert (verdict is UNUSABLE and f"time of day was set {how} " in why) if how else verdict is FAITHFUL


def test_in_virtual_time_processor_time_is_neither_judged_nor_kept():
    certificate = certify(facts={"clock": "virtual"}, idle=percent(0.0, 0.0))
    assert certificate.verdict is FAITHFUL
    assert not {"idle_cpu_percent", "steal_percent"} & certificate.found.keys()


@pytest.mark.parametrize(
    ("changes", "verdict", "why"),
    [
        ({"idle": percent(0.0, 50.0, 1.0)}, UNUSABLE, "no idle processor time in 67% of the seconds"),
        ({"idle": percent()}, UNUSABLE, "the processor time was not recorded"),
        ({"steal": percent(20.0)}, DEGRADED, "the hypervisor took 20 %"),
        ({"calibration": Calibration()}, DEGRADED, "the links were not calibrated before the load"),
        ({"congestion_control": {"h2": {"cubic": 10, "bbr": 2}}}, DEGRADED, "h2: 2 connections used bbr instead of"),
        ({"congestion_control": {}, "expected_congestion_control": None}, FAITHFUL, ""),
        ({"congestion_control": {}}, DEGRADED, "(cubic) was not recorded"),
        ({"congestion_control": {}, "findings": [Finding(UNUSABLE, "client")]}, UNUSABLE, "client; the congestion"),
    ],
)
def test_a_machine_its_calibration_a_congestion_control_and_a_client_can_be_at_fault(changes, verdict, why):
    found, reasons = judged(**changes)
    assert found is verdict and (why in reasons if why else not reasons)


@pytest.mark.parametrize(
    ("counters", "verdict", "why"),
    [
        ({"late_p99_us": 2_000}, DEGRADED, "at least 2.0 ms late at the 99th percentile (limit 1 ms; 4% of"),
        ({"late_p99_us": 20_000}, UNUSABLE, "at least 20.0 ms late at the 99th percentile"),
        ({"lateness_us": None, "late_share": None, "max_frame_bytes": None}, FAITHFUL, ""),  # another emulator
        ({"drops": {"device": 1}}, DEGRADED, "the emulator itself lost 1 packets"),
        ({"drops": {"malformed": 300}}, UNUSABLE, "the emulator itself lost 300 packets"),
        ({"max_frame_bytes": 65_536}, DEGRADED, "GSO packets of up to 65536 bytes, 10.5 ms on the wire (limit 1.5 ms)"),
    ],
)
def test_a_link_can_be_at_fault_during_the_load(counters, verdict, why):
    found, reasons = judged(links=link(**counters))
    assert found is verdict and (reasons.startswith(f"link h1_a (a to b): {why}") if why else not reasons)


def test_drops_are_unusable_unless_they_are_expected():
    dropped = link(drops={"loss": 3})
    assert judged(links=dropped) == (UNUSABLE, "link h1_a (a to b): unexpected drops, 3 by loss")
    assert judged(links=dropped, expected_drops={"h1_a": {"a_to_b": {"queue", "loss"}}}) == (FAITHFUL, "")


@pytest.mark.parametrize(
    ("fields", "events", "there", "back"),
    [
        ({}, [], {"queue"}, {"queue"}),
        ({"loss": 0.1}, [], {"queue", "loss"}, {"queue"}),
        ({"burst_loss": BurstLoss(0.1, 0.5)}, [], {"queue", "loss"}, {"queue"}),
        ({"discipline": "codel"}, [], {"queue", "aqm"}, {"queue"}),
        ({"corruption": 0.1}, ["5s h1->s1 corruption=1%"], {"queue"}, {"queue"}),
        ({}, ["5s h1-s1 down"], {"queue", "down"}, {"queue", "down"}),
        ({}, ["5s h1-s1 up"], {"queue"}, {"queue"}),
        ({}, ["5s h1->s1 blackhole=on"], {"queue", "blackhole"}, {"queue"}),
        ({}, ["5s h1-s1 discipline=fq_codel"], {"queue", "aqm"}, {"queue", "aqm"}),
    ],
)
def test_specification_and_events_tell_which_drops_are_expected(fields, events, there, back):
    host, switch = (SimpleNamespace(name=f"{node}-eth0", node=SimpleNamespace(name=node)) for node in ("h1", "s1"))
    built = SimpleNamespace(a_to_b=LinkSpec(**fields), b_to_a=LinkSpec(), intf1=host, intf2=switch)
    causes = expected_drops({"h1_a": built}, map(LinkEvent.parse, events))
    assert causes == {"h1_a": {"a_to_b": there, "b_to_a": back}}


def test_many_links_with_one_fault_are_one_reason():
    late_us = {"h1_a": 2_000, "h1_b": 4_000, "h2_a": 3_000}
    links = {name: link(late_p99_us=late)["h1_a"] for name, late in late_us.items()}
    (reason,) = certify(links=links).reasons
    assert reason.startswith("link h1_b (a to b): at least 4.0 ms late") and reason.endswith(", the worst of 3")


JITTER = {"delay_uncertainty_ms": 3.0, "rate_uncertainty": 0.1}


@pytest.mark.parametrize(
    ("measured", "verdict", "why"),
    [
        ({"rate_bps": 49_700_000}, FAITHFUL, ""),
        ({"rate_bps": 49_400_000}, DEGRADED, "rate 49.4Mbit instead of 50Mbit before the load"),
        ({"rate_bps": 55_000_000}, UNUSABLE, "rate 55Mbit instead of 50Mbit before the load"),
        ({"delay_ms": 5.25}, FAITHFUL, ""),
        ({"delay_ms": 5.5}, DEGRADED, "delay 5.50 ms instead of 5.00 ms before the load"),
        ({"delay_ms": 3.0}, UNUSABLE, "delay 3.00 ms instead of 5.00 ms before the load"),
        ({"delay_p99_ms": 12.0}, DEGRADED, "delay 12.0 ms at the 99th percentile (limit 10.0 ms) before the load"),
        ({"delay_ms": 7.0, "rate_bps": 46_000_000, **JITTER}, FAITHFUL, ""),
        ({"delay_ms": 9.5, **JITTER}, UNUSABLE, "delay 9.50 ms instead of 5.00 ms before the load"),
        ({"delay_ms": 90.0, "rate_bps": None, "not_judged": ("rate: by a trace", "delay: by a trace")}, FAITHFUL, ""),
        ({"rate_bps": None, "unchecked": ("rate: slow",)}, DEGRADED, "not checked before the load (rate: slow)"),
    ],
)
def test_a_link_can_be_at_fault_before_the_load(measured, verdict, why):
    calibration = Calibration((dataclasses.replace(GOOD, **measured),), (PATH,))
    assert judged(calibration=calibration) == (verdict, why and f"link h1_a (a to b): {why}")


@pytest.mark.parametrize(
    ("rtt_ms", "measured_time_ms", "changes", "verdict"),
    [
        (39.999, 0, {}, FAITHFUL),
        (41.5, 0, {}, FAITHFUL),
        (45.0, 0, {}, DEGRADED),
        (45.0, 300, {}, FAITHFUL),
        (20.0, 300, {}, DEGRADED),
        (45.0, 0, {"rtt_uncertainty_ms": 10.0}, FAITHFUL),
        (45.0, 0, {"is_judged": False}, FAITHFUL),
    ],
)
def test_another_round_trip_degrades(rtt_ms, measured_time_ms, changes, verdict):
    path = PathCalibration("h1", "h2", 1, rtt_ms, 40.0, **changes)
    certificate = certify(calibration=Calibration((GOOD,), (path,)), measured_time_ms=measured_time_ms)
    assert certificate.verdict is verdict


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"idle_cpu_percent": [0.0, 1.0, 0.0]}, "no idle processor time"),
        ({"idle_cpu_percent": [50.0], "links_during_load": link(late_p99_us=20_000)}, "20.0 ms late"),
        ({"idle_cpu_percent": [50.0]}, None),
        ({"clock": "virtual"}, None),
    ],
)
def test_a_machine_is_too_slow_for_want_of_processor_time_only(found, expected):
    why = fidelity.too_slow(Certificate(UNUSABLE, (), found))
    assert (expected in why) if expected else why is None


def transfer(goodput_bps, *rates):
    series = Series("bit/s", tuple(0.5 * index for index in range(len(rates))), rates)
    return Measurement({"goodput": Metric(goodput_bps, "bit/s")}, {"goodput": series})


@pytest.mark.parametrize(("goodput_bps", "verdicts"), [(362.5e6, []), (366e6, []), (375e6, [UNUSABLE])])
def test_more_payload_than_the_links_carry_is_no_measurement(goodput_bps, verdicts):
    found = judge_goodput(transfer(goodput_bps, 3e8), {"goodput": 362.5e6, "ftp_goodput": 1.0}, {})
    assert [finding.verdict for finding in found] == verdicts
    assert all("375.0 Mbit/s is more than the links carry (362.5 Mbit/s)" in finding.reason for finding in found)
    assert certify(findings=found).verdict is (verdicts or [FAITHFUL])[0]


@pytest.mark.parametrize(
    ("rates", "stall"),
    [
        ((9e8, 1e6, 0.0, 9e8), "goodput stood still for 1.0 s from 0.5 s on (7 retransmission timeouts of h2)"),
        ((9e8, 1e6, 9e8, 0.0, 9e8), ""),  # each is shorter than a second
        ((9e8, 9e8, 9e8, 0.0, 0.0), ""),  # after the end
        ((9e8, 2e7, 2e7, 2e7, 9e8), ""),  # the last stream
        ((0.0, 0.0, 0.0, 0.0, 0.0), ""),
        ((), ""),
    ],
)
def test_a_transfer_that_stands_still_is_found_with_its_timeouts(rates, stall):
    counters = {"h1": {"TcpExt.TCPTimeouts": 0}, "h2": {"TcpExt.TCPTimeouts": 7, "Tcp.RetransSegs": 9}}
    found = judge_goodput(transfer(1e8, *rates), {"goodput": 1e9}, counters)
    assert [tuple(finding) for finding in found] == ([(DEGRADED, stall)] if stall else [])


def test_a_stall_of_mptcp_is_told_by_its_own_counters():
    counters = {"h1": {"MPTcpExt.NoDSSInWindow": 26}, "h2": {"MPTcpExt.MPTCPRetrans": 41, "TcpExt.TCPTimeouts": 0}}
    (found,) = judge_goodput(transfer(1e8, 9e8, 0.0, 0.0, 9e8), {"goodput": 1e9}, counters)
    assert "h1 dropped 26 packets" in found.reason and "41 retransmissions by MPTCP's timer of h2" in found.reason


def test_a_watch_needs_a_name_for_every_link():
    testbed = SimpleNamespace(links=(SimpleNamespace(name="h9-eth0:s1-eth9"),))
    with pytest.raises(ValueError, match="h9-eth0:s1-eth9"):
        fidelity.Watch(testbed, links={})
