import dataclasses

import pytest

from results.records import Series, Verdict
from scenarios import fidelity
from scenarios.fidelity.links import expected_drops
from topologies.calibration.records import Calibration, LinkCalibration, PathCalibration
from topologies.links.events import LinkEvent
from topologies.links.spec import BurstLoss, LinkSpec

GOOD = LinkCalibration("h1_a", "a_to_b", 5.02, 5.2, 5.0, rate_bps=50_010_000, expected_rate_bps=50_000_000)
PATH = PathCalibration("h1", "h2", 0, 0.6, 0.0)


def link(late_p99_us=100.0, name="h1_a", **changes):
    counters = {
        "packets": 100_000,
        "drops": {"queue": 9, **changes.pop("drops", {})},
        "lateness_us": {"p99": late_p99_us},
        "late_share": 0.04,
        "rate_bps": 50_000_000,
        "max_frame_bytes": 6_250,
        **changes,
    }
    return {name: {"a_to_b": counters}}


def certify(**changes):
    arguments = {
        "facts": {},
        "idle": Series("%", (0.0, 1.0, 2.0, 3.0), (40.0, 30.0, 35.0, 45.0)),
        "steal": Series("%", (0.0, 1.0), (0.0, 1.0)),
        "links": link(),
        "calibration": Calibration((GOOD,), (PATH,)),
        "expected_drops": {},
        "congestion_control": {"h1": {"cubic": 12}},
        "expected_congestion_control": "cubic",
    }
    return fidelity.certify(**{**arguments, **changes})


def calibrated(**changes):
    return certify(calibration=Calibration((dataclasses.replace(GOOD, **changes),), (PATH,)))


def test_a_testbed_that_kept_up_is_faithful():
    certificate = certify()

    assert certificate.verdict is Verdict.FAITHFUL
    assert not certificate.reasons
    assert certificate.found["links_before_load"][0]["rate_bps"] == 50_010_000
    assert certificate.found["idle_cpu_percent"] == [40.0, 30.0, 35.0, 45.0]


@pytest.mark.parametrize(
    ("offsets_s", "how"),
    [
        ((1e9, 1e9 + 1e-4, 1e9 - 1.0), "back by 1s"),
        ((1e9, 1e9 + 3600, 1e9), "forward by 3600s"),
        ((1e9, 1e9 + 0.02), "forward by 20ms"),
    ],
)
def test_a_time_of_day_that_was_set_makes_a_cell_unusable_in_virtual_time_too(offsets_s, how):
    for clock in ("real", "virtual"):
        certificate = certify(facts={"clock": clock}, epoch_offsets_s=offsets_s)

        assert certificate.verdict is Verdict.UNUSABLE
        assert f"the machine's time of day was set {how} during the measurement" in certificate.reasons[0]


def test_a_time_of_day_that_went_on_evenly_is_not_mentioned():
    assert certify(epoch_offsets_s=(1e9, 1e9 + 0.002, 1e9 - 0.003)).verdict is Verdict.FAITHFUL


def test_in_virtual_time_processor_time_is_neither_judged_nor_kept():
    certificate = certify(facts={"clock": "virtual"}, idle=Series("%", (0.0, 1.0), (0.0, 0.0)))

    assert certificate.verdict is Verdict.FAITHFUL
    assert not {"idle_cpu_percent", "steal_percent"} & certificate.found.keys()


def test_a_machine_without_idle_time_measured_itself():
    certificate = certify(idle=Series("%", (0.0, 1.0, 2.0), (0.0, 50.0, 1.0)))

    assert certificate.verdict is Verdict.UNUSABLE
    assert "the machine was measured, not the network" in certificate.reasons[0]


def test_little_idle_time_degrades():
    assert certify(idle=Series("%", (0.0, 1.0), (9.0, 8.0))).verdict is Verdict.DEGRADED


def test_an_unrecorded_processor_is_unusable():
    assert certify(idle=Series("%", (), ())).verdict is Verdict.UNUSABLE


def test_steal_degrades():
    assert "hypervisor" in certify(steal=Series("%", (0.0,), (20.0,))).reasons[0]


