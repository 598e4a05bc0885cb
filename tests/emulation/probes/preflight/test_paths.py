"""The probe over emulated paths: in hosts, over MPTCP, and what it finds out about the way."""

import socket
import sys
from functools import partial
from pathlib import Path

import pytest

from flightpath.commands import run
from flightpath.errors import MeasurementFailed
from flightpath.waiting import wait_until
from probes.preflight.measure import route
from probes.preflight.measure.run_in_host import run_in
from probes.preflight.sockets import Address
from probes.preflight.spec import Direction, TransferSpec
from services.sshd import Sshd
from tests.support.finished import finished
from topologies.dtn_pair import DtnPair
from topologies.links.spec import LinkSpec
from topologies.multipath_pair import MultipathPair
from topologies.testbed.testbed import Testbed

DELAY_S = 0.01
FOLDER = Path("/run/ssh")


@pytest.mark.virtual
@pytest.mark.in_sandbox
def test_runs_in_an_emulated_host_and_sees_its_path():
    link = LinkSpec(bandwidth_bps=50_000_000, delay_s=DELAY_S)
    with Testbed(DtnPair(link, switched=False, congestion_control="cubic")) as testbed:
        source, target = testbed.host("dtn1"), testbed.host("dtn2")
        with Sshd(target, target.address(), FOLDER) as sshd:
            measured = partial(run_in, source, "dtn", ssh_config=sshd.client_configuration)
            for direction in Direction:
                result = measured(TransferSpec(direction=direction, size_bytes=5_000_000, streams=2))
                (iteration,) = result.iterations
                assert iteration.bytes == 5_000_000
                assert iteration.goodput_bps < 50e6
                # A handshake is one round trip, a key exchange and a log-in are several.
                assert iteration.phases.connect_s >= 2 * DELAY_S
                assert iteration.phases.key_exchange_s >= 4 * DELAY_S
                assert iteration.phases.authentication_s >= 2 * DELAY_S
                assert iteration.phases.first_byte_s >= 2 * DELAY_S
                assert result.rtt_ms >= 2e3 * DELAY_S
                assert iteration.streams[0].connection.congestion_control == "cubic"
                assert result.route.complete
                assert [hop.address for hop in result.route.hops] == [target.address()]
                assert result.path_mtu == 1500
            with pytest.raises(MeasurementFailed, match="there is no file"):
                measured(TransferSpec(remote_file="nothing"))
            assert list(sshd.files.iterdir()) == []


@pytest.mark.in_sandbox
def test_mptcp_is_used_where_both_ends_speak_it():
    links = LinkSpec(bandwidth_bps=20_000_000, delay_s=0.002)
    with Testbed(MultipathPair(links=links, paths=2)) as testbed:
        client, server = testbed.host("h1"), testbed.host("h2")
        for speaks in (True, False):
            with Sshd(server, "0.0.0.0", FOLDER, reach=server.address(), mptcp=speaks) as sshd:
                spec = TransferSpec(size_bytes=6_000_000, mptcp=True, interval_s=0.1, route=False)
                result = run_in(client, "dtn", spec, ssh_config=sshd.client_configuration)
                stream = result.iterations[0].streams[0]
                assert stream.connection.mptcp == speaks
                assert max(sample.subflows for sample in stream.samples) == (2 if speaks else 0)
                assert any("speaks TCP only" in note for note in result.notes) != speaks


_TRACE = """
import sys
from probes.preflight.measure import route
from probes.preflight.sockets import Address
for family, host in zip(map(int, sys.argv[1::2]), sys.argv[2::2]):
    way = route.trace(Address(family, host, 22))
    print([hop.address for hop in way.hops], way.complete, route.path_mtu(Address(family, host, 22)))
"""


@pytest.mark.in_sandbox
def test_route_and_path_mtu_over_a_router_and_into_nowhere():
    """near (10.1) - router - far (10.2), whose cable carries packets of 1400 bytes only; from here, nothing."""
    run(["ip", "link", "set", "lo", "up"])
    nowhere = Address(socket.AF_INET, "192.0.2.1", 22)
    found = route.trace(nowhere)
    assert not found.complete and found.note and route.path_mtu(nowhere) is None, "it fails nothing"
    _routed()
    far = [str(int(socket.AF_INET)), "10.2.0.2", str(int(socket.AF_INET6)), "fd02::2"]
    told = run(["nsenter", "--net=/run/netns/near", "--", sys.executable, "-c", _TRACE, *far])
    assert told.splitlines() == ["['10.1.0.1', '10.2.0.2'] True 1400", "['fd01::1', 'fd02::2'] True 1400"]


def _routed():
    Path("/run/netns").mkdir(exist_ok=True)
    for name in ("near", "router", "far"):
        run(["ip", "netns", "add", name])
        # A router asks for neighbours from its link-local addresses, so they may not wait for a duplicate's answer.
        trusting = [f"net.ipv6.conf.{which}.accept_dad=0" for which in ("all", "default")]
        run(["ip", "netns", "exec", name, "sysctl", "-qw", *trusting])
    for number, name in ((1, "near"), (2, "far")):
        run(["ip", "link", "add", f"r{number}", "netns", "router", "type", "veth", "peer", "e0", "netns", name])
        for namespace, device, end in (("router", f"r{number}", 1), (name, "e0", 2)):
            inside = ["ip", "-n", namespace]
            run([*inside, "address", "add", f"10.{number}.0.{end}/24", "dev", device])
            run([*inside, "address", "add", f"fd0{number}::{end}/64", "dev", device, "nodad"])
            if number == 2:
                run([*inside, "link", "set", device, "mtu", "1400"])
            run([*inside, "link", "set", device, "up"])
        run(["ip", "-n", name, "route", "add", "default", "via", f"10.{number}.0.1"])
        run(["ip", "-n", name, "-6", "route", "add", "default", "via", f"fd0{number}::1"])
    forward = ["net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"]
    run(["ip", "netns", "exec", "router", "sysctl", "-qw", *forward])
    for far in ("10.2.0.2", "fd02::2"):  # a link is up some time after both its ends are
        ping = ["ip", "netns", "exec", "near", "ping", "-q", "-c", "1", "-W", "2", far]
        wait_until(lambda ping=ping: finished(ping).returncode == 0, f"an answer from {far}", 30)
