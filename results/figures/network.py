"""The network of a run as a drawing: without it a reader would have to imagine which links a path crosses.

Everything comes from the cells' certificates, also from older or other versions' or from somebody else's file, so
nothing here relies on a fact being there, or being what it should be.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import networkx

from results.records import CellResult, Certificate
from results.summary.certificates import path_rows

_COLUMN, _ROW, _MARGIN = 190, 84, 56
_BEND = 34
_LABEL_AT = 0.36
"""Not at the middle, where lines cross."""

_INTERFACE = re.compile(r"(?P<node>.+)-eth(?P<port>\d+)")
_MOST_LINKS = 200


@dataclass(frozen=True)
class Node:
    """A host or a switch, with the place of its middle in the drawing's units."""

    name: str
    is_host: bool
    x: float
    y: float


@dataclass(frozen=True)
class Link:
    """A link between two nodes.

    Attributes:
        name: as the certificate names it.
        ends: the nodes that it joins.
        asked: each direction as it was asked for; one text if both are the same.
        emulator: which program made it.
        paths: the numbers of the paths that cross it, as `Path.number`.
        line: the commands of an SVG path.
        label: where its name may stand.
    """

    name: str
    ends: tuple[str, str]
    asked: str
    emulator: str
    paths: tuple[int, ...]
    line: str
    label: tuple[float, float]


@dataclass(frozen=True)
class Path:
    """What all round trips over one interface number have in common: a plane of the network.

    Attributes:
        number: from 0, for its look.
        name: for example `interface 0`.
        trips: each pair's nodes in words, with the round trip before the load in the first cell.
    """

    number: int
    name: str
    trips: tuple[str, ...]


@dataclass(frozen=True)
class Network:
    """One network, and in how many cells it was."""

    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    paths: tuple[Path, ...]
    cells: int
    width: float
    height: float

    @property
    def common(self) -> str:
        """What all links have in common; empty if they differ."""
        asked = {link.asked for link in self.links}
        return next(iter(asked)) if len(asked) == 1 else ""


def networks(cells: Sequence[CellResult]) -> list[Network]:
    """Each different network of some cells, in their order; none where the certificates do not tell."""
    alike: dict[str, list[Certificate]] = {}
    for cell in cells:
        if _ends(cell.certificate):
            alike.setdefault(json.dumps(cell.certificate.found["links"], sort_keys=True), []).append(cell.certificate)
    return [_network(certificates[0], len(certificates)) for certificates in alike.values()]


def _ends(certificate: Certificate) -> dict[str, tuple[str, str]]:
    """The two interfaces of each link, by the link's name."""
    links = certificate.found.get("links")
    if not isinstance(links, Mapping) or len(links) > _MOST_LINKS:
        return {}
    ends = {name: tuple(name.split(":")) for name, told in links.items() if isinstance(told, Mapping)}
    return {name: both for name, both in ends.items() if len(both) == 2 and all(both)}


def _network(certificate: Certificate, cells: int) -> Network:
    ends = _ends(certificate)
    graph = networkx.MultiGraph()
    for name, (a, b) in ends.items():
        graph.add_edge(_node(a), _node(b), key=name)
    places = _places(graph)
    paths, crossed = _paths(certificate, graph, ends)
    lines = _lines(graph, places)
    links = [
        Link(
            name=_plain_names(certificate).get(name, name),
            ends=(_node(a), _node(b)),
            asked=_asked(certificate.found["links"][name]),
            emulator=str(certificate.found["links"][name].get("emulator", "-")),
            paths=tuple(sorted(crossed.get(name, ()))),
            line=lines[name][0],
            label=lines[name][1],
        )
        for name, (a, b) in ends.items()
    ]
    hosts = _hosts(certificate, graph)
    nodes = [Node(name, name in hosts, x, y) for name, (x, y) in places.items()]
    return Network(
        tuple(nodes),
        tuple(links),
        paths,
        cells,
        max(node.x for node in nodes) + _MARGIN,
        max(node.y for node in nodes) + _MARGIN,
    )


def _node(interface: str) -> str:
    found = _INTERFACE.fullmatch(interface)
    return found["node"] if found else interface


def _asked(link: Mapping[str, Any]) -> str:
    there, back = str(link.get("a_to_b", "-")), str(link.get("b_to_a", "-"))
    return there if there == back else f"{there}; back {back}"


def _plain_names(certificate: Certificate) -> dict[str, str]:
    """What the rest of the certificate calls each link: both are in the network's order."""
    before = certificate.found.get("links_before_load") or ()
    told = list(dict.fromkeys(str(link.get("link")) for link in before if isinstance(link, Mapping)))
    links = list(certificate.found["links"])
    return dict(zip(links, told, strict=True)) if len(told) == len(links) else {}


def _hosts(certificate: Certificate, graph: networkx.MultiGraph) -> set[str]:
    named = set(certificate.found.get("congestion_control") or ())
    for path in _round_trips(certificate):
        named |= {str(path.get("source")), str(path.get("target"))}
    return named or {name for name in graph if name.startswith("h")}


