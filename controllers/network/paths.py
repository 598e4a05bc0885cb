"""The switches, the links between them and the ways through: without it no subflow could be kept off another's link."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, pairwise
from typing import Any, NamedTuple, Self, TypeVar

from controllers.network.description import Network
from flightpath.lazy_import import lazy_import

networkx = lazy_import("networkx")  # half of the controller's start-up time, and forwarding alone needs none of it

Found = TypeVar("Found")

_LINK = 1 << 60
_NS_PER_S = 10**9
"""The cost of a link is one integer: how many links, and in the lower 60 bits the delay in ns, which decides ties."""


class Edge(NamedTuple):
    """A link, the same whichever way it is crossed: (`switch`, `port`) is the end that sorts first."""

    switch: str
    port: int
    other_switch: str
    other_port: int


class Hop(NamedTuple):
    """A link in one direction: out of `port` of `switch`, into `next_port` of `next_switch`."""

    switch: str
    port: int
    next_switch: str
    next_port: int

    @property
    def edge(self) -> Edge:
        """The link."""
        return edge_between(self[:2], self[2:])

    def reversed(self) -> Hop:
        """The link, crossed the other way."""
        return Hop(self.next_switch, self.next_port, self.switch, self.port)


@dataclass(frozen=True)
class Path:
    """A way from one switch to another that visits no switch twice.

    Args:
        switches: from the first to the last; only one if a flow enters and leaves at the same switch.
        hops: the links between them, in order; one fewer than `switches`.
    """

    switches: tuple[str, ...]
    hops: tuple[Hop, ...]

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """The links it crosses, in order."""
        return tuple(hop.edge for hop in self.hops)

    def reversed(self) -> Path:
        """The same links from the other end."""
        return Path(self.switches[::-1], tuple(hop.reversed() for hop in reversed(self.hops)))


@dataclass(frozen=True)
class LinkState:
    """What is known of a link.

    Args:
        edge: which link.
        capacity_bps: of its slower direction; None is unknown.
        delay_s: one way; None is unknown and counts as none.
        load_bps: of its busier direction, from the port counters.
        up: whether frames cross it. A link that is down is in no path.
    """

    edge: Edge
    capacity_bps: float | None = None
    delay_s: float | None = None
    load_bps: float = 0.0
    up: bool = True

    @property
    def cost(self) -> int:
        """What one more link costs a path: added up, fewer links are less, and of as many the smaller delay."""
        return _LINK + round((self.delay_s or 0.0) * _NS_PER_S)


class Topology:
    """The switches with the present state of their links, and the paths through it, found once per state.

    Args:
        switches: names; those of the links need not be among them.
        links: what is known at the start.

    Attributes:
        graph: a `networkx.MultiGraph` of switch names; the key of each of its edges is the `Edge`, its attribute
            `state` the `LinkState`. To be read only: changes go through `update`. A link has the place that its name
            has, whenever it came, so equal topologies have equal paths.
        version: another number whenever paths may have changed (a link came, went, or has another capacity or delay;
            not for its load).
    """

    def __init__(self, switches: Iterable[str] = (), links: Iterable[LinkState] = ()) -> None:
        self.version = 0
        self._switches = set(switches)
        self._links: dict[Edge, LinkState] = {}
        self._at_port: dict[tuple[str, int], Edge] = {}
        for state in links:
            self._put(state)
        self._rebuild()

    @classmethod
    def from_network(cls, network: Network) -> Self:
        """The testbed's description; capacity and delay are unknown, every link is up."""
        ends = [((it.a.switch, it.a.port), (it.b.switch, it.b.port)) for it in network.links]
        return cls((switch.name for switch in network.switches), (LinkState(edge_between(a, b)) for a, b in ends))

    def update(self, state: LinkState) -> None:
        """Adds a link and its switches, or replaces what is known of it; one that was at its ports is gone."""
        edge, known = state.edge, self._links.get(state.edge)
        self._put(state)
        if known is not None and replace(known, load_bps=state.load_bps) == state:
            self.graph.edges[edge.switch, edge.other_switch, edge]["state"] = state
        else:
            self._rebuild()

    def remove(self, edge: Edge) -> None:
        """Forgets a link; nothing if there is none."""
        if edge in self._links:
            self._drop(edge)
            self._rebuild()

    def state(self, edge: Edge) -> LinkState | None:
        """What is known of a link."""
        return self._links.get(edge)

    def edge_at(self, switch: str, port: int) -> Edge | None:
        """The link at a port, if one is there: to turn port counters and port status into links."""
        return self._at_port.get((switch, port))

    def is_usable(self, path: Path) -> bool:
        """Whether every link of the path is there and up."""
        states = [self._links.get(edge) for edge in path.edges]
        return all(state is not None and state.up for state in states)

    def disjoint_paths(self, source: str, target: str, limit: int) -> tuple[Path, ...]:
        """As the function of this name, remembered until the version changes."""
        what = (disjoint_paths, source, target, limit)
        return self.remembered(what, lambda: disjoint_paths(self.graph, source, target, limit))

    def equal_cost_paths(self, source: str, target: str, limit: int) -> tuple[Path, ...]:
        """As the function of this name, remembered until the version changes."""
        what = (equal_cost_paths, source, target, limit)
        return self.remembered(what, lambda: equal_cost_paths(self.graph, source, target, limit))

    def remembered(self, what: Hashable, find: Callable[[], Found]) -> Found:
        """What `find` returns, found once per version under the name `what`; it must not depend on loads."""
        if what not in self._found:
            self._found[what] = find()
        return self._found[what]

    def _put(self, state: LinkState) -> None:
        edge = state.edge
        for end in (edge[:2], edge[2:]):
            if self._at_port.get(end, edge) != edge:
                self._drop(self._at_port[end])
            self._at_port[end] = edge
        self._links[edge] = state
        self._switches.update((edge.switch, edge.other_switch))

    def _drop(self, edge: Edge) -> None:
        del self._links[edge], self._at_port[edge[:2]], self._at_port[edge[2:]]

    def _rebuild(self) -> None:
        self.version += 1
        self._found: dict[Hashable, Any] = {}
        self.graph = networkx.MultiGraph()
        self.graph.add_nodes_from(sorted(self._switches))
        for edge in sorted(self._links):
            self.graph.add_edge(edge.switch, edge.other_switch, key=edge, state=self._links[edge])


