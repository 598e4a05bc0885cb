"""Links to deep space, with the kernel's stack as it is: minutes away, in virtual time."""

import socket
import time

import pytest

from experiments.fidelity.calibration import judge_calibration
from flightpath.errors import MeasurementFailed
from probes.transfers.iperf3 import Iperf3
from probes.transfers.ping import Ping
from services.iperf3 import Iperf3Server
from tests.support.link_pair import socket_in
from topologies.dtn_pair import DtnPair
from topologies.links.spec import LinkSpec
from topologies.sandbox.sandbox import TEMPORARY
from topologies.testbed.testbed import Testbed

pytestmark = [pytest.mark.virtual, pytest.mark.in_sandbox, pytest.mark.timeout(86_400)]  # of virtual time


def test_ping_and_udp_cross_a_link_of_minutes_and_tcp_says_which_timer_ended_it():
    spec = LinkSpec.parse(bandwidth="10Mbit", delay="8m")
    with Testbed(DtnPair(spec)) as testbed:
        assert testbed.emulator == "relay", "netem does not go so far, so `auto` leaves it out"
        calibration = testbed.calibrate()
        assert [path.rtt_ms for path in calibration.paths] == pytest.approx([2000 * spec.delay_s], abs=1)
        measured = [link.delay_ms for link in calibration.links if link.expected_delay_ms]
        assert measured == pytest.approx([1000 * spec.delay_s] * 2, abs=0.1)
        here, there = testbed.net.hosts
        round_trip_s = testbed.round_trip_s(here, there, 0)
        assert round_trip_s == 2 * spec.delay_s
        pings = Ping(count=2, round_trip_s=round_trip_s).run(here, there.address())
        assert pings.metrics["rtt"].value == pytest.approx(1000 * round_trip_s, abs=1)
        assert pings.metrics["lost"].value == 0

        with socket_in(there, socket.SOCK_DGRAM) as receiver, socket_in(here, socket.SOCK_DGRAM) as sender:
            receiver.bind((there.address(), 5000))
            receiver.settimeout(round_trip_s)
            sent_s = time.monotonic()
            sender.sendto(b"hello", (there.address(), 5000))
            assert receiver.recv(100) == b"hello"
            assert time.monotonic() - sent_s == pytest.approx(spec.delay_s, abs=0.05)

        with Iperf3Server(there, TEMPORARY), pytest.raises(MeasurementFailed) as ended:
            Iperf3(seconds=1, round_trip_s=round_trip_s).run(here, there.address())
        timer = r"no answer within 13\d s: TCP gave up connecting \(net\.ipv4\.tcp_syn_retries is 6\)"
        assert ended.match(rf"^iperf3 from dtn1 to 10\.0\.0\.2: {timer}$")


def test_a_transfer_whose_path_goes_silent_for_long_says_which_timer_ended_it():
    with Testbed(DtnPair(LinkSpec.parse(bandwidth="1Mbit", delay="1s"), switched=False)) as testbed:
        here, there = testbed.net.hosts
        silent_ns = time.monotonic_ns() + 30_000_000_000
        testbed.link(here.name, 0).set_black_hole(True, at_ns=silent_ns)
        with Iperf3Server(there, TEMPORARY, interval_s=60), pytest.raises(MeasurementFailed) as ended:
            Iperf3(seconds=7200, interval_s=60, round_trip_s=2).run(here, there.address())
        timer = r"no answer any more: TCP gave up \(net\.ipv4\.tcp_retries2 is 15\)"
        assert ended.match(rf"^iperf3 from dtn1 to 10\.0\.0\.2: {timer}$")
        # As long as 15 retransmissions from 0.2 s on, twice as long each time and 120 s at most: at least 924.6 s.
        assert 924.6 < (time.monotonic_ns() - silent_ns) / 1e9 < 924.6 + 120


def test_a_ping_that_is_rounded_to_whole_milliseconds_is_no_fault_of_the_path():
    with Testbed(DtnPair(LinkSpec.parse(bandwidth="4Mbit", delay="50ms"))) as testbed:
        calibration = testbed.calibrate()
        (path,) = calibration.paths
        assert path.expected_rtt_ms == pytest.approx(100.39, abs=0.01) and path.rtt_ms == 100
        assert judge_calibration(calibration) == []
