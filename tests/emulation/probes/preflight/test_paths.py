"""The probe over emulated paths: in hosts, over MPTCP, and what it finds out about the way."""

import socket
import sys
from functools import partial
from pathlib import Path

import pytest

from experiments.files import network
from experiments.files.tables import Network
from flightpath.commands import run
from flightpath.errors import MeasurementFailed
from probes.preflight.measure import route
from probes.preflight.measure.run_in_host import run_in
from probes.preflight.sockets import Address
from probes.preflight.spec import Direction, TransferSpec
from services.sshd import Sshd
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
import socket, sys
from probes.preflight.measure import route
from probes.preflight.sockets import Address
for host in sys.argv[1:]:
    far = Address(socket.AF_INET6 if ":" in host else socket.AF_INET, host, 22)
    way = route.trace(far)
    print([hop.address for hop in way.hops], way.complete, route.path_mtu(far))
"""


@pytest.mark.in_sandbox
def test_route_and_path_mtu_over_a_router_and_into_nowhere():
    """The cable behind the router carries packets of 1400 bytes only; from here there is no route at all."""
    run(["ip", "link", "set", "lo", "up"])
    nowhere = Address(socket.AF_INET, "192.0.2.1", 22)
    found = route.trace(nowhere)
    assert not found.complete and found.note and route.path_mtu(nowhere) is None, "it fails nothing"
    routed = Network(hosts=("near", "far"), routers=("r1",), links=("near-r1", "r1-far mtu=1400"))
    with Testbed(network.topology(routed)) as testbed:
        router, far = ([str(each.ip) for each in testbed.host(name).addresses[0]] for name in ("r1", "far"))
        told = testbed.host("near").run([sys.executable, "-c", _TRACE, *far])
    assert told.splitlines() == [f"{list(hops)} True 1400" for hops in zip(router, far, strict=True)]