def edge_between(a: tuple[str, int], b: tuple[str, int]) -> Edge:
    """The link between two (switch, port), in whichever order they are named."""
    return Edge(*a, *b) if a <= b else Edge(*b, *a)


def lightest_path(
    graph: networkx.MultiGraph, source: str, target: str, weight: Callable[[LinkState], int | None]
) -> Path | None:
    """The path whose links weigh least in sum (Dijkstra), or None if there is no way.

    Args:
        graph: as `Topology.graph`.
        source, target: switches.
        weight: of a link, more than 0; None keeps the path off it. Not asked for links that are down.
    """
    if source not in graph or target not in graph:
        return None

    def lightest(parallel: dict[Edge, dict[str, LinkState]]) -> tuple[int, Edge] | None:
        states = [attributes["state"] for attributes in parallel.values() if attributes["state"].up]
        weights = [(weight(state), state.edge) for state in states]
        return min((it for it in weights if it[0] is not None), default=None)

    def of_best(_from: str, _to: str, parallel: dict[Edge, dict[str, LinkState]]) -> int | None:
        best = lightest(parallel)
        return None if best is None else best[0]

    try:
        switches = networkx.dijkstra_path(graph, source, target, weight=of_best)
    except networkx.NetworkXNoPath:
        return None
    return _path(source, [_hop(a, lightest(graph[a][b])[1]) for a, b in pairwise(switches)])


def disjoint_paths(graph: networkx.MultiGraph, source: str, target: str, limit: int) -> tuple[Path, ...]:
    """As many paths without a common link as there are (a maximum flow), at most `limit`; of these the shortest in sum.

    Args:
        graph: as `Topology.graph`.
        source, target: switches.
        limit: at least 1.

    Returns:
        Shortest first (links, then delay, then names and ports); the same for the same graph. One path without hops if
        source and target are the same; nothing if there is no way.
    """
    if source not in graph or target not in graph:
        return ()
    if source == target:
        return (_path(source, ()),)
    used = _flow(graph, source, target, limit)
    paths = []
    while (path := lightest_path(used, source, target, lambda state: state.cost)) is not None:
        paths.append(path)
        used.remove_edges_from([(edge.switch, edge.other_switch, edge) for edge in path.edges])
    states = networkx.get_edge_attributes(graph, "state")
    costs = {edge: state.cost for (_, _, edge), state in states.items()}
    return tuple(sorted(paths, key=lambda path: (sum(costs[edge] for edge in path.edges), path.hops)))


def equal_cost_paths(graph: networkx.MultiGraph, source: str, target: str, limit: int) -> tuple[Path, ...]:
    """The paths with the fewest links, at most `limit`, ordered by names and ports: what ECMP would spread over."""
    usable = _usable(graph)
    if source not in usable or target not in usable:
        return ()
    distance = networkx.single_source_shortest_path_length(usable, target)
    if source not in distance:
        return ()

    def onward(hops: tuple[Hop, ...], here: str) -> Iterator[Path]:
        if here == target:
            yield _path(source, hops)
        for hop in sorted(_hop(here, edge) for _, _, edge in usable.edges(here, keys=True)):
            if distance[hop.next_switch] < distance[here]:
                yield from onward((*hops, hop), hop.next_switch)

    return tuple(islice(onward((), source), limit))


def _flow(graph: networkx.MultiGraph, source: str, target: str, limit: int) -> networkx.MultiGraph:
    """The links that a maximum flow of least cost crosses, each of them once.

    A link is an arc each way; both at once would only cost. The flow returns from target to source over an arc that
    pays more than any path costs: the cheapest circulation then is the largest.
    """
    usable = _usable(graph)
    arcs = networkx.MultiDiGraph()
    arcs.add_nodes_from(usable)
    for a, b, edge, state in usable.edges(keys=True, data="state"):
        arcs.add_edge(a, b, key=edge, capacity=1, weight=state.cost)
        arcs.add_edge(b, a, key=edge, capacity=1, weight=state.cost)
    gain = 1 + sum(state.cost for _, _, state in usable.edges(data="state"))
    arcs.add_edge(target, source, key="return", capacity=limit, weight=-gain)
    _, flow = networkx.network_simplex(arcs)
    crossed = {edge for ends in flow.values() for keyed in ends.values() for edge, amount in keyed.items() if amount}
    return networkx.MultiGraph(
        (a, b, edge, {"state": state}) for a, b, edge, state in usable.edges(keys=True, data="state") if edge in crossed
    )


def _usable(graph: networkx.MultiGraph) -> networkx.MultiGraph:
    """The graph without the links that are down."""
    usable = networkx.MultiGraph()
    usable.add_nodes_from(graph)
    links = graph.edges(keys=True, data="state")
    usable.add_edges_from((a, b, edge, {"state": state}) for a, b, edge, state in links if state.up)
    return usable


def _hop(switch: str, edge: Edge) -> Hop:
    return Hop(*edge) if edge.switch == switch else Hop(*edge).reversed()


def _path(source: str, hops: Iterable[Hop]) -> Path:
    hops = tuple(hops)
    return Path((source, *(hop.next_switch for hop in hops)), hops)
