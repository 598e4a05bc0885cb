"""Steering with real hosts, switches and MPTCP: every subflow on its own path, and the view that of the kernel."""

import json
import subprocess
import time

import pytest

from flightpath.commands import run
from flightpath.waiting import wait_until
from tests.support.killed import killed_at_end
from tests.support.rings import nightly
from tests.support.steering_tools import (
    MPTCP,
    PORT,
    Transfer,
    core_link,
    fabric,
    kernel_subflows,
    mib_counter,
    path_of,
    serving,
    subflows,
)
from topologies.links.spec import LinkSpec
from topologies.testbed.testbed import Testbed

pytestmark = [pytest.mark.virtual, pytest.mark.in_sandbox]

SIZE = 4_000_000
HEADERS = 1.06
"""A frame of 1514 bytes carries 1428 of MPTCP's payload."""

_HELD = """
import socket, sys
from concurrent.futures import ThreadPoolExecutor
address, number = sys.argv[1], int(sys.argv[2])
family = socket.AF_INET6 if ":" in address else socket.AF_INET
def hold(_):
    connection = socket.socket(family, socket.SOCK_STREAM, int(sys.argv[3]))
    connection.connect((address, 5001))
    connection.sendall(b"%020d" % 20_000)
    left = 20_000
    while left:
        left -= len(connection.recv(left))
    return connection
for line in sys.stdin:
    with ThreadPoolExecutor(number) as pool:
        held = list(pool.map(hold, range(number)))
    print("held", flush=True)
    sys.stdin.readline()
    for connection in held:
        connection.close()
    print("closed", flush=True)
"""


@pytest.mark.parametrize(("family", "address"), [(4, "10.0.1.2"), nightly(6, "fd00:1::2")])
def test_the_bytes_of_a_subflow_are_on_its_path_and_on_no_other(family, address):
    # Three paths and two subflows: the third one must stay empty.
    with Testbed(fabric(cores=3, mptcp=True), policy="disjoint") as testbed, serving(testbed.host("h2"), address):
        client, server = testbed.host("h1"), testbed.host("h2")
        client.run(["ip", "mptcp", "limits", "set", "subflow", "1", "add_addr_accepted", "1"])
        if family == 6:
            server.run(["ip", "mptcp", "endpoint", "flush"])
            server.run(["ip", "mptcp", "endpoint", "add", "fd00:2::2", "dev", "h2-eth1", "signal"])
        transfer = Transfer(client, address, SIZE)
        transfer.wait_begun()
        wait_until(lambda: len(subflows(testbed)) == 2, "two subflows", 30)
        in_view = subflows(testbed)
        wait_until(lambda: kernel_subflows(server).keys() == in_view.keys(), "the kernel to see the same two", 30)
        sent = {}
        while now := kernel_subflows(server):  # until the connection is closed
            sent = now
            time.sleep(0.05)
        assert transfer.end().received == SIZE
        links = {core: core_link(testbed, "edge1", core) for core in ("core1", "core2", "core3")}
        carried = {core: link.stats()["directions"]["b_to_a"]["out_bytes"] for core, link in links.items()}
        paths = {path_of(it) for it in in_view.values()}
        assert len(paths) == 2
        for flow, it in in_view.items():
            # The last look may have come before the last packets, and after one of the two was closed.
            assert sent.get(flow, {"bytes": 0})["bytes"] <= carried[path_of(it)]
            assert carried[path_of(it)] > SIZE / 5
        assert SIZE <= sum(carried[path] for path in paths) <= SIZE * HEADERS + 200_000
        (empty,) = carried.keys() - paths
        assert carried[empty] < 20_000  # probes
        assert all(flow[0].count(":") >= 2 for flow in in_view) == (family == 6)
        testbed.check()


