"""Connections through the steering controller: real ones, of hosts at different switches and at the same one."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from flightpath.commands import run
from flightpath.waiting import wait_until
from tests.campaign.outcome import Outcome
from tests.campaign.soak.memory_use import MEGABYTE, MemoryUse
from topologies.fabric import Fabric
from topologies.hosts.multihomed import MultihomedHost
from topologies.testbed.testbed import Testbed

PAIRS = 16
"""On each side: no port of one may need more than the controller hears from it."""

MOST_GROWTH = 8 * MEGABYTE
LEAST_STEERED = 0.99
ROUND = 12_000
"""Connections between two looks at the memory."""

_SIDE_BY_SIDE = 2
_CONNECTOR = [sys.executable, "-I", "-S", "tests/bench/connector.py"]
_QUIET_S = 60
"""Until the rules of all flows must have gone: a flow whose end was not seen keeps its own for 20 s."""


def soak(connections: float) -> Iterator[Outcome]:
    """Makes so many connections: half of them between switches, half between hosts of one switch."""
    fabric = Fabric(cores=2, hosts=PAIRS, multihomed=False, congestion_control="cubic")
    with ExitStack() as stack:
        testbed = stack.enter_context(Testbed(fabric, policy="disjoint"))
        hosts = [testbed.host(f"h{number}") for number in range(1, 2 * PAIRS + 1)]
        for host in hosts:
            _serve(host, stack)
        process = testbed.controller._process
        for name, pairs in {
            "between switches": list(zip(hosts[:PAIRS], hosts[PAIRS:], strict=True)),
            "at one switch": list(zip(hosts[::2], hosts[1::2], strict=True)),
        }.items():
            for client, server in pairs:
                client.run(["ping", "-n", "-c", "1", "-w", "5", server.address()])
            memory = MemoryUse("the controller", process.pid, MOST_GROWTH)
            yield _connections(testbed, pairs, round(connections / 2), memory, f"soak: controller, {name}")


@dataclass
class _Counts:
    """What the controller has counted."""

    syns: dict[str, float]
    opened: float
    refused: float

    @classmethod
    def read(cls, testbed: Testbed) -> "_Counts":
        told = testbed.controller.view.metrics()
        syns = {key.split('"')[1]: value for key, value in told.items() if key.startswith("syns_total{")}
        events = {key.split('"')[1]: value for key, value in told.items() if key.startswith("connection_events_total{")}
        return cls(syns, events["opened"], events["refused"] + events["rate_limited"])


def _connections(
    testbed: Testbed, pairs: list[tuple[MultihomedHost, MultihomedHost]], wanted: int, memory: MemoryUse, name: str
) -> Outcome:
    before, made, slowest_s, rounds = _Counts.read(testbed), 0, 0.0, max(4, round(wanted / ROUND))
    for number in range(rounds):
        took = _round(pairs, -(-wanted // rounds // len(pairs)))
        made, slowest_s = made + len(took), max(slowest_s, *took)
        memory.warm() if number <= rounds // 5 else memory.sample()
        testbed.check()
    faults = [*_left_behind(testbed), *memory.faults()]
    after = _Counts.read(testbed)
    syns = {key: round(after.syns[key] - before.syns.get(key, 0)) for key in after.syns}
    opened, refused = round(after.opened - before.opened), round(after.refused - before.refused)
    if made < wanted:
        faults.append(f"{made} of {wanted} connections were made")
    if syns.get("steered", 0) < LEAST_STEERED * made:
        faults.append(f"{syns.get('steered', 0)} of {made} connections were steered; refused or limited: {refused}")
    if opened > made or opened < syns.get("steered", 0):
        faults.append(f"the controller counts {opened} opened and {syns.get('steered', 0)} steered; {made} were made")
    figures = (
        f"{syns.get('steered', 0)} steered, slowest {slowest_s * 1e3:.0f} ms, {_held(testbed)} connections and "
        f"{len(_flow_rules(testbed))} rules left, memory of {memory}"
    )
    return Outcome(name, f"{made} connections", figures, tuple(faults))


def _round(pairs: list[tuple[MultihomedHost, MultihomedHost]], each: int) -> list[float]:
    """Makes and closes so many between each two hosts; returns how long each took (s)."""
    clients = [
        client.popen(
            [*_CONNECTOR, "connect", server.address(), str(_SIDE_BY_SIDE), "3600", "0", str(each)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for client, server in pairs
    ]
    try:
        return [took for client in clients for took in json.loads(client.communicate(timeout=600)[0])]
    finally:
        for client in clients:
            client.kill()
            client.wait()


def _serve(host: MultihomedHost, stack: ExitStack) -> None:
    process = host.popen([*_CONNECTOR, "serve"], stdout=subprocess.PIPE, text=True)
    stack.callback(process.stdout.close)
    stack.callback(process.wait)
    stack.callback(process.kill)
    process.stdout.readline()


def _left_behind(testbed: Testbed) -> Iterator[str]:
    """Waits until the controller knows no connection, and switches have no rule of a flow, or says what there is."""
    try:
        wait_until(lambda: not _held(testbed) and not _flow_rules(testbed), "the flows to go", _QUIET_S, poll_s=0.2)
    except Exception:
        rules = _flow_rules(testbed)
        yield f"{_held(testbed)} connections and {len(rules)} rules of flows are left after {_QUIET_S} s: {rules[:2]}"


def _held(testbed: Testbed) -> int:
    told = testbed.controller.view.metrics()
    return round(sum(value for key, value in told.items() if key.startswith("connections{")))


def _flow_rules(testbed: Testbed) -> list[str]:
    """The rules that match one TCP flow, of all switches."""
    found = []
    for switch in testbed.net.switches:
        told = run(["ovs-ofctl", "-O", "OpenFlow13", "dump-flows", switch.name, "table=1"], timeout_s=60)
        found += [line.strip() for line in told.splitlines() if "tp_src=" in line]
    return found