def test_late_links_degrade_and_then_are_unusable():
    late = certify(links=link(late_p99_us=2_000))

    assert late.verdict is Verdict.DEGRADED
    sentence = "at least 2.0 ms late at the 99th percentile (limit 1 ms; 4% of the packets over it)"
    assert late.reasons[0] == f"link h1_a (a to b): {sentence}"
    assert certify(links=link(late_p99_us=20_000)).verdict is Verdict.UNUSABLE


def test_an_emulator_that_does_not_measure_lateness_is_not_judged_by_it():
    assert certify(links=link(lateness_us=None, late_share=None, max_frame_bytes=None)).verdict is Verdict.FAITHFUL


def test_packets_lost_by_the_emulator_degrade_and_many_are_unusable_but_a_full_queue_is_neither():
    assert certify(links=link(drops={"device": 1})).verdict is Verdict.DEGRADED
    assert certify(links=link(drops={"malformed": 300})).verdict is Verdict.UNUSABLE
    assert certify(links=link()).verdict is Verdict.FAITHFUL


@pytest.mark.parametrize("cause", ["aqm", "loss", "blackhole", "down"])
def test_drops_are_unusable_unless_they_are_expected(cause):
    dropped = link(drops={cause: 3})
    certificate = certify(links=dropped)

    assert certificate.verdict is Verdict.UNUSABLE
    assert certificate.reasons[0] == f"link h1_a (a to b): unexpected drops, 3 by {cause}"
    expected = {"h1_a": {"a_to_b": {"queue", cause}}}
    assert certify(links=dropped, expected_drops=expected).verdict is Verdict.FAITHFUL


class FakeLink:
    def __init__(self, **fields):
        self.a_to_b, self.b_to_a = LinkSpec(**fields), LinkSpec()
        self.intf1, self.intf2 = FakeInterface("h1", "h1-eth0"), FakeInterface("s1", "s1-eth1")


class FakeInterface:
    def __init__(self, node, name):
        self.node, self.name = type("Node", (), {"name": node}), name


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
        ({}, ["5s h1->s1 loss=1%"], {"queue", "loss"}, {"queue"}),
        ({}, ["5s h1-s1 discipline=fq_codel"], {"queue", "aqm"}, {"queue", "aqm"}),
    ],
)
def test_specification_and_events_tell_which_drops_are_expected(fields, events, there, back):
    causes = expected_drops({"h1_a": FakeLink(**fields)}, map(LinkEvent.parse, events))

    assert causes == {"h1_a": {"a_to_b": there, "b_to_a": back}}


def test_super_frames_that_keep_the_link_busy_for_long_degrade():
    certificate = certify(links=link(max_frame_bytes=65_536))

    assert certificate.verdict is Verdict.DEGRADED
    assert "65536 bytes, 10.5 ms on the wire" in certificate.reasons[0]


def test_many_links_with_one_fault_are_one_reason():
    links = {name: link(late_p99_us=2_000)["h1_a"] for name in ("h1_a", "h1_b", "h2_a", "h2_b")}
    (reason,) = certify(links=links).reasons

    assert reason.count("(a to b)") == 2
    assert reason.endswith("and 2 more")


@pytest.mark.parametrize(
    ("rate_bps", "verdict"),
    [
        (49_700_000, Verdict.FAITHFUL),
        (49_400_000, Verdict.DEGRADED),
        (50_600_000, Verdict.DEGRADED),
        (45_000_000, Verdict.UNUSABLE),
        (55_000_000, Verdict.UNUSABLE),
    ],
)
def test_a_rate_that_is_off_degrades_and_then_is_unusable(rate_bps, verdict):
    certificate = calibrated(rate_bps=rate_bps)

    assert certificate.verdict is verdict
    if verdict is not Verdict.FAITHFUL:
        assert certificate.reasons[0].startswith("link h1_a (a to b): rate ")
        assert certificate.reasons[0].endswith(" instead of 50Mbit before the load")


