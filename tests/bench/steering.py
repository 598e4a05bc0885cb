"""What steering costs a connection, how many it takes, and how fast it leaves a dead link: beside what others take.

Set-up: a network of three switches in a row, steered, or with a plain reactive learning switch on os-ken (a rule per
address: it sees no further connection; a rule per connection: it sees each at every switch), or with no controller in
the way at all. Failures: two paths of 20 Mb/s.
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from flightpath.commands import run
from flightpath.launcher import project_python
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from probes.transfers.stream import Stream
from services.stream import StreamServer
from tests.bench.figures import Figure
from topologies.fabric import Fabric
from topologies.hosts import congestion_control
from topologies.links.spec import LinkSpec
from topologies.sandbox import sandbox
from topologies.testbed.testbed import Testbed

SET_UP, FAILURES = "steering: connections", "steering: silence of a transfer when its link fails"
ROUNDS_AT_MOST = 3
CONTROLLERS = ("none", "learning switch, rule per address", "learning switch, rule per connection", "steering")
PAIRS = 16
"""Hosts on either side: no port of one may need more than the controller hears from it."""

FAILING = (("steering, TCP", False, True), ("steering, MPTCP", True, True), ("MPTCP by itself", True, False))
_CONNECTOR = Path(__file__).with_name("connector.py")
_LEARNING_PORT = 6699
_ONE_BY_ONE_S, _PAUSE_S = 2, 0.02
_FLAT_OUT_S, _SIDE_BY_SIDE = 4, 2
_PATH = LinkSpec(bandwidth_bps=20_000_000, delay_s=0.002, queue="30ms")
_STEADY_S, _SILENT_S, _LEAD_S = 1.0, 3.0, 0.05


def measure(rounds: int) -> Iterator[str | list[Figure]]:
    """Yields what it does, and at the end the figures."""
    rounds = min(rounds, ROUNDS_AT_MOST)
    connections: dict[str, list[_Connections]] = {name: [] for name in CONTROLLERS}
    failures: dict[tuple[str, str], list[_Failure]] = {}
    for number in range(1, rounds + 1):
        for name in CONTROLLERS:
            yield f"round {number}: connections, {name}"
            connections[name].append(_connections(name))
        for failure in ("cut", "black hole"):
            for name, mptcp, steered in FAILING:
                yield f"round {number}: {failure}, {name}"
                failures.setdefault((failure, name), []).append(_fail(failure, mptcp=mptcp, steered=steered))
    yield [*_set_up_figures(connections), *_failure_figures(failures)]


@dataclass(frozen=True)
class _Connections:
    """What became of connections.

    Attributes:
        set_up_ms: from SYN to SYN/ACK, in the median of connections one after the other.
        per_s: how many were made and closed, flat out.
        steered: share of them that got a path by the controller, in per cent; None without steering.
    """

    set_up_ms: float
    per_s: float
    steered: float | None = None


@dataclass
class _Failure:
    """What a failure cost, in milliseconds from when it happened.

    Attributes:
        silence_ms: the longest that nothing arrived.
        decided_ms, done_ms: until the controller knew, and until all switches had the new rules; None if it did not.
    """

    silence_ms: float
    decided_ms: float | None = None
    done_ms: float | None = None


def _set_up_figures(found: dict[str, list[_Connections]]) -> Iterator[Figure]:
    plain, *_, steering = CONTROLLERS
    for name in CONTROLLERS:
        yield Figure(SET_UP, f"set-up, {name}", [it.set_up_ms for it in found[name]], "ms", note="SYN to SYN/ACK")
    added = [a.set_up_ms - b.set_up_ms for a, b in zip(found[steering], found[plain], strict=True)]
    yield Figure(SET_UP, "added by steering", added, "ms")
    for name in CONTROLLERS:
        yield Figure(SET_UP, f"flat out, {name}", [it.per_s for it in found[name]], "connections/s")
    yield Figure(SET_UP, "of these steered", [it.steered for it in found[steering]], "%", at_least=99)


def _failure_figures(found: dict[tuple[str, str], list[_Failure]]) -> Iterator[Figure]:
    for (failure, name), values in found.items():
        yield Figure(FAILURES, f"{failure}, {name}", [it.silence_ms for it in values], "ms")
        if values[0].decided_ms is not None:
            yield Figure(FAILURES, f"{failure}, {name}: until known", [it.decided_ms for it in values], "ms")
            yield Figure(FAILURES, f"{failure}, {name}: until moved", [it.done_ms for it in values], "ms")


def _connections(controller: str) -> _Connections:
    """Connections between the hosts of two switches, with a third one between these."""
    steered = controller == "steering"
    fabric = Fabric(cores=1, hosts=PAIRS, multihomed=False, congestion_control="cubic")
    with ExitStack() as stack:
        testbed = stack.enter_context(Testbed(fabric, policy="disjoint" if steered else None))
        if controller.startswith("learning"):
            stack.enter_context(_learning_switch(testbed, per_connection=controller.endswith("connection")))
        pairs = [(testbed.host(f"h{n}"), testbed.host(f"h{n + PAIRS}")) for n in range(1, PAIRS + 1)]
        for client, server in pairs:
            process = server.popen(_connector("serve"), stdout=subprocess.PIPE, text=True)
            stack.callback(_end, process)
            process.stdout.readline()
            client.run(["ping", "-n", "-c", "1", "-w", "5", server.address()])
        client, server = pairs[0]
        one_by_one = json.loads(client.run(_connector("connect", server.address(), 1, _ONE_BY_ONE_S, _PAUSE_S)))
        before = _steered_so_far(testbed) if steered else 0
        running = [
            client.popen(
                _connector("connect", server.address(), _SIDE_BY_SIDE, _FLAT_OUT_S, 0),
                stdout=subprocess.PIPE,
                text=True,
            )
            for client, server in pairs
        ]
        made = sum(len(json.loads(process.communicate(timeout=60)[0])) for process in running)
        share = 100 * (_steered_so_far(testbed) - before) / made if steered else None
        return _Connections(statistics.median(one_by_one) * 1e3, made / _FLAT_OUT_S, share)


def _steered_so_far(testbed: Testbed) -> float:
    return testbed.controller.view.metrics().get('syns_total{outcome="steered"}', 0)


@contextmanager
def _learning_switch(testbed: Testbed, *, per_connection: bool) -> Iterator[None]:
    """Takes the place of the testbed's controller, with switches that know nothing."""
    kind = "CONNECTION" if per_connection else "ADDRESS"
    argv = [project_python(), "-m", "tests.bench.l2_switch", str(_LEARNING_PORT), kind]
    process = subprocess.Popen(argv, cwd=PROJECT, stdout=subprocess.PIPE, text=True)
    try:
        process.stdout.readline()  # it listens
        for switch in testbed.net.switches:
            run(["ovs-ofctl", "-O", "OpenFlow13", "del-flows", switch.name])
            run(["ovs-vsctl", "set-controller", switch.name, f"tcp:127.0.0.1:{_LEARNING_PORT}"])
        for switch in testbed.net.switches:
            wait_until(lambda switch=switch: "CONTROLLER" in _rules(switch.name), "the learning switch's rule", 20)
        yield
    finally:
        _end(process)


