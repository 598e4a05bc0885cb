"""Steering on Open vSwitch's kernel datapath, where it must do the same as on the user datapath.

They test function, not speed, because the VM's processor may be emulated.
"""

import contextlib
import subprocess
import sys
from collections.abc import Iterator

import pytest

from flightpath.waiting import wait_until
from topologies.fabric import Fabric
from topologies.hosts.multihomed import MultihomedHost
from topologies.links.spec import LinkSpec
from topologies.testbed.testbed import Testbed

pytestmark = [pytest.mark.in_sandbox, pytest.mark.virtual, pytest.mark.usefixtures("needs_kernel_datapath")]
PORT, SIZE = 5001, 1_500_000
PATH = LinkSpec(bandwidth_bps=2_000_000, delay_s=0.02)
SERVER = """
import socket, sys
listener = socket.socket(socket.AF_INET6, socket.SOCK_STREAM, 262)
listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
listener.bind(("::", int(sys.argv[1])))
listener.listen()
print("listening", flush=True)
connection, _ = listener.accept()
connection.sendall(bytes(int(sys.argv[2])))
connection.recv(1)
"""
CLIENT = """
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
connection = socket.socket(family, socket.SOCK_STREAM, 262)
connection.connect((sys.argv[1], int(sys.argv[2])))
left = int(sys.argv[3])
while left:
    left -= len(connection.recv(1 << 16))
print("all", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def program(host: MultihomedHost, *argv: str) -> Iterator[subprocess.Popen[str]]:
    """A Python program in a host, ended at the end."""
    process = host.popen([sys.executable, "-S", "-c", *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("address", ["10.0.1.2", "fd00:1::2"])
def test_each_subflow_has_a_path_of_its_own_and_leaves_one_that_dies(address: str) -> None:
    def paths(testbed: Testbed) -> set[str]:
        connections = testbed.controller.view.connections()["connections"]
        found = [it["switches"] for connection in connections for it in connection["subflows"]]
        return {switches[1] for switches in found}

    def carried(testbed: Testbed) -> dict[str, int]:
        ways = {core: uplink(testbed, core).stats()["directions"]["b_to_a"] for core in ("core1", "core2")}
        return {core: way["out_bytes"] for core, way in ways.items()}

    def uplink(testbed: Testbed, core: str):
        return next(it for it in testbed.links if (it.intf1.node.name, it.intf2.node.name) == ("edge1", core))

    fabric = Fabric(hosts=1, cores=2, links=PATH, mptcp=True, congestion_control="cubic")
    with Testbed(fabric, datapath="kernel", policy="disjoint") as testbed:
        client, server = testbed.host("h1"), testbed.host("h2")
        if ":" in address:
            server.run(["ip", "mptcp", "endpoint", "flush"])
            server.run(["ip", "mptcp", "endpoint", "add", "fd00:2::2", "dev", "h2-eth1", "signal"])
        with contextlib.ExitStack() as stack:
            serving = stack.enter_context(program(server, SERVER, str(PORT), str(SIZE)))
            wait_until(lambda: serving.stdout.readline() == "listening\n", "the server to listen", 60)
            reading = stack.enter_context(program(client, CLIENT, address, str(PORT), str(SIZE)))
            wait_until(lambda: len(paths(testbed)) == 2, "two subflows on two paths", 60)
            assert reading.stdout.readline() == "all\n"
            assert min(carried(testbed).values()) > SIZE / 10
            uplink(testbed, "core1").set_carrier(False)
            wait_until(lambda: paths(testbed) == {"core2"}, "both subflows on the path that is left", 60)
        testbed.check()