@pytest.mark.parametrize(
    ("delay_ms", "verdict"),
    [
        (5.25, Verdict.FAITHFUL),
        (5.5, Verdict.DEGRADED),
        (4.5, Verdict.DEGRADED),
        (7.0, Verdict.UNUSABLE),
        (3.0, Verdict.UNUSABLE),
    ],
)
def test_a_delay_that_is_off_degrades_and_then_is_unusable(delay_ms, verdict):
    certificate = calibrated(delay_ms=delay_ms, delay_p99_ms=delay_ms)

    assert certificate.verdict is verdict
    if verdict is not Verdict.FAITHFUL:
        delays = f"delay {delay_ms:.2f} ms instead of 5.00 ms"
        assert certificate.reasons[0] == f"link h1_a (a to b): {delays} before the load"


def test_slow_packets_on_an_idle_link_degrade():
    assert calibrated(delay_p99_ms=12.0).verdict is Verdict.DEGRADED


def test_what_jitter_explains_is_no_fault():
    jitter = {"delay_uncertainty_ms": 3.0, "rate_uncertainty": 0.1}

    assert calibrated(delay_ms=7.0, rate_bps=46_000_000, **jitter).verdict is Verdict.FAITHFUL
    assert calibrated(delay_ms=9.5, rate_bps=46_000_000, **jitter).verdict is Verdict.UNUSABLE


def test_what_a_specification_leaves_open_is_not_judged():
    open_ = ("rate: a trace has its rate on average", "delay: packets wait for the trace's next opportunity")

    assert calibrated(delay_ms=90.0, rate_bps=None, not_judged=open_).verdict is Verdict.FAITHFUL


def test_what_could_not_be_checked_degrades():
    certificate = calibrated(rate_bps=None, unchecked=("rate: the machine could not send fast enough",))

    assert certificate.verdict is Verdict.DEGRADED
    why = "rate: the machine could not send fast enough"
    assert certificate.reasons[0] == f"link h1_a (a to b): not checked before the load ({why})"


def test_links_that_were_not_calibrated_degrade():
    assert certify(calibration=Calibration()).verdict is Verdict.DEGRADED


@pytest.mark.parametrize(
    ("rtt_ms", "changes", "verdict"),
    [
        (41.5, {}, Verdict.FAITHFUL),
        (45.0, {}, Verdict.DEGRADED),
        (20.0, {}, Verdict.DEGRADED),
        (45.0, {"rtt_uncertainty_ms": 10.0}, Verdict.FAITHFUL),
        (45.0, {"is_judged": False}, Verdict.FAITHFUL),
    ],
)
def test_a_path_with_another_round_trip_degrades(rtt_ms, changes, verdict):
    path = PathCalibration("h1", "h2", 1, rtt_ms, 40.0, **changes)

    assert certify(calibration=Calibration((GOOD,), (path,))).verdict is verdict


def test_another_congestion_control_degrades():
    certificate = certify(congestion_control={"h2": {"cubic": 10, "bbr": 2}})

    assert certificate.verdict is Verdict.DEGRADED
    assert certificate.reasons[0] == "host h2: 2 connections used bbr instead of cubic"


def test_a_congestion_control_that_was_not_recorded_degrades_unless_any_may_be_used():
    assert certify(congestion_control={}).verdict is Verdict.DEGRADED
    assert certify(congestion_control={}, expected_congestion_control=None).verdict is Verdict.FAITHFUL


def test_a_measurement_that_is_not_one_of_the_network_is_unusable_for_its_own_reasons():
    certificate = certify(reasons_unusable=["the client was the limit"], congestion_control={})

    assert certificate.verdict is Verdict.UNUSABLE
    assert certificate.reasons[0] == "the client was the limit"
    assert len(certificate.reasons) == 2


class FakeTestbed:
    links = (type("Unnamed", (), {"name": "h9-eth0:s1-eth9"}),)


def test_a_watch_needs_a_name_for_every_link():
    with pytest.raises(ValueError, match="h9-eth0:s1-eth9"):
        fidelity.Watch(FakeTestbed(), links={})