def _round_trips(certificate: Certificate) -> list[Mapping[str, Any]]:
    return [path for path in certificate.found.get("paths_before_load") or () if isinstance(path, Mapping)]


# --- where things stand ---


def _places(graph: networkx.MultiGraph) -> dict[str, tuple[float, float]]:
    """Columns by the distance from the first host of each part; in a column, near to what a node is joined to."""
    column: dict[str, int] = {}
    for part in networkx.connected_components(graph):
        first = next(name for name in graph if name in part)
        column |= networkx.single_source_shortest_path_length(graph, first)
    last = max(column.values())
    for name in graph:  # a neighbour that hangs on the same switch as the first host stands beside it
        if last > 2 and column[name] == 2 and graph.degree(name) == 1:
            column[name] = 0
    columns = [[name for name in graph if column[name] == number] for number in range(last + 1)]
    tallest = max(map(len, columns))
    rows: dict[str, float] = {}
    for members in columns:
        members.sort(key=lambda name: _pull(graph, name, rows))
        for index, name in enumerate(members):
            rows[name] = (index + 0.5) * tallest / len(members) - 0.5
    return {name: (_MARGIN + column[name] * _COLUMN, _MARGIN + rows[name] * _ROW) for name in graph}


def _pull(graph: networkx.MultiGraph, name: str, rows: Mapping[str, float]) -> float:
    placed = [rows[other] for other in graph.neighbors(name) if other in rows]
    return sum(placed) / len(placed) if placed else 0.0


def _lines(
    graph: networkx.MultiGraph, places: Mapping[str, tuple[float, float]]
) -> dict[str, tuple[str, tuple[float, float]]]:
    """Each link's line and its label's place; links that join the same two nodes bend away from each other."""
    lines = {}
    for a, b in dict.fromkeys(tuple(sorted(pair)) for pair in graph.edges()):
        names = list(graph[a][b])
        (ax, ay), (bx, by) = places[a], places[b]
        length = max(1.0, ((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5)
        for index, name in enumerate(names):
            bend = (index - (len(names) - 1) / 2) * _BEND * 2
            mx, my = (ax + bx) / 2 - (by - ay) / length * bend, (ay + by) / 2 + (bx - ax) / length * bend
            label = _on_curve(_LABEL_AT, (ax, mx, bx), (ay, my, by))
            lines[name] = (f"M{ax:.0f} {ay:.0f}Q{mx:.0f} {my:.0f} {bx:.0f} {by:.0f}", label)
    return lines


def _on_curve(share: float, xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float]:
    """The point at a share of the way along a quadratic Bézier curve."""
    weights = ((1 - share) ** 2, 2 * share * (1 - share), share**2)
    x, y = (sum(w * value for w, value in zip(weights, values, strict=True)) for values in (xs, ys))
    return x, y


# --- paths ---


def _paths(
    certificate: Certificate, graph: networkx.MultiGraph, ends: Mapping[str, tuple[str, str]]
) -> tuple[tuple[Path, ...], dict[str, set[int]]]:
    """The paths, and for each link the numbers of those that cross it."""
    trips = dict(path_rows(certificate))
    by_port: dict[str, list[str]] = {}
    crossed: dict[str, set[int]] = {}
    for path in _round_trips(certificate):
        source, target, port = (str(path.get(key)) for key in ("source", "target", "port"))
        links = _crossed(graph, ends, f"{source}-eth{port}", f"{target}-eth{port}")
        number = list(by_port).index(port) if port in by_port else len(by_port)
        told = trips.get(f"{source}-{target}, interface {port}")
        nodes = " - ".join(_walk(links, ends, source)) or f"{source} - {target}"
        by_port.setdefault(port, []).append(f"{nodes}: {told}" if told else nodes)
        for name in links:
            crossed.setdefault(name, set()).add(number)
    paths = (Path(number, f"interface {port}", tuple(words)) for number, (port, words) in enumerate(by_port.items()))
    return tuple(paths), crossed


def _crossed(graph: networkx.MultiGraph, ends: Mapping[str, tuple[str, str]], start: str, aim: str) -> list[str]:
    """The links of a shortest way between two interfaces, in order; none if the certificate does not know them."""
    by_interface = {interface: (name, other) for name, (a, b) in ends.items() for interface, other in ((a, b), (b, a))}
    if start not in by_interface or aim not in by_interface:
        return []
    (first, here), (last, there) = by_interface[start], by_interface[aim]
    if first == last:
        return [first]
    inside = graph.subgraph(set(graph) - {_node(start), _node(aim)})
    try:
        way = networkx.shortest_path(inside, _node(here), _node(there))
    except (networkx.NetworkXNoPath, networkx.NodeNotFound):
        return []
    return [first, *(next(iter(graph[a][b])) for a, b in pairwise(way)), last]


def _walk(links: Sequence[str], ends: Mapping[str, tuple[str, str]], start: str) -> Iterator[str]:
    here = start
    if links:
        yield here
    for name in links:
        a, b = (_node(interface) for interface in ends[name])
        here = b if here == a else a
        yield here
