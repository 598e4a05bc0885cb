"""Capacity of a network between two hosts: the maximum flow over all its paths."""

import itertools
import math
from collections import defaultdict, deque
from collections.abc import Collection, Mapping

from topologies.testbed.testbed import Testbed

_Rates = Mapping[str, Mapping[str, float]]
"""Rate in bit/s from a node to each of its neighbours; inf if it is not limited."""


def capacity_bps(testbed: Testbed, hosts: Collection[str] = ()) -> float | None:
    """Returns the most that any two hosts can send each other, with all headers, in bit/s; None if nothing limits them.

    Pairs without a limit are left out, as hosts at one switch with ideal cables may be.

    Args:
        testbed: the network, with its links as they are now.
        hosts: names of the hosts that send; all, if fewer than two are named.
    """
    rates: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for link in testbed.links:
        a, b = link.intf1.node.name, link.intf2.node.name
        rates[a][b] += link.a_to_b.mean_bandwidth_bps or math.inf
        rates[b][a] += link.b_to_a.mean_bandwidth_bps or math.inf
    ends = [host.name for host in testbed.net.hosts if not host.forwards]
    named = [name for name in ends if name in hosts]
    pairs = itertools.permutations(named if len(named) > 1 else ends, 2)
    flows = [max_flow(rates, source, target, set(ends) - {source, target}) for source, target in pairs]
    return max((flow for flow in flows if 0 < flow < math.inf), default=None)


def max_flow(rates: _Rates, source: str, target: str, closed: Collection[str] = ()) -> float:
    """Returns the maximum flow between two nodes (Edmonds and Karp); nothing passes the closed ones."""
    rest = {a: dict(of_a) for a, of_a in rates.items()}
    total = 0.0
    while path := _shortest_path(rest, source, target, closed):
        amount = min(rest[a][b] for a, b in itertools.pairwise(path))
        if amount == math.inf:
            return math.inf
        for a, b in itertools.pairwise(path):
            rest[a][b] -= amount
            rest[b][a] = rest[b].get(a, 0.0) + amount
        total += amount
    return total


def _shortest_path(rest: _Rates, source: str, target: str, closed: Collection[str]) -> list[str]:
    before: dict[str, str] = {source: source}
    waiting = deque([source])
    while waiting and target not in before:
        node = waiting.popleft()
        for next_node, rate in rest.get(node, {}).items():
            if rate > 0 and next_node not in before and next_node not in closed:
                before[next_node] = node
                waiting.append(next_node)
    if target not in before:
        return []
    path = [target]
    while path[-1] != source:
        path.append(before[path[-1]])
    return path[::-1]
