from results.records import Series, Verdict
from scenarios import fidelity
from topologies.testbed import PathCalibration


def link(late_p99_us=100.0, device=0):
    return {
        "h1_a": {
            "a_to_b": {
                "drops": {"queue": 9, "loss": 0, "malformed": 0, "device": device},
                "lateness_us": {"p99": late_p99_us},
            }
        }
    }


def certify(**changes):
    arguments = {
        "found": {},
        "idle": Series("%", (0.0, 1.0, 2.0, 3.0), (40.0, 30.0, 35.0, 45.0)),
        "steal": Series("%", (0.0, 1.0), (0.0, 1.0)),
        "links": link(),
        "calibration": [PathCalibration("h1", "h2", 0, 0.6, 0.0)],
        "congestion_control": {"h1": {"cubic": 12}},
        "asked_congestion_control": "cubic",
    }
    return fidelity.certify(**{**arguments, **changes})


def test_a_testbed_that_kept_up_is_faithful():
    certificate = certify()

    assert certificate.verdict is Verdict.FAITHFUL
    assert not certificate.reasons


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


def test_late_links_degrade_and_then_convict():
    assert certify(links=link(late_p99_us=2_000)).verdict is Verdict.DEGRADED
    assert certify(links=link(late_p99_us=20_000)).verdict is Verdict.UNUSABLE


def test_packets_lost_by_the_emulator_degrade_but_a_full_queue_does_not():
    assert certify(links=link(device=1)).verdict is Verdict.DEGRADED
    assert certify(links=link()).verdict is Verdict.FAITHFUL


def test_a_path_with_another_round_trip_degrades():
    slow = [PathCalibration("h1", "h2", 1, 42.0, 40.0)]
    short = [PathCalibration("h1", "h2", 1, 20.0, 40.0)]

    assert certify(calibration=[PathCalibration("h1", "h2", 1, 41.5, 40.0)]).verdict is Verdict.FAITHFUL
    for wrong in (slow + slow, short):
        assert certify(calibration=[PathCalibration("h1", "h2", 1, 45.0, 40.0), *wrong]).verdict is Verdict.DEGRADED
    assert certify(calibration=short).verdict is Verdict.DEGRADED


def test_another_congestion_control_degrades():
    certificate = certify(congestion_control={"h2": {"cubic": 10, "bbr": 2}})

    assert certificate.verdict is Verdict.DEGRADED
    assert "2 connections used bbr instead of cubic" in certificate.reasons[0]
