"""Connections through the steering controller: real ones, of hosts at different switches and at the same one.

Switches hold SYNs only while the controller renews a lease, so a controller that gets no processor steers late: those
of the meantime take the usual path. A SYN that it did get and did not steer is a fault in any case.
"""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

from flightpath.commands import run
from tests.bench.steering import PAIRS, connect
from tests.campaign.outcome import Outcome
from tests.campaign.soak.given_time import GivenTime
from tests.campaign.soak.memory_use import MEGABYTE, MemoryUse
from tests.support.steering_tools import serving
from topologies.fabric import Fabric
from topologies.hosts.multihomed import MultihomedHost
from topologies.testbed.testbed import Testbed

MAX_GROWTH = 8 * MEGABYTE
MAX_PASSED_BY = 0.01
"""Share of the connections that came while the controller had not renewed its lease; more if others had the machine."""

ROUND = 12_000
"""Connections between two looks at the memory."""

_SIDE_BY_SIDE = 2
_QUIET_S = 60
"""Until the rules of all flows must have gone, in given time: a flow whose end was not seen keeps its own for 20 s."""


def soak(connections: float) -> Iterator[Outcome]:
    """Makes so many connections: half of them between switches, half between hosts of one switch."""
    fabric = Fabric(cores=2, hosts=PAIRS, multihomed=False, congestion_control="cubic")
    with ExitStack() as stack:
        testbed = stack.enter_context(Testbed(fabric, policy="disjoint"))
        hosts = [testbed.host(f"h{number}") for number in range(1, 2 * PAIRS + 1)]
        for host in hosts:
            stack.enter_context(serving(host, host.address(), mptcp=False))
        for name, pairs in {
            "between switches": list(zip(hosts[:PAIRS], hosts[PAIRS:], strict=True)),
            "at one switch": list(zip(hosts[::2], hosts[1::2], strict=True)),
        }.items():
            for client, server in pairs:
                client.run(["ping", "-n", "-c", "1", "-w", "5", server.address()])
            yield _connections(name, testbed, pairs, round(connections / 2))


def _counted(testbed: Testbed) -> list[Counter[str]]:
    """Counters of the controller: SYNs by what became of them, and events of connections."""
    metrics = testbed.controller.view.metrics()
    return [
        Counter({key.split('"')[1]: round(value) for key, value in metrics.items() if key.startswith(family)})
        for family in ("syns_total{", "connection_events_total{")
    ]


def _connections(
    name: str, testbed: Testbed, pairs: list[tuple[MultihomedHost, MultihomedHost]], wanted: int
) -> Outcome:
    given, memory = GivenTime(), MemoryUse("the controller", testbed.controller._process.pid, MAX_GROWTH)
    before, made, slowest_s, rounds = _counted(testbed), 0, 0.0, max(4, round(wanted / ROUND))
    for number in range(rounds):
        took = connect(pairs, _SIDE_BY_SIDE, 3600, 0, -(-wanted // rounds // len(pairs)), limit_s=600)
        made, slowest_s = made + len(took), max(slowest_s, *took)
        memory.sample(is_warming=number <= rounds // 5)
        testbed.check()
    share = given.share
    faults = [*_left_behind(testbed, given), *memory.faults()]
    syns, events = (now - then for now, then in zip(_counted(testbed), before, strict=True))
    if made < wanted:
        faults.append(f"{made} of {wanted} connections were made")
    faults += _misjudged(syns, events, made, share)
    figures = (
        f"{syns['steered']} steered, slowest {slowest_s * 1e3:.0f} ms, {_held(testbed)} connections and "
        f"{len(_flow_rules(testbed))} rules left, memory of {memory}, {share:.0%} of the machine"
    )
    return Outcome(f"soak: controller, {name}", f"{made} connections", figures, faults)


def _misjudged(syns: Counter[str], events: Counter[str], made: int, share: float) -> Iterator[str]:
    """Errors of the controller with these connections, given its share of the machine."""
    steered, opened = syns["steered"], events["opened"]
    unsteered = {outcome: count for outcome, count in syns.items() if outcome not in ("steered", "repeated")}
    if unsteered:
        yield f"SYNs that reached the controller were not steered: {unsteered}"
    passed_by = made - steered - sum(unsteered.values())
    if passed_by * share > MAX_PASSED_BY * made:
        yield (
            f"{passed_by} of {made} connections passed the controller by, which had {share:.0%} of the machine; "
            f"refused or limited: {events['refused'] + events['rate_limited']}"
        )
    if not steered <= opened <= made:
        yield f"the controller counts {opened} opened and {steered} steered; {made} were made"


def _left_behind(testbed: Testbed, given: GivenTime) -> Iterator[str]:
    """Waits until the controller knows no connection, and switches have no rule of a flow, or says what there is."""
    until_s = given.now_s() + _QUIET_S
    while _held(testbed) or _flow_rules(testbed):
        if given.now_s() > until_s:
            held, rules = _held(testbed), _flow_rules(testbed)
            yield f"{held} connections and {len(rules)} rules of flows are left after {_QUIET_S} s: {rules[:2]}"
            return
        time.sleep(0.5)


def _held(testbed: Testbed) -> int:
    metrics = testbed.controller.view.metrics()
    return round(sum(value for key, value in metrics.items() if key.startswith("connections{")))


def _flow_rules(testbed: Testbed) -> list[str]:
    """The rules that match one TCP flow, of all switches."""
    rules = []
    for switch in testbed.net.switches:
        dump = run(["ovs-ofctl", "-O", "OpenFlow13", "dump-flows", switch.name, "table=1"], timeout_s=60)
        rules += [line.strip() for line in dump.splitlines() if "tp_src=" in line]
    return rules
