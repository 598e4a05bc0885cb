"""Cost of steering to a connection, capacity, and time to leave a dead link, beside other controllers.

Set-up: a network of three switches in a row, steered, or with a plain reactive learning switch on os-ken (a rule per
connection), or with no controller in the way at all. Failures: two paths of 20 Mb/s.
"""

import json
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from flightpath.commands import run
from flightpath.launcher import project_python
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from probes.transfers.stream import Stream
from services.stream import StreamServer
from tests.bench.figures import Figure
from tests.support.host_programs import program
from tests.support.killed import killed_at_end
from tests.support.steering_tools import serving
from topologies.fabric import Fabric
from topologies.hosts import congestion_control
from topologies.hosts.multihomed import MultihomedHost
from topologies.links.spec import LinkSpec
from topologies.sandbox import sandbox
from topologies.testbed.testbed import Testbed

SET_UP, FAILURES = "steering: connections", "steering: silence of a transfer when its link fails"
MAX_ROUNDS = 3
CONTROLLERS = ("none", "learning switch", "steering")
PAIRS = 16
"""Hosts on either side: no port of one may need more than the controller hears from it."""

FAILING = (("steering, TCP", False, True), ("steering, MPTCP", True, True), ("MPTCP by itself", True, False))
_LEARNING_PORT = 6699
_ONE_BY_ONE_S, _PAUSE_S = 2, 0.02
_FLAT_OUT_S, _SIDE_BY_SIDE = 4, 2
_PATH = LinkSpec(bandwidth_bps=20_000_000, delay_s=0.002, queue="30ms")
_STEADY_S, _SILENT_S, _LEAD_S = 1.0, 3.0, 0.05


def measure(number: int) -> Iterator[str | Figure]:
    if number > MAX_ROUNDS:
        return
    median_ms = {}
    for name in CONTROLLERS:
        yield f"connections, {name}"
        median_ms[name], per_s, steered_percent = _connections(name)
        yield Figure(SET_UP, f"SYN to SYN/ACK, {name}", [median_ms[name]], "ms")
        yield Figure(SET_UP, f"flat out, {name}", [per_s], "connections/s")
        if name == "steering":
            yield Figure(SET_UP, "of these steered", [steered_percent], "%", at_least=99)
    yield Figure(SET_UP, "added by steering", [median_ms["steering"] - median_ms["none"]], "ms")
    for failure in ("cut", "black hole"):
        for name, mptcp, steered in FAILING:
            yield f"{failure}, {name}"
            for what, value_ms in _fail(failure, mptcp=mptcp, steered=steered).items():
                yield Figure(FAILURES, f"{failure}, {name}{what}", [value_ms], "ms")


def _connections(controller: str) -> tuple[float, float, float]:
    """Makes connections between the hosts of two switches, with a third one between these.

    Returns the median time from SYN to SYN/ACK, one after the other (ms); how many a second, flat out; and the
    percentage of these that the controller steered.
    """
    steered = controller == "steering"
    fabric = Fabric(cores=1, hosts=PAIRS, multihomed=False, congestion_control="cubic")
    with ExitStack() as stack:
        testbed = stack.enter_context(Testbed(fabric, policy="disjoint" if steered else None))
        if controller == "learning switch":
            stack.enter_context(_learning_switch(testbed))
        pairs = [(testbed.host(f"h{n}"), testbed.host(f"h{n + PAIRS}")) for n in range(1, PAIRS + 1)]
        for client, server in pairs:
            stack.enter_context(serving(server, server.address(), mptcp=False))
            client.run(["ping", "-n", "-c", "1", "-w", "5", server.address()])
        one_by_one = connect(pairs[:1], 1, _ONE_BY_ONE_S, _PAUSE_S, limit_s=60)
        before = _steered_so_far(testbed) if steered else 0
        made = len(connect(pairs, _SIDE_BY_SIDE, _FLAT_OUT_S, 0, limit_s=60))
        share = 100 * (_steered_so_far(testbed) - before) / made if steered else 0
        return statistics.median(one_by_one) * 1e3, made / _FLAT_OUT_S, share


