"""Steering as users of Ryu start it: `osken-manager controllers/steering.py`, in a network that nobody describes."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from controllers.view.client import View
from flightpath.commands import run
from flightpath.launcher import project_python
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from tests.support.killed import killed_at_end
from tests.support.steering_tools import Transfer, serving
from topologies.fabric import Fabric
from topologies.links.spec import LinkSpec
from topologies.sandbox import sandbox
from topologies.testbed.testbed import Testbed

pytestmark = pytest.mark.in_sandbox

SIZE = 4_000_000
PATH = LinkSpec(bandwidth_bps=20_000_000, delay_s=0.005, queue="50ms")
OPENFLOW_PORT, REST_PORT = 6700, 8700


@contextmanager
def manager(testbed: Testbed) -> Iterator[View]:
    """Gives the testbed's switches, emptied, to an osken-manager with steering."""
    settings = {"FLIGHTPATH_POLICY": "disjoint", "FLIGHTPATH_REST": f"127.0.0.1:{REST_PORT}"}
    program = str(Path(project_python()).with_name("osken-manager"))
    listen = ["--ofp-listen-host", "127.0.0.1", "--ofp-tcp-listen-port", str(OPENFLOW_PORT)]
    log = sandbox.TEMPORARY / "manager.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [program, *listen, "controllers/steering.py"],
            cwd=PROJECT,
            env={**os.environ, "PYTHONPATH": str(PROJECT), **settings},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    with killed_at_end(process):
        wait_until(lambda: f":{OPENFLOW_PORT} " in run(["ss", "-Htln"]), "osken-manager to listen", 30)
        for switch in testbed.net.switches:
            run(["ovs-ofctl", "-O", "OpenFlow13", "del-flows", switch.name])
            run(["ovs-vsctl", "set-controller", switch.name, f"tcp:127.0.0.1:{OPENFLOW_PORT}"])
        yield View(f"http://127.0.0.1:{REST_PORT}")
        assert process.poll() is None
        assert "Traceback" not in log.read_text(), log.read_text()


def test_osken_manager_finds_the_network_and_gives_each_subflow_a_path_of_its_own():
    def paths(view: View) -> list[tuple[str, list[str]]]:
        return [
            (connection["token"], subflow["switches"])
            for connection in view.connections()["connections"]
            for subflow in connection["subflows"]
        ]

    fabric = Fabric(hosts=1, cores=2, links=PATH, mptcp=True, congestion_control="cubic")
    with Testbed(fabric) as testbed, manager(testbed) as view:
        client, server = testbed.host("h1"), testbed.host("h2")
        wait_until(lambda: len(view.topology()["links"]) == 4, "all links to be found", 30)
        for plane in (0, 1):
            client.run(["ping", "-n", "-c", "1", "-w", "20", server.address(plane)])
        with serving(server, "10.0.1.2"):
            transfer = Transfer(client, "10.0.1.2", 4 * SIZE)
            transfer.wait_begun()
            with transfer.paused():  # or it may end before the controller has seen both
                wait_until(lambda: len(paths(view)) == 2, "two subflows on two paths", 20)
                ((token, one), (same, other)) = paths(view)
            assert token == same
            assert not set(one[1:-1]) & set(other[1:-1])
            assert transfer.end().received == 4 * SIZE
            wait_until(lambda: paths(view) == [], "the view to be empty again", 30)
        listening = run(["ss", "-Htln", f"sport = :{REST_PORT}"]).split()
        assert f"127.0.0.1:{REST_PORT}" in listening
        assert not any(word.startswith(("0.0.0.0:8", "*:8", "[::]:8")) for word in listening)
