"""The certificate of a testbed: links with wrong settings, drops, parts that have ended."""

import contextlib
import dataclasses
import signal
import threading
import time

import pytest

from experiments import fidelity
from experiments.fidelity.calibration import judge_calibration, judge_links_before
from flightpath.clock import Clock, clock_here
from flightpath.commands import run
from flightpath.errors import MeasurementFailed
from flightpath.waiting import wait_until
from probes.transfers.stream import Stream
from results.records import Verdict
from services.stream import StreamServer
from tests.support.rings import nightly
from topologies.calibration.links import calibrate
from topologies.links.emulated_link import EmulatedLink
from topologies.links.events import LinkEvent
from topologies.links.spec import LinkSpec
from topologies.multipath_pair import MultipathPair
from topologies.sandbox.sandbox import TEMPORARY
from topologies.testbed.testbed import Testbed
from topologies.web_service import WebService

pytestmark = [pytest.mark.virtual, pytest.mark.in_sandbox]

NEAR = LinkSpec(bandwidth_bps=50_000_000, delay_s=0.002)
FAR = LinkSpec(bandwidth_bps=1_000_000_000, delay_s=0.010, queue="1bdp")
PLANES = (NEAR, FAR)
WRONG = (
    (NEAR, {"bandwidth_bps": 45_000_000}, "rate"),
    (NEAR, {"bandwidth_bps": 55_000_000}, "rate"),
    (NEAR, {"bandwidth_bps": None}, "rate"),
    (NEAR, {"delay_s": 0.004}, "delay"),
    (FAR, {"bandwidth_bps": 900_000_000}, "rate"),
    (FAR, {"delay_s": 0.008}, "delay"),
)
UNUSUAL = (
    LinkSpec(),
    LinkSpec(bandwidth_bps=200_000),
    LinkSpec(bandwidth_bps=20_000_000, delay_s=0.005, loss=0.02),
    LinkSpec(bandwidth_bps=20_000_000, delay_s=0.005, jitter_s=0.001, duplication=0.05),
    LinkSpec(bandwidth_bps=20_000_000, delay_s=0.005, corruption=0.05),
    LinkSpec(bandwidth_bps=20_000_000, discipline="codel", queue="100p"),
    LinkSpec(bandwidth_bps=100_000_000, queue="4p", mtu_bytes=9000),
)


def test_right_links_are_measured_in_both_directions_and_not_accused():
    with Testbed(WebService(planes=PLANES, congestion_control="cubic"), emulator="relay") as testbed:
        calibration = testbed.calibrate()
        assert judge_calibration(calibration) == []
        assert [(each.link, each.direction) for each in calibration.links] == [
            (link.name, way) for link in testbed.links for way in ("a_to_b", "b_to_a")
        ]
        assert all(each.delay_ms is not None and each.max_frame_bytes is not None for each in calibration.links)
        assert all(each.rate_bps is not None or each.unchecked for each in calibration.links)
        for switch in testbed.net.switches:
            flows = run(["ovs-ofctl", "-O", "OpenFlow13", "dump-flows", switch.name]).splitlines()
            (miss,) = [line for line in flows if "priority=0 " in line]
            assert " n_packets=0," in miss, "a packet of the calibration went to the controller"


def test_what_an_unusual_specification_asks_for_is_no_fault():
    trace = TEMPORARY / "trace"
    trace.write_text("".join(f"{millisecond}\n" for millisecond in (*range(1, 50), 120)))
    links = (*UNUSUAL, LinkSpec(trace=trace, delay_s=0.005))
    with Testbed(MultipathPair(len(links), links, mptcp=False), emulator="relay") as testbed:
        calibrated = [calibrate(testbed.link("h1", path)) for path in range(len(links))]
        found = {str(spec): judge_links_before(ways) for spec, ways in zip(links, calibrated, strict=True)}
        traced = found.pop(str(links[-1]))
        assert found == {str(spec): [] for spec in UNUSUAL}
        assert not any("instead of" in why for _, why in traced)
        assert any("a trace has its rate on average" in why for why in calibrated[-1][0].not_judged)


@pytest.mark.parametrize("way", ["a_to_b", nightly("b_to_a")])
def test_a_link_with_a_wrong_setting_is_convicted_by_name(way):
    specs = [requested for requested, _, _ in WRONG]
    with Testbed(MultipathPair(len(specs), specs, mptcp=False), emulator="relay") as testbed:
        for path, (requested, changes, what) in enumerate(WRONG):
            link = testbed.link("h1", path)
            link.apply(way, dataclasses.replace(requested, **changes))  # while the specification stays as it is
            faults = judge_links_before(calibrate(link))
            (why,) = [why for verdict, why in faults if verdict is Verdict.UNUSABLE]
            assert why.startswith(f"link {link.name} ({way.replace('_', ' ')}): {what} "), why
            assert " instead of " in why and why.count(link.name) == 1, why