def connect(pairs: Sequence[tuple[MultihomedHost, MultihomedHost]], *words: float, limit_s: float) -> list[float]:
    """Runs `connect` of host_programs.py in each client, to its server; returns how long each connection took (s)."""
    with ExitStack() as stack:
        processes = []
        for client, server in pairs:
            argv = program("connect", server.address(), *words)
            process = client.popen(argv, stdout=subprocess.PIPE, text=True)
            processes.append(stack.enter_context(killed_at_end(process)))
        return [took_s for process in processes for took_s in json.loads(process.communicate(timeout=limit_s)[0])]


def _steered_so_far(testbed: Testbed) -> float:
    return testbed.controller.view.metrics().get('syns_total{outcome="steered"}', 0)


@contextmanager
def _learning_switch(testbed: Testbed) -> Iterator[None]:
    """Takes the place of the testbed's controller, with switches that know nothing."""

    def is_connected(switch: str) -> bool:
        return "CONTROLLER" in run(["ovs-ofctl", "-O", "OpenFlow13", "dump-flows", switch])

    argv = [project_python(), "-m", "tests.bench.l2_switch", str(_LEARNING_PORT)]
    with killed_at_end(subprocess.Popen(argv, cwd=PROJECT, stdout=subprocess.PIPE, text=True)) as process:
        process.stdout.readline()  # it listens
        for switch in testbed.net.switches:
            run(["ovs-ofctl", "-O", "OpenFlow13", "del-flows", switch.name])
            run(["ovs-vsctl", "set-controller", switch.name, f"tcp:127.0.0.1:{_LEARNING_PORT}"])
        for switch in testbed.net.switches:
            wait_until(partial(is_connected, switch.name), "the learning switch's rule", 20)
        yield


def _fail(failure: str, *, mptcp: bool, steered: bool) -> dict[str, float]:
    """Breaks the busier of a download's two paths; returns the longest silence, and when the controller acted (ms)."""
    fabric = Fabric(cores=2, hosts=1, links=_PATH, mptcp=mptcp, congestion_control="cubic")
    start_ns, at_ns = [], []
    with Testbed(fabric, policy="disjoint" if steered else None) as testbed:

        def watch() -> None:
            """Breaks it once the transfer is steady; is called while the transfer goes on."""
            if at_ns or time.monotonic_ns() < start_ns[0] + _STEADY_S * 1e9:
                return
            at_ns.append(time.monotonic_ns() + round(_LEAD_S * 1e9))
            paths = [it for it in testbed.links if it.intf1.node.name == "edge1" and "core" in it.intf2.node.name]
            busiest = max(paths, key=lambda link: link.stats()["directions"]["b_to_a"]["out_bytes"])
            if failure == "cut":
                busiest.set_carrier(False, at_ns=at_ns[0])
            else:
                busiest.set_black_hole(True, at_ns=at_ns[0])

        client, server = testbed.host("h1"), testbed.host("h2")
        listening = congestion_control.set_on_listeners
        with StreamServer(server, sandbox.TEMPORARY, mptcp=mptcp, on_listening=listening):
            stream = Stream(seconds=_STEADY_S + _SILENT_S, mptcp=mptcp)
            download = stream.run(client, server.address(), watch=watch, on_start=start_ns.append)
        found = {"": download.longest_silence_s(at_ns[0], at_ns[0] + round(_SILENT_S * 1e9)) * 1e3}
        if steered:
            move = testbed.controller.view.topology()["moves"][-1]
            found[": until known"] = move["decided_s"] * 1e3 - at_ns[0] / 1e6
            found[": until moved"] = move["done_s"] * 1e3 - at_ns[0] / 1e6
        return found
