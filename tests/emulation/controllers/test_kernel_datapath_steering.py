"""Steering on Open vSwitch's kernel datapath, where it must do the same as on the user datapath.

They test function, not speed, because the VM's processor may be emulated.
"""

import pytest

from flightpath.waiting import wait_until
from tests.support.steering_tools import Transfer, carried_by_core, core_link, path_of, serving, subflows
from topologies.fabric import Fabric
from topologies.links.spec import LinkSpec
from topologies.testbed.testbed import Testbed

pytestmark = [pytest.mark.in_sandbox, pytest.mark.virtual, pytest.mark.usefixtures("needs_kernel_datapath")]
SIZE = 1_500_000
PATH = LinkSpec(bandwidth_bps=2_000_000, delay_s=0.02)


@pytest.mark.nightly  # both are in the first ring, each by itself: steering, and the kernel's datapath
@pytest.mark.parametrize("address", ["10.0.1.2", "fd00:1::2"])
def test_each_subflow_has_a_path_of_its_own_and_leaves_one_that_dies(address: str) -> None:
    def paths(testbed: Testbed) -> set[str]:
        return {path_of(subflow) for subflow in subflows(testbed).values()}

    fabric = Fabric(hosts=1, cores=2, links=PATH, mptcp=True, congestion_control="cubic")
    with Testbed(fabric, datapath="kernel", policy="disjoint") as testbed:
        client, server = testbed.host("h1"), testbed.host("h2")
        if ":" in address:
            server.run(["ip", "mptcp", "endpoint", "flush"])
            server.run(["ip", "mptcp", "endpoint", "add", "fd00:2::2", "dev", "h2-eth1", "signal"])
        with serving(server, address):
            transfer = Transfer(client, address, 4 * SIZE)
            wait_until(lambda: paths(testbed) == {"core1", "core2"}, "two subflows on two paths", 60)
            wait_until(lambda: min(carried_by_core(testbed).values()) > SIZE / 10, "both paths to carry data", 60)
            core_link(testbed, "edge1", "core1").set_carrier(False)
            wait_until(lambda: paths(testbed) == {"core2"}, "both subflows on the path that is left", 60)
            assert transfer.end().received == 4 * SIZE
        testbed.check()
