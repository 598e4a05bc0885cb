"""Drawing of a run's network as SVG lines and positions: nodes, links, and the paths across them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import mul
from statistics import fmean
from typing import Protocol

import networkx

from flightpath.units import format_bandwidth
from results.summary.certificates import round_trips
from results.summary.facts import Facts, LinkSpecification

_COLUMN, _ROW, _MARGIN = 190, 84, 56
_BEND = 68
_LABEL_AT = 0.36
"""Position of a link's name on its line; lines cross in the middle."""

_LABEL_WEIGHTS = ((1 - _LABEL_AT) ** 2, 2 * _LABEL_AT * (1 - _LABEL_AT), _LABEL_AT**2)
"""Weights of the three control points of a line, a quadratic Bézier curve."""

_INTERFACE = re.compile(r"(?P<node>.+)-eth(?P<port>\d+)")
_MAX_LINKS = 200

_Ends = Mapping[str, tuple[str, str]]
"""Two interfaces of each link, by the link's name."""

_Point = tuple[float, float]


class LoadedLink(Protocol):
    """A link under load, as it was reported."""

    @property
    def name(self) -> str:
        """Name, as the network calls it."""

    @property
    def interfaces(self) -> str:
        """Interfaces that it joins (`h1-eth0:s1-eth1`)."""

    @property
    def rate_bps(self) -> Sequence[float]:
        """Bits per second in each direction."""

    @property
    def limit_bps(self) -> Sequence[float | None]:
        """Bandwidth of each direction; None if it is unlimited."""


@dataclass(frozen=True)
class DrawnNode:
    """A host or a switch; `x` and `y` are its centre."""

    name: str
    is_host: bool
    x: float
    y: float


@dataclass(frozen=True)
class Load:
    """Load of a link in its busier direction: as a share of its limit, from 0 to 1, and in words.

    The share is None without a limit.
    """

    share: float | None
    text: str

    @classmethod
    def of(cls, carried_bps: Sequence[float], limits_bps: Sequence[float | None]) -> "Load":
        limits = [limit for limit in limits_bps if limit]
        if len(limits) == len(limits_bps):
            share = max(carried / limit for carried, limit in zip(carried_bps, limits, strict=True))
            return cls(min(1.0, share), f"{100 * share:.0f} %")
        return cls(None, format_bandwidth(round(max(carried_bps))))

    @property
    def width(self) -> float:
        """Width of the line behind the link, in pixels."""
        return 0.0 if self.share is None else 3 + 17 * self.share


@dataclass(frozen=True)
class DrawnLink:
    """A link between two nodes, named as in the certificate.

    Attributes:
        requested: specification of each direction; only once if both are the same.
        paths: the numbers of the paths across it (`DrawnPath.number`).
        line: commands of an SVG path; `label` is the position of its name.
        load: current or mean load; None if unknown.
    """

    name: str
    ends: tuple[str, str]
    requested: str
    emulator: str
    paths: tuple[int, ...]
    line: str
    label: _Point
    load: Load | None = None


@dataclass(frozen=True)
class DrawnPath:
    """A plane of the network: all connections between interfaces of one number.

    `number` counts from 0 and determines the colour. `trips` has, for each pair of hosts, the nodes in between and the
    round-trip time before the load.
    """

    number: int
    name: str
    trips: tuple[str, ...]


@dataclass(frozen=True)
class NetworkDrawing:
    """A network, and the number of cells measured in it."""

    nodes: tuple[DrawnNode, ...]
    links: tuple[DrawnLink, ...]
    paths: tuple[DrawnPath, ...]
    cells: int
    width: float
    height: float

    @property
    def common(self) -> str:
        """Specification that all links share; empty if they differ."""
        specifications = {link.requested for link in self.links}
        return specifications.pop() if len(specifications) == 1 else ""


def network_drawings(cells: Sequence[Facts]) -> list[NetworkDrawing]:
    """Draws each distinct network of some cells, in their order; none if their certificates describe none."""
    by_network: dict[str, list[Facts]] = {}
    for facts in cells:
        if _ends(facts):
            by_network.setdefault(repr(facts.links), []).append(facts)
    return [_drawing(members, _mean_loads(members), {}) for members in by_network.values()]


