"""Drawing of a run's network as SVG lines and positions: nodes, links, and the paths across them.

The facts come from the certificates of cells, which another version or another machine may have written: no fact is
sure to be there, or to have the expected type.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import networkx

from results.records import CellResult, Certificate
from results.summary.certificates import path_rows

_COLUMN, _ROW, _MARGIN = 190, 84, 56
_BEND = 68
_LABEL_AT = 0.36
"""Where on its line a link's name stands: not in the middle, where lines cross."""

_INTERFACE = re.compile(r"(?P<node>.+)-eth(?P<port>\d+)")
_MOST_LINKS = 200

_Ends = Mapping[str, tuple[str, str]]
"""The two interfaces of each link, by the link's name."""

_Point = tuple[float, float]


@dataclass(frozen=True)
class DrawnNode:
    """A host or a switch; `x` and `y` are its centre."""

    name: str
    is_host: bool
    x: float
    y: float


@dataclass(frozen=True)
class DrawnLink:
    """A link between two nodes.

    Attributes:
        name: as the certificate names it.
        ends: the nodes that it connects.
        asked: the specification of each direction; only once if both are the same.
        emulator: what emulated it.
        paths: the numbers of the paths across it (`DrawnPath.number`).
        line: the commands of an SVG path.
        label: where its name stands.
    """

    name: str
    ends: tuple[str, str]
    asked: str
    emulator: str
    paths: tuple[int, ...]
    line: str
    label: _Point


@dataclass(frozen=True)
class DrawnPath:
    """All connections between interfaces of one number, which form a plane of the network.

    Attributes:
        number: from 0; determines its colour.
        name: for example `interface 0`.
        trips: for each pair of hosts the nodes on the way, with the round trip measured before the load.
    """

    number: int
    name: str
    trips: tuple[str, ...]


@dataclass(frozen=True)
class NetworkDrawing:
    """A network, and the number of cells that were measured in it."""

    nodes: tuple[DrawnNode, ...]
    links: tuple[DrawnLink, ...]
    paths: tuple[DrawnPath, ...]
    cells: int
    width: float
    height: float

    @property
    def common(self) -> str:
        """The specification that all links share; empty if they differ."""
        specifications = {link.asked for link in self.links}
        return next(iter(specifications)) if len(specifications) == 1 else ""


def network_drawings(cells: Sequence[CellResult]) -> list[NetworkDrawing]:
    """Draws each different network of some cells, in their order; none if the certificates describe none."""
    by_network: dict[str, list[Certificate]] = {}
    for cell in cells:
        if _ends(cell.certificate):
            key = json.dumps(cell.certificate.found["links"], sort_keys=True)
            by_network.setdefault(key, []).append(cell.certificate)
    return [_drawing(certificates[0], len(certificates)) for certificates in by_network.values()]


def _drawing(certificate: Certificate, cells: int) -> NetworkDrawing:
    ends, facts = _ends(certificate), certificate.found["links"]
    graph = networkx.MultiGraph()
    for name, (a, b) in ends.items():
        graph.add_edge(_node(a), _node(b), key=name)
    positions = _positions(graph)
    paths, crossed = _paths(certificate, graph, ends)
    lines, names, hosts = _lines(graph, positions), _link_names(certificate), _hosts(certificate, graph)
    links = tuple(
        DrawnLink(
            name=names.get(name, name),
            ends=(_node(a), _node(b)),
            asked=_specification(facts[name]),
            emulator=str(facts[name].get("emulator", "-")),
            paths=tuple(sorted(crossed.get(name, ()))),
            line=lines[name][0],
            label=lines[name][1],
        )
        for name, (a, b) in ends.items()
    )
    nodes = tuple(DrawnNode(name, name in hosts, x, y) for name, (x, y) in positions.items())
    width, height = max(node.x for node in nodes) + _MARGIN, max(node.y for node in nodes) + _MARGIN
    return NetworkDrawing(nodes, links, paths, cells, width, height)


# --- facts from the certificate ---


def _ends(certificate: Certificate) -> _Ends:
    links = certificate.found.get("links")
    if not isinstance(links, Mapping) or len(links) > _MOST_LINKS:
        return {}
    ends = {name: tuple(name.split(":")) for name, facts in links.items() if isinstance(facts, Mapping)}
    return {name: both for name, both in ends.items() if len(both) == 2 and all(both)}


