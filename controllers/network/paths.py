"""The topology: switches, the links between them with their present state, and the paths through it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, KeysView
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from controllers.network.description import Link, Network
from flightpath.extensions import lazy_import

if TYPE_CHECKING:
    import networkx
else:
    networkx = lazy_import("networkx")  # half of the controller's start-up time; forwarding alone needs none of it

Result = TypeVar("Result")

_LINK = 1 << 60
_NS_PER_S = 10**9
"""A cost is one integer: the number of links, and in the lower 60 bits the delay in ns, which decides among equals."""


class Edge(NamedTuple):
    """A link without a direction: (`switch`, `port`) is the end that sorts first."""

    switch: str
    port: int
    other_switch: str
    other_port: int

    def hop_from(self, switch: str) -> Hop:
        """Returns the link in the direction that starts at one of its two switches."""
        return Hop(*self) if self.switch == switch else Hop(*self).reversed()


class Hop(NamedTuple):
    """A link in one direction: out of `port` of `switch`, into `next_port` of `next_switch`."""

    switch: str
    port: int
    next_switch: str
    next_port: int

    @property
    def edge(self) -> Edge:
        return edge_between(self[:2], self[2:])

    def reversed(self) -> Hop:
        return Hop(self.next_switch, self.next_port, self.switch, self.port)


@dataclass(frozen=True)
class Path:
    """A path from one switch to another that visits no switch twice; `hops` are the links between `switches`."""

    switches: tuple[str, ...]
    hops: tuple[Hop, ...]

    @classmethod
    def over(cls, source: str, hops: Iterable[Hop]) -> Self:
        """Returns the path from a switch over these hops; without any, a flow enters and leaves at this switch."""
        hops = tuple(hops)
        return cls((source, *(hop.next_switch for hop in hops)), hops)

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """The links it crosses, in order."""
        return tuple(hop.edge for hop in self.hops)

    def reversed(self) -> Path:
        """Returns the same links from the other end."""
        return Path(self.switches[::-1], tuple(hop.reversed() for hop in reversed(self.hops)))


@dataclass(frozen=True)
class LinkState:
    """The state of a link, as far as it is known.

    Args:
        capacity_bps: of its slower direction; None: unknown.
        delay_s: one way; None: unknown, which counts as none.
        load_bps: of its busier direction, from the port counters.
        up: a link that is down is in no path.
    """

    edge: Edge
    capacity_bps: float | None = None
    delay_s: float | None = None
    load_bps: float = 0.0
    up: bool = True

    @classmethod
    def of(cls, link: Link) -> Self:
        """Returns the state of a link in the description of a network."""
        return cls(edge_of(link), link.capacity_bps, None if link.delay_us is None else link.delay_us / 1e6)

    @property
    def cost(self) -> int:
        """The cost of the link in a path. In a sum, the number of links decides, and among equals the delay."""
        return _LINK + round((self.delay_s or 0.0) * _NS_PER_S)


class Topology:
    """The switches, the links with their present state, and the paths, which are computed once per state.

    Paths depend on the names of switches, not on the order in which links were added: equal topologies have equal
    paths.

    Attributes:
        version: changes whenever paths may have changed: a link was added or removed, or has another capacity, delay or
            state. It does not change with the load.
    """

    def __init__(self, switches: Iterable[str] = (), links: Iterable[LinkState] = ()) -> None:
        self.version = 0
        self._switches = set(switches)
        self._states: dict[Edge, LinkState] = {}
        self._at_port: dict[tuple[str, int], Edge] = {}
        self._results: dict[Hashable, Any] = {}
        self._alive: tuple[Network | None, Network | None] = None, None
        for state in links:
            self._put(state)

    @classmethod
    def from_network(cls, network: Network) -> Self:
        """Returns the topology of a described network; every link is up."""
        return cls((switch.name for switch in network.switches), map(LinkState.of, network.links))

    @property
    def links(self) -> KeysView[Edge]:
        return self._states.keys()

    @property
    def states(self) -> list[LinkState]:
        """The states of all links, sorted by link."""
        return [self._states[edge] for edge in sorted(self._states)]

    @cached_property
    def graph(self) -> networkx.MultiGraph:
        """The switches, and each link as an edge with the `Edge` as key and the `LinkState` as attribute `state`.

        Read only: use `update` and `remove`. The first access loads networkx.
        """
        graph = networkx.MultiGraph()
        graph.add_nodes_from(sorted(self._switches))
        for state in self.states:
            graph.add_edge(state.edge.switch, state.edge.other_switch, key=state.edge, state=state)
        return graph

    def update(self, state: LinkState) -> None:
        """Adds a link and its switches, or replaces its state. A link that had one of its ports before is removed."""
        edge, before = state.edge, self._states.get(state.edge)
        self._put(state)
        if before is None or replace(before, load_bps=state.load_bps) != state:
            self._invalidate()
        elif "graph" in vars(self):
            self.graph.edges[edge.switch, edge.other_switch, edge]["state"] = state

    def remove(self, edge: Edge) -> None:
        if edge in self._states:
            self._drop(edge)
            self._invalidate()

    def state(self, edge: Edge) -> LinkState | None:
        return self._states.get(edge)

    def edge_at(self, switch: str, port: int) -> Edge | None:
        return self._at_port.get((switch, port))

    def alive(self, network: Network) -> Network:
        """Returns a network without its links that are down here; the same object until a link changes."""
        whole, alive = self._alive
        if whole is not network or alive is None:
            is_down = {state.edge for state in self._states.values() if not state.up}
            links = tuple(link for link in network.links if edge_of(link) not in is_down)
            alive = replace(network, links=links) if is_down else network
            self._alive = network, alive
        return alive

    def disjoint_paths(self, source: str, target: str, limit: int) -> tuple[Path, ...]:
        """Returns the largest set of link-disjoint paths (a maximum flow), at most `limit`; the shortest in sum.

        Shortest first (links, then delay, then names and ports); the same for the same graph. One path without hops if
        source and target are the same; empty if there is no path.
        """
        key = (_disjoint_paths, source, target, limit)
        return self.cached(key, lambda: _disjoint_paths(self.graph, source, target, limit))

    def equal_cost_paths(self, source: str, target: str, limit: int) -> tuple[Path, ...]:
        """Returns the paths with the fewest links, at most `limit`, ordered by names and ports, for ECMP."""
        key = (_equal_cost_paths, source, target, limit)
        return self.cached(key, lambda: _equal_cost_paths(self.graph, source, target, limit))

    def cached(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """Returns what `compute` returns, computed once per key and version; it must not depend on loads."""
        if key not in self._results:
            self._results[key] = compute()
        return self._results[key]

    def _put(self, state: LinkState) -> None:
        edge = state.edge
        for end in (edge[:2], edge[2:]):
            if self._at_port.get(end, edge) != edge:
                self._drop(self._at_port[end])
            self._at_port[end] = edge
        self._states[edge] = state
        self._switches.update((edge.switch, edge.other_switch))

    def _drop(self, edge: Edge) -> None:
        del self._states[edge], self._at_port[edge[:2]], self._at_port[edge[2:]]

    def _invalidate(self) -> None:
        self.version += 1
        self._results.clear()
        self._alive = None, None
        vars(self).pop("graph", None)


def edge_of(link: Link) -> Edge:
    return edge_between((link.a.switch, link.a.port), (link.b.switch, link.b.port))


def edge_between(a: tuple[str, int], b: tuple[str, int]) -> Edge:
    """Returns the link between two (switch, port) pairs, in either order."""
    return Edge(*a, *b) if a <= b else Edge(*b, *a)


def lightest_path(
    graph: networkx.MultiGraph, source: str, target: str, weight: Callable[[LinkState], int | None]
) -> Path | None:
    """Returns the path with the least total weight of its links (Dijkstra), if there is one.

    The weight of a link must be more than 0; None excludes it. Links that are down are not weighed.
    """
    if source not in graph or target not in graph:
        return None

    def lightest(parallel: dict[Edge, dict[str, LinkState]]) -> tuple[int, Edge] | None:
        states = [attributes["state"] for attributes in parallel.values() if attributes["state"].up]
        weights = ((weight(state), state.edge) for state in states)
        return min(((value, edge) for value, edge in weights if value is not None), default=None)

    def of_best(_from: str, _to: str, parallel: dict[Edge, dict[str, LinkState]]) -> int | None:
        best = lightest(parallel)
        return None if best is None else best[0]

    try:
        switches = networkx.dijkstra_path(graph, source, target, weight=of_best)
    except networkx.NetworkXNoPath:
        return None
    hops = []
    for a, b in pairwise(switches):
        best = lightest(graph[a][b])
        assert best is not None, "the search crosses only links that have a weight"
        hops.append(best[1].hop_from(a))
    return Path.over(source, hops)


def _disjoint_paths(graph: networkx.MultiGraph, source: str, target: str, limit: int) -> tuple[Path, ...]:
    if source not in graph or target not in graph:
        return ()
    if source == target:
        return (Path.over(source, ()),)
    used = _flow(graph, source, target, limit)
    paths = []
    while (path := lightest_path(used, source, target, lambda state: state.cost)) is not None:
        paths.append(path)
        used.remove_edges_from([(edge.switch, edge.other_switch, edge) for edge in path.edges])
    states = networkx.get_edge_attributes(graph, "state")
    costs = {edge: state.cost for (_, _, edge), state in states.items()}
    return tuple(sorted(paths, key=lambda path: (sum(costs[edge] for edge in path.edges), path.hops)))


def _equal_cost_paths(graph: networkx.MultiGraph, source: str, target: str, limit: int) -> tuple[Path, ...]:
    usable = _usable(graph)
    if source not in usable or target not in usable:
        return ()
    distance = networkx.single_source_shortest_path_length(usable, target)
    if source not in distance:
        return ()

    def onward(hops: tuple[Hop, ...], here: str) -> Iterator[Path]:
        if here == target:
            yield Path.over(source, hops)
        for hop in sorted(edge.hop_from(here) for _, _, edge in usable.edges(here, keys=True)):
            if distance[hop.next_switch] < distance[here]:
                yield from onward((*hops, hop), hop.next_switch)

    return tuple(islice(onward((), source), limit))


def _flow(graph: networkx.MultiGraph, source: str, target: str, limit: int) -> networkx.MultiGraph:
    """Returns the links that a maximum flow of minimum cost crosses, each of them once.

    A link becomes an arc in each direction; a flow over both at once would only add cost. The flow returns from target
    to source over an arc whose gain exceeds the cost of any path, so the cheapest circulation is also the largest.
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
    """Returns the graph without the links that are down."""
    usable = networkx.MultiGraph()
    usable.add_nodes_from(graph)
    links = graph.edges(keys=True, data="state")
    usable.add_edges_from((a, b, edge, {"state": state}) for a, b, edge, state in links if state.up)
    return usable