def live_network(links: Sequence[LoadedLink], hosts: Sequence[str] = ()) -> NetworkDrawing | None:
    """Draws the network of the cell that is being measured; returns None if its links are not known yet.

    Without `hosts`, nodes whose names begin with h are hosts.
    """
    loads = {link.interfaces: Load.of(link.rate_bps, link.limit_bps) for link in links}
    names = {link.interfaces: link.name for link in links}
    specifications = {link.interfaces: LinkSpecification() for link in links}
    facts = Facts(links=specifications, congestion_control=dict.fromkeys(hosts, ""))
    return _drawing([facts], loads, names) if _ends(facts) else None


def _mean_loads(cells: Sequence[Facts]) -> dict[str, Load]:
    shares: dict[str, list[tuple[tuple[float, ...], tuple[float | None, ...]]]] = {}
    for facts in cells:
        names = {shown: interfaces for interfaces, shown in _link_names(facts).items()}
        for name, ways in facts.links_during_load.items():
            if facts.load_s and set(ways) == {"a_to_b", "b_to_a"}:
                both = [ways["a_to_b"], ways["b_to_a"]]
                rates = tuple(8 * (way.bytes or 0) / facts.load_s for way in both)
                shares.setdefault(names.get(name, name), []).append((rates, tuple(way.rate_bps for way in both)))
    means = {name: list(map(fmean, zip(*(rates for rates, _ in each), strict=True))) for name, each in shares.items()}
    return {name: Load.of(means[name], each[0][1]) for name, each in shares.items()}


def _drawing(cells: Sequence[Facts], loads: Mapping[str, Load], shown: Mapping[str, str]) -> NetworkDrawing:
    facts, ends = cells[0], _ends(cells[0])
    graph = networkx.MultiGraph()
    for name, (a, b) in ends.items():
        graph.add_edge(_node(a), _node(b), key=name)
    positions = _positions(graph)
    paths, crossed = _paths(facts, graph, ends)
    lines, names, hosts = _lines(graph, positions), shown or _link_names(facts), _hosts(facts, graph)
    links = tuple(
        DrawnLink(
            name=names.get(name, name),
            ends=(_node(a), _node(b)),
            requested=link.a_to_b if link.a_to_b == link.b_to_a else f"{link.a_to_b}; back {link.b_to_a}",
            emulator=link.emulator,
            paths=tuple(sorted(crossed.get(name, ()))),
            line=lines[name][0],
            label=lines[name][1],
            load=loads.get(name),
        )
        for name, (a, b) in ends.items()
        for link in [facts.links[name]]
    )
    nodes = tuple(DrawnNode(name, name in hosts, x, y) for name, (x, y) in positions.items())
    width, height = max(node.x for node in nodes) + _MARGIN, max(node.y for node in nodes) + _MARGIN
    return NetworkDrawing(nodes, links, paths, len(cells), width, height)


# --- facts from the certificate ---


def _ends(facts: Facts) -> _Ends:
    if len(facts.links) > _MAX_LINKS:
        return {}
    ends = {name: tuple(name.split(":")) for name in facts.links}
    return {name: both for name, both in ends.items() if len(both) == 2 and all(both)}


def _node(interface: str) -> str:
    match = _INTERFACE.fullmatch(interface)
    return match["node"] if match else interface


def _link_names(facts: Facts) -> dict[str, str]:
    """Returns each link's name in the rest of the certificate: both lists have the network's order."""
    names = list(dict.fromkeys(link.link for link in facts.links_before_load))
    return dict(zip(facts.links, names, strict=True)) if len(names) == len(facts.links) else {}


def _hosts(facts: Facts, graph: networkx.MultiGraph) -> set[str]:
    names = {
        *facts.congestion_control,
        *(host for trip in facts.paths_before_load for host in (trip.source, trip.target)),
    }
    return names or {name for name in graph if name.startswith("h")}


# --- positions ---


