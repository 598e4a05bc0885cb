"""Draws the topology with the subflows on it: without it a table must be read to see that two paths cross."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib
import networkx
import numpy

from controllers.view.client import ends_of
from flightpath.errors import UsageError

matplotlib.use("Agg")
from matplotlib import pyplot  # after the choice of a back end that needs no display

FORMATS = (".svg", ".png", ".pdf")
MOST_SUBFLOWS = 16
"""More lines than this could not be told apart."""

_LANE = 0.022
_HOST, _SWITCH = "#2f6f4f", "#33475b"

Point = numpy.ndarray


def draw(connections: Mapping[str, Any], topology: Mapping[str, Any], target: Path) -> None:
    """Writes a picture of the network; each subflow is a coloured line from host to host, beside others on a link.

    Args:
        connections, topology: as `controllers.view.client.View` has them.
        target: file to write, by its ending svg, png or pdf.

    Raises:
        UsageError: another ending, or the file cannot be written.
    """
    if target.suffix not in FORMATS:
        raise UsageError(f"draw: {target} ends in none of {', '.join(FORMATS)}")
    graph = _graph(topology)
    places = _layout(graph)
    figure, axes = pyplot.subplots(figsize=(10, 6.5), layout="constrained")
    try:
        _draw_network(axes, graph, places)
        subflows = [(it["id"], subflow) for it in connections["connections"] for subflow in it["subflows"]]
        steered = [(number, subflow) for number, subflow in subflows if subflow["switches"]]
        _draw_subflows(axes, graph, places, steered[-MOST_SUBFLOWS:])
        hidden = len(steered) - MOST_SUBFLOWS
        title = f"policy {connections['policy']}: {len(connections['connections'])} connections, {len(subflows)} flows"
        axes.set_title(title + (f" (the {MOST_SUBFLOWS} latest are drawn)" if hidden > 0 else ""))
        axes.set_axis_off()
        axes.set_aspect("equal", adjustable="datalim")
        figure.savefig(target, dpi=150)
    except OSError as error:
        raise UsageError(f"draw: cannot write {target}: {error.strerror}") from error
    finally:
        pyplot.close(figure)


def _graph(topology: Mapping[str, Any]) -> networkx.Graph:
    graph = networkx.Graph()
    graph.add_nodes_from((switch["name"] for switch in topology["switches"]), is_host=False)
    for link in topology["links"]:
        known = graph.get_edge_data(link["switch"], link["other_switch"], {"up": False})
        graph.add_edge(link["switch"], link["other_switch"], up=link["up"] or known["up"])
    for host in topology["hosts"]:
        graph.add_node(host["name"], is_host=True)
        graph.add_edges_from(((host["name"], it["switch"]) for it in host["interfaces"]), up=True)
    return graph


def _layout(graph: networkx.Graph) -> dict[str, Point]:
    """From left to right by distance from the first host's switch: parallel paths are drawn above each other."""
    hosts = [node for node, is_host in graph.nodes(data="is_host") if is_host]
    start = next(iter(graph[hosts[0]]), hosts[0]) if hosts else next(iter(graph))
    distance = networkx.single_source_shortest_path_length(graph.subgraph(set(graph) - set(hosts) | {start}), start)
    last = max(distance.values(), default=0)
    layer = {node: distance.get(node, last + 1) for node in graph if node not in hosts}
    for host in hosts:
        at = min((layer[switch] for switch in graph[host]), default=0)
        layer[host] = at - 0.6 if at == 0 else at + 0.6
    columns: dict[float, list[str]] = {}
    for node in sorted(graph, key=_natural):
        columns.setdefault(layer[node], []).append(node)
    tallest = max(map(len, columns.values()))
    return {
        node: numpy.array([column * 0.8, tallest * 0.5 * ((len(nodes) - 1) / 2 - i) / max(len(nodes), 2)])
        for column, nodes in columns.items()
        for i, node in enumerate(nodes)
    }


def _natural(name: str) -> tuple[str, int]:
    digits = name[len(name.rstrip("0123456789")) :]
    return name.removesuffix(digits), int(digits or 0)


def _draw_network(axes: Any, graph: networkx.Graph, places: Mapping[str, Point]) -> None:
    for a, b, up in graph.edges(data="up"):
        (x, y), (u, v) = places[a], places[b]
        style = {"color": "#b8c0c8", "linewidth": 5} if up else {"color": "#d33", "linewidth": 2, "linestyle": ":"}
        axes.plot([x, u], [y, v], zorder=1, solid_capstyle="round", **style)
    for node, is_host in graph.nodes(data="is_host"):
        box = {"boxstyle": "round,pad=0.4" if is_host else "square,pad=0.5", "facecolor": _HOST if is_host else _SWITCH}
        axes.text(*places[node], node, color="white", ha="center", va="center", zorder=4, bbox={**box, "linewidth": 0})


def _draw_subflows(
    axes: Any,
    graph: networkx.Graph,
    places: Mapping[str, Point],
    subflows: Sequence[tuple[int, Mapping[str, Any]]],
) -> None:
    hosts = {node for node, is_host in graph.nodes(data="is_host") if is_host}
    lanes = _lanes(graph, hosts, subflows)
    colours = matplotlib.colormaps["tab10" if len(subflows) <= 10 else "tab20"]
    for number, (connection, subflow) in enumerate(subflows):
        points = []
        for link, lane in lanes[number]:
            points += _beside(places[link[0]], places[link[1]], lane)
        xs, ys = zip(*points, strict=True)
        label = f"{connection}: {ends_of(subflow)}{' (backup)' if subflow['backup'] else ''}"
        style = "--" if subflow["backup"] or subflow["state"] == "pending" else "-"
        axes.plot(xs, ys, style, color=colours(number % colours.N), linewidth=2.2, zorder=3, label=label)
    if subflows:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncols=2, frameon=False, fontsize="small")


def _lanes(
    graph: networkx.Graph, hosts: set[str], subflows: Sequence[tuple[int, Mapping[str, Any]]]
) -> list[list[tuple[tuple[str, str], float]]]:
    """For each subflow the links it crosses, each with its place beside the others there."""
    ways = [list(_way(graph, hosts, subflow)) for _, subflow in subflows]
    on_link: dict[frozenset[str], list[int]] = {}
    for number, way in enumerate(ways):
        for link in way:
            on_link.setdefault(frozenset(link), []).append(number)
    lanes = []
    for number, way in enumerate(ways):
        lane = []
        for link in way:
            others = on_link[frozenset(link)]
            side = 1 if tuple(link) == tuple(sorted(link)) else -1
            lane.append((link, side * (others.index(number) - (len(others) - 1) / 2) * _LANE))
        lanes.append(lane)
    return lanes


def _way(graph: networkx.Graph, hosts: set[str], subflow: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    first, last = subflow["switches"][0], subflow["switches"][-1]
    source = next((host for host in graph[first] if host in hosts and _owns(host, subflow["from"])), first)
    target = next((host for host in graph[last] if host in hosts and _owns(host, subflow["to"])), last)
    nodes = [source, *subflow["switches"], target]
    return ((a, b) for a, b in pairwise(nodes) if a != b)


def _owns(host: str, interface: str) -> bool:
    return interface == host or interface.startswith(f"{host}-")


def _beside(a: Point, b: Point, offset: float) -> list[Point]:
    """A link's ends, moved aside."""
    along = b - a
    aside = numpy.array([-along[1], along[0]]) / (numpy.hypot(*along) or 1.0) * offset
    return [a + aside, b + aside]
