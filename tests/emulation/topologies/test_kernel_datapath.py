"""Function, not speed (the VM's processor may be emulated), of networks on Open vSwitch's kernel datapath."""

import pytest

from flightpath.commands import run
from probes.counters.mptcp import read_counters, require_mptcp
from tests.support.steering_tools import Transfer, serving
from topologies.links.spec import LinkSpec
from topologies.testbed.testbed import Testbed
from topologies.web_service import WebService

pytestmark = [pytest.mark.in_sandbox, pytest.mark.virtual, pytest.mark.usefixtures("needs_kernel_datapath")]
SIZE = 400_000


def switched_by_the_kernel() -> int:
    """Returns the kernel datapath's count of packets that matched a flow."""
    (line,) = [line for line in run(["ovs-dpctl", "show"]).splitlines() if "lookups:" in line]
    return int(line.partition("hit:")[2].split()[0])


def test_a_testbed_is_switched_by_the_kernel(emulator: str) -> None:
    spec = LinkSpec(bandwidth_bps=10_000_000, delay_s=0.005)
    with Testbed(WebService(planes=(spec, spec)), datapath="auto", emulator=emulator) as testbed:
        assert testbed.description()["datapath"] == "kernel"
        before = switched_by_the_kernel()
        for port in (0, 1):
            pings = ["ping", "-n", "-c", "3", "-i", "0.3", "-w", "20", testbed.host("h2").address(port)]
            testbed.host("h1").run(pings)
        assert switched_by_the_kernel() >= before + 8  # 12 packets, of which the first of each flow is a miss
        testbed.check()


def test_mptcp_uses_both_planes_and_all_bytes_arrive(emulator: str) -> None:
    spec = LinkSpec(bandwidth_bps=2_000_000, delay_s=0.02)
    topology = WebService(planes=(spec, spec), mptcp=True, congestion_control="cubic")
    with Testbed(topology, datapath="kernel", emulator=emulator) as testbed:
        web, client = testbed.host("h2"), testbed.host("h1")
        before = read_counters(client)
        with serving(web, web.address(0)):
            assert Transfer(client, web.address(0), SIZE).end(120).received == SIZE
        assert require_mptcp("h1", before, read_counters(client))["joins"] >= 1
        carried = [testbed.link("h1", port).stats()["directions"]["b_to_a"]["out_bytes"] for port in (0, 1)]
        assert min(carried) > SIZE / 10, carried