def _positions(graph: networkx.MultiGraph) -> dict[str, _Point]:
    """Places nodes in columns by their distance from the first host, and within a column near their neighbours."""
    column: dict[str, int] = {}
    for part in networkx.connected_components(graph):
        first = next(name for name in graph if name in part)
        column |= networkx.single_source_shortest_path_length(graph, first)
    last = max(column.values())
    for name in graph:  # other hosts of the first host's switch stand beside it
        if last > 2 and column[name] == 2 and graph.degree(name) == 1:
            column[name] = 0
    columns = [[name for name in graph if column[name] == number] for number in range(last + 1)]
    tallest = max(map(len, columns))
    rows: dict[str, float] = {}
    for members in columns:
        members.sort(key=lambda name: _mean_row_of_neighbours(graph, name, rows))
        for index, name in enumerate(members):
            rows[name] = (index + 0.5) * tallest / len(members) - 0.5
    return {name: (_MARGIN + column[name] * _COLUMN, _MARGIN + rows[name] * _ROW) for name in graph}


def _mean_row_of_neighbours(graph: networkx.MultiGraph, name: str, rows: Mapping[str, float]) -> float:
    placed = [rows[other] for other in graph.neighbors(name) if other in rows]
    return sum(placed) / len(placed) if placed else 0.0


def _lines(graph: networkx.MultiGraph, positions: Mapping[str, _Point]) -> dict[str, tuple[str, _Point]]:
    """Returns each link's line and the position of its label; parallel links bend away from each other."""
    lines = {}
    for a, b in dict.fromkeys(tuple(sorted(pair)) for pair in graph.edges()):
        names = list(graph[a][b])
        (ax, ay), (bx, by) = positions[a], positions[b]
        length = max(1.0, ((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5)
        for index, name in enumerate(names):
            bend = (index - (len(names) - 1) / 2) * _BEND
            mx, my = (ax + bx) / 2 - (by - ay) / length * bend, (ay + by) / 2 + (bx - ax) / length * bend
            x, y = (sum(map(mul, _LABEL_WEIGHTS, values)) for values in ((ax, mx, bx), (ay, my, by)))
            lines[name] = (f"M{ax:.0f} {ay:.0f}Q{mx:.0f} {my:.0f} {bx:.0f} {by:.0f}", (x, y))
    return lines


# --- paths ---


def _paths(facts: Facts, graph: networkx.MultiGraph, ends: _Ends) -> tuple[tuple[DrawnPath, ...], dict[str, set[int]]]:
    """Returns the paths, and for each link the numbers of the paths across it."""
    times = dict(round_trips(facts))
    trips: dict[int | str, list[str]] = {}
    crossed: dict[str, set[int]] = {}
    for trip in facts.paths_before_load:
        source, target, port = trip.source, trip.target, trip.port
        links, nodes = _route(graph, ends, f"{source}-eth{port}", f"{target}-eth{port}")
        text = " - ".join(nodes or (source, target))
        time = times.get(f"{source}-{target}, interface {port}")
        trips.setdefault(port, []).append(f"{text}: {time}" if time else text)
        for name in links:
            crossed.setdefault(name, set()).add(list(trips).index(port))
    paths = (DrawnPath(number, f"interface {port}", tuple(of)) for number, (port, of) in enumerate(trips.items()))
    return tuple(paths), crossed


def _route(graph: networkx.MultiGraph, ends: _Ends, source: str, target: str) -> tuple[list[str], list[str]]:
    """Returns the links and the nodes of a shortest path between two interfaces; none if there is no path."""
    links = {interface: (name, other) for name, (a, b) in ends.items() for interface, other in ((a, b), (b, a))}
    if source not in links or target not in links:
        return [], []
    (first, after_source), (last, before_target) = links[source], links[target]
    hosts = [_node(source), _node(target)]
    if first == last:
        return [first], hosts
    inside = graph.subgraph(set(graph) - set(hosts))
    try:
        way = networkx.shortest_path(inside, _node(after_source), _node(before_target))
    except (networkx.NetworkXNoPath, networkx.NodeNotFound):
        return [], []
    return [first, *(next(iter(graph[a][b])) for a, b in pairwise(way)), last], [hosts[0], *way, hosts[1]]