def _rules(switch: str) -> str:
    return run(["ovs-ofctl", "-O", "OpenFlow13", "dump-flows", switch])


def _fail(failure: str, *, mptcp: bool, steered: bool) -> _Failure:
    """A download, the busier of whose two paths fails."""
    fabric = Fabric(cores=2, hosts=1, links=_PATH, mptcp=mptcp, congestion_control="cubic")
    with Testbed(fabric, policy="disjoint" if steered else None) as testbed:
        client, server = testbed.host("h1"), testbed.host("h2")
        breaking = _Breaking(testbed, failure)
        listening = congestion_control.set_on_listeners
        with StreamServer(server, sandbox.TEMPORARY, mptcp=mptcp, on_listening=listening):
            stream = Stream(seconds=_STEADY_S + _SILENT_S, mptcp=mptcp)
            found = stream.run(client, server.address(), watch=breaking.go_on, on_start=breaking.begin)
        at_ns = breaking.at_ns
        silence_ms = found.longest_silence_s(at_ns, at_ns + round(_SILENT_S * 1e9)) * 1e3
        if not steered:
            return _Failure(silence_ms)
        move = testbed.controller.view.topology()["moves"][-1]
        return _Failure(silence_ms, *(move[when] * 1e3 - at_ns / 1e6 for when in ("decided_s", "done_s")))


@dataclass
class _Breaking:
    """Breaks the busier path once the transfer is steady."""

    testbed: Testbed
    failure: str
    at_ns: int = 0
    start_ns: int = 0
    paths: list = field(default_factory=list)

    def begin(self, start_ns: int) -> None:
        """The transfer has begun."""
        self.start_ns = start_ns
        self.paths = [it for it in self.testbed.links if it.intf1.node.name == "edge1" and "core" in it.intf2.node.name]

    def go_on(self) -> None:
        """To be called again and again."""
        if self.at_ns or time.monotonic_ns() < self.start_ns + _STEADY_S * 1e9:
            return
        self.at_ns = time.monotonic_ns() + round(_LEAD_S * 1e9)
        busiest = max(self.paths, key=lambda link: link.stats()["directions"]["b_to_a"]["out_bytes"])
        if self.failure == "cut":
            busiest.set_carrier(False, at_ns=self.at_ns)
        else:
            busiest.set_black_hole(True, at_ns=self.at_ns)


def _connector(*words: str | float) -> list[str]:
    return [sys.executable, "-I", "-S", *map(str, (_CONNECTOR, *words))]


def _end(process: subprocess.Popen) -> None:
    process.kill()
    process.communicate()