def test_drops_that_nobody_asked_for_are_convicted_and_those_asked_for_are_not():
    def watched(testbed: Testbed, link: EmulatedLink, *events: str) -> fidelity.Watch:
        with fidelity.Watch(testbed, events=list(map(LinkEvent.parse, events))) as watch:
            link.set_black_hole(True)
            with contextlib.suppress(Exception):
                testbed.host("h1").run(["ping", "-c", "3", "-i", "0.1", "-W", "1", testbed.host("h2").address(0)])
            link.set_black_hole(False)
            wait_until(lambda: len(watch.log.rows) >= 3, "three readings", 60)
        return watch

    with Testbed(MultipathPair(2, PLANES, mptcp=False), emulator="relay") as testbed:
        certificate = watched(testbed, testbed.link("h1", 0)).certificate()
        assert certificate.verdict is Verdict.UNUSABLE
        assert any("unexpected drops" in why for why in certificate.reasons)
        certificate = watched(testbed, testbed.link("h1", 0), "0s h1-eth0 blackhole=on").certificate()
        assert certificate.found["links_during_load"]["h1-eth0:h2-eth0"]["a_to_b"]["drops"]["blackhole"] > 0
        assert not any("unexpected drops" in why for why in certificate.reasons)


def set_time_of_day(by_s: float) -> None:
    time.clock_settime(time.CLOCK_REALTIME, time.time() + by_s)


@pytest.mark.skipif(clock_here() is Clock.REAL, reason="would set the time of this machine")
def test_a_step_of_the_clock_gives_no_false_rate_and_a_cell_that_is_unusable():
    by_s, rate_bps = -3600, NEAR.bandwidth_bps
    try:
        with Testbed(MultipathPair(1, NEAR, mptcp=False), emulator="relay") as testbed:
            client, server = testbed.net.hosts
            with fidelity.Watch(testbed) as watch, StreamServer(server, TEMPORARY):
                begun_s = time.monotonic()
                step = threading.Timer(2.3, set_time_of_day, [by_s])
                step.start()
                Stream(seconds=5).run(client, server.address())
                watch.set_load_interval(begun_s, time.monotonic())
                step.join()
            name = f"{testbed.links[0].name}.b_to_a"
            rates_bps = watch.log.rates(name, "bit/s", start_s=begun_s, scale=8).values
            assert 4 <= len(rates_bps) <= 7
            assert all(0.9 * rate_bps < each < 1.05 * rate_bps for each in rates_bps[1:4]), rates_bps
            assert all(0 <= each < 1.05 * rate_bps for each in rates_bps), rates_bps
            certificate = watch.certificate()
            assert certificate.verdict is Verdict.UNUSABLE
            assert "time of day was set back by" in certificate.reasons[0]
    finally:
        set_time_of_day(-by_s)


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (signal.SIGKILL, "ended by SIGKILL: perhaps the kernel ran out of memory"),
        nightly(signal.SIGSTOP, "does not answer"),
    ],
)
def test_a_link_that_dies_or_hangs_under_load_fails_the_measurement(number, message):
    with Testbed(MultipathPair(2, PLANES, mptcp=False), emulator="relay") as testbed:
        link = testbed.link("h2", 1)
        watch = fidelity.Watch(testbed)
        with pytest.raises(MeasurementFailed, match=f"{link.name}.* {message}"), watch:
            link._process.send_signal(number)
            # As a load does that waits for an answer which never comes.
            wait_until(lambda: failed(watch), "the watch to notice", 30)
        with pytest.raises(ValueError, match="watched to its end"):
            watch.certificate()
        testbed.link("h2", 0).check()  # nothing else dies
        link._process.kill()


def test_a_controller_or_service_that_dies_under_load_fails_the_measurement():
    def service_ended() -> None:
        raise MeasurementFailed("nginx.* ended")

    with Testbed(WebService(planes=PLANES), emulator="relay") as testbed:
        with pytest.raises(MeasurementFailed, match=r"nginx.* ended"):
            fidelity.Watch(testbed, checks=[service_ended]).__enter__()
        with pytest.raises(MeasurementFailed, match=r"controller c0.* ended"), fidelity.Watch(testbed) as watch:
            testbed.controller._process.kill()
            wait_until(lambda: failed(watch), "the watch to notice", 30)


def test_what_died_is_the_error_and_not_what_the_load_said_of_it():
    with Testbed(MultipathPair(2, PLANES, mptcp=False), emulator="relay") as testbed:
        link = testbed.link("h2", 1)
        with pytest.raises(MeasurementFailed, match="ended") as raised, fidelity.Watch(testbed):
            link._process.kill()
            link._process.wait()
            raise MeasurementFailed("no answer from h3")
        assert "no answer from h3" in str(raised.value)


def failed(watch: fidelity.Watch) -> bool:
    try:
        watch.check()
    except MeasurementFailed:
        return True
    return False