@pytest.mark.parametrize(
    ("protocol", "address"), [(MPTCP, "fd00:1::2"), nightly(6, "10.0.1.2"), nightly(MPTCP, "10.0.1.2")]
)
def test_the_view_is_the_kernels_for_hundreds_of_connections_with_losses(protocol, address):
    rounds, number = (5, 40) if address == "10.0.1.2" and protocol == MPTCP else (2, 20)

    def command(client: subprocess.Popen[str], answer: str) -> None:
        client.stdin.write("go\n")
        client.stdin.flush()
        assert client.stdout.readline() == f"{answer}\n"

    def assert_same(testbed: Testbed, server, at_least: int) -> None:
        def differences() -> set:
            view, kernel = subflows(testbed), kernel_subflows(server)
            ours = {(flow, it["token"]) for flow, it in view.items() if it["state"] == "established"}
            theirs = {(flow, it["token"]) for flow, it in kernel.items()}
            return ours ^ theirs

        def expected() -> int:
            """Two entries for each connection that the server's kernel made TCP after its SYN/ACK had granted MPTCP.

            It does so where the handshake's third segment was lost. The controller sees no third segment.
            """
            return 2 * mib_counter(server, "MPTcpExtMPCapableFallbackACK")

        def explained(differing: set) -> bool:
            lost = {flow for flow, token in differing if token is None}
            return len(differing) <= expected() and {flow for flow, _ in differing} == lost

        deadline = time.monotonic() + 20
        while not explained(differing := differences()) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert explained(differing), (expected(), differing, testbed.controller.view.connections()["counters"])
        assert len(kernel_subflows(server)) >= at_least

    lossy = LinkSpec(bandwidth_bps=50_000_000, delay_s=0.002, loss=0.02)
    with Testbed(fabric(links=lossy, mptcp=True), policy="disjoint") as testbed:
        server = testbed.host("h2")
        # Else a SYN may wait for an address that was asked for in vain, and leave when its connection has been closed.
        for each in ("10.0.1.2", "fd00:1::2"):
            testbed.host("h1").run(["ping", "-c", "10", "-i", "0.2", "-q", each])
        with serving(server, address, mptcp=protocol == MPTCP):
            argv = ["python3", "-c", _HELD, address, str(number), str(protocol)]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            with killed_at_end(testbed.host("h1").popen(argv, **pipes)) as client:
                for _ in range(rounds):
                    command(client, "held")
                    assert_same(testbed, server, at_least=number)
                    command(client, "closed")
                    wait_until(lambda: not subflows(testbed), "the view to be empty again", 60)
            counters = testbed.controller.view.connections()["counters"]
            assert counters["opened"] == rounds * number
            # Whose SYN is lost again and again Linux sends without the option; that too the view had as the kernel.
            requested = rounds * number if protocol == MPTCP else 0
            assert counters["mptcp"] + counters["fallbacks"] == requested
            assert counters["fallbacks"] <= 0.05 * requested
            assert counters["unknown_tokens"] == counters["refused"] == counters["malformed"] == 0
            dropped = sum(way["drops"]["loss"] for link in testbed.links for way in link.stats()["directions"].values())
            assert dropped > 0
            flows = ["ovs-ofctl", "-O", "OpenFlow13", "dump-flows", "edge1", "table=1"]
            wait_until(lambda: "priority=50" not in run(flows), "the last rule to go", 30)


def test_the_view_is_served_and_printed(tmp_path):
    with Testbed(fabric(mptcp=True), policy="disjoint") as testbed:
        with serving(testbed.host("h2"), "10.0.1.2"):
            transfer = Transfer(testbed.host("h1"), "10.0.1.2", 40 * SIZE)
            transfer.wait_begun()
            wait_until(lambda: len(subflows(testbed)) == 2, "two subflows", 30)
            table = testbed.controller.show("--draw", str(tmp_path / "paths.svg"))
            output = json.loads(testbed.controller.show("--json"))
            metrics = testbed.controller.view.metrics()
            health = testbed.controller.view.health()
            transfer.kill()
        assert "edge1 → core1 → edge2" in table
        assert "edge1 → core2 → edge2" in table
        assert f"10.0.1.2:{PORT}" in table
        assert len(output["connections"][0]["subflows"]) == 2
        assert len(output["topology"]["links"]) == 4
        assert health == {"ready": True, "missing_switches": [], "links_down": 0}
        assert metrics['connections{protocol="mptcp"}'] == 1
        assert metrics["subflows"] == 2
        assert metrics['syns_total{outcome="steered"}'] == 2
        assert metrics["set_up_seconds_count"] == 2
        drawn = (tmp_path / "paths.svg").read_text()
        assert "<svg" in drawn
        assert drawn.count("<path") > 10