def _node(interface: str) -> str:
    match = _INTERFACE.fullmatch(interface)
    return match["node"] if match else interface


def _specification(link: Mapping[str, Any]) -> str:
    there, back = str(link.get("a_to_b", "-")), str(link.get("b_to_a", "-"))
    return there if there == back else f"{there}; back {back}"


def _link_names(certificate: Certificate) -> dict[str, str]:
    """Returns how the rest of the certificate names each link: both lists have the network's order."""
    before = certificate.found.get("links_before_load") or ()
    names = list(dict.fromkeys(str(link.get("link")) for link in before if isinstance(link, Mapping)))
    links = list(certificate.found["links"])
    return dict(zip(links, names, strict=True)) if len(names) == len(links) else {}


def _hosts(certificate: Certificate, graph: networkx.MultiGraph) -> set[str]:
    names = set(certificate.found.get("congestion_control") or ())
    for trip in _round_trips(certificate):
        names |= {str(trip.get("source")), str(trip.get("target"))}
    return names or {name for name in graph if name.startswith("h")}


def _round_trips(certificate: Certificate) -> list[Mapping[str, Any]]:
    return [trip for trip in certificate.found.get("paths_before_load") or () if isinstance(trip, Mapping)]


# --- positions ---


def _positions(graph: networkx.MultiGraph) -> dict[str, _Point]:
    """Places nodes in columns by their distance from the first host, and within a column near to their neighbours."""
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
    """Returns each link's line and where its label stands; parallel links bend away from each other."""
    lines = {}
    for a, b in dict.fromkeys(tuple(sorted(pair)) for pair in graph.edges()):
        names = list(graph[a][b])
        (ax, ay), (bx, by) = positions[a], positions[b]
        length = max(1.0, ((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5)
        for index, name in enumerate(names):
            bend = (index - (len(names) - 1) / 2) * _BEND
            mx, my = (ax + bx) / 2 - (by - ay) / length * bend, (ay + by) / 2 + (bx - ax) / length * bend
            label = _on_curve(_LABEL_AT, (ax, mx, bx), (ay, my, by))
            lines[name] = (f"M{ax:.0f} {ay:.0f}Q{mx:.0f} {my:.0f} {bx:.0f} {by:.0f}", label)
    return lines


def _on_curve(share: float, xs: Sequence[float], ys: Sequence[float]) -> _Point:
    """Returns the point at a share of a quadratic Bézier curve, whose three control points are given."""
    weights = ((1 - share) ** 2, 2 * share * (1 - share), share**2)
    x, y = (sum(w * value for w, value in zip(weights, values, strict=True)) for values in (xs, ys))
    return x, y


# --- paths ---


def _paths(
    certificate: Certificate, graph: networkx.MultiGraph, ends: _Ends
) -> tuple[tuple[DrawnPath, ...], dict[str, set[int]]]:
    """Returns the paths, and for each link the numbers of the paths across it."""
    round_trips = dict(path_rows(certificate))
    trips_by_port: dict[str, list[str]] = {}
    crossed: dict[str, set[int]] = {}
    for trip in _round_trips(certificate):
        source, target, port = (str(trip.get(key)) for key in ("source", "target", "port"))
        links, nodes = _route(graph, ends, f"{source}-eth{port}", f"{target}-eth{port}")
        trips = trips_by_port.setdefault(port, [])
        text = " - ".join(nodes or (source, target))
        round_trip = round_trips.get(f"{source}-{target}, interface {port}")
        trips.append(f"{text}: {round_trip}" if round_trip else text)
        for name in links:
            crossed.setdefault(name, set()).add(list(trips_by_port).index(port))
    paths = enumerate(trips_by_port.items())
    return tuple(DrawnPath(number, f"interface {port}", tuple(trips)) for number, (port, trips) in paths), crossed


def _route(graph: networkx.MultiGraph, ends: _Ends, source: str, target: str) -> tuple[list[str], list[str]]:
    """Returns the links and the nodes of a shortest way between two interfaces; none if there is no such way."""
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
