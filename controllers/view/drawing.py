"""Draws the topology with its subflows."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib
import networkx
import numpy

from controllers.view.client import ends_of
from flightpath.errors import UsageError
from flightpath.units import counted

matplotlib.use("Agg")
from matplotlib import pyplot  # after the choice of a back end that needs no display

FORMATS = (".svg", ".png", ".pdf")
MAX_SUBFLOWS = 16
"""More lines could not be distinguished."""

_LANE = 0.022
_HOST, _SWITCH = "#2f6f4f", "#33475b"

Point = numpy.ndarray


def draw(connections: Mapping[str, Any], topology: Mapping[str, Any], target: Path) -> None:
    """Draws the network; each subflow is a coloured line from host to host, parallel to the others on a link."""
    if target.suffix not in FORMATS:
        raise UsageError(f"draw: {target} ends in none of {', '.join(FORMATS)}")
    graph = _graph(topology)
    points = _layout(graph)
    figure, axes = pyplot.subplots(figsize=(10, 6.5), layout="constrained")
    try:
        _draw_network(axes, graph, points)
        subflows = [(it["id"], subflow) for it in connections["connections"] for subflow in it["subflows"]]
        steered = [(number, subflow) for number, subflow in subflows if subflow["switches"]]
        _draw_subflows(axes, graph, points, steered[-MAX_SUBFLOWS:])
        counts = f"{counted(len(connections['connections']), 'connection')}, {counted(len(subflows), 'flow')}"
        title = f"policy {connections['policy']}: {counts}"
        axes.set_title(title + (f" (the {MAX_SUBFLOWS} latest are drawn)" if len(steered) > MAX_SUBFLOWS else ""))
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
        parallel = graph.get_edge_data(link["switch"], link["other_switch"], {"up": False})
        graph.add_edge(link["switch"], link["other_switch"], up=link["up"] or parallel["up"])
    for host in topology["hosts"]:
        graph.add_node(host["name"], is_host=True)
        graph.add_edges_from(((host["name"], it["switch"]) for it in host["interfaces"]), up=True)
    return graph


def _layout(graph: networkx.Graph) -> dict[str, Point]:
    """Columns from left to right by distance from the first host's switch, so parallel paths are above each other."""
    hosts = [node for node, is_host in graph.nodes(data="is_host") if is_host]
    start = next(iter(graph[hosts[0]]), hosts[0]) if hosts else next(iter(graph))
    distance = networkx.single_source_shortest_path_length(graph.subgraph(set(graph) - set(hosts) | {start}), start)
    unreachable = max(distance.values(), default=0) + 1
    columns: dict[float, list[str]] = defaultdict(list)
    for node in sorted(graph, key=_natural, reverse=True):
        if node in hosts:
            nearest = min((distance.get(switch, unreachable) for switch in graph[node]), default=0)
            columns[nearest + 0.5 if nearest else -0.5].append(node)
        else:
            columns[distance.get(node, unreachable)].append(node)
    return networkx.multipartite_layout(graph, subset_key=columns)


def _natural(name: str) -> tuple[str, int]:
    digits = name[len(name.rstrip("0123456789")) :]
    return name.removesuffix(digits), int(digits or 0)


def _draw_network(axes: Any, graph: networkx.Graph, points: Mapping[str, Point]) -> None:
    for a, b, up in graph.edges(data="up"):
        (x, y), (u, v) = points[a], points[b]
        style = {"color": "#b8c0c8", "linewidth": 5} if up else {"color": "#d33", "linewidth": 2, "linestyle": ":"}
        axes.plot([x, u], [y, v], zorder=1, solid_capstyle="round", **style)
    for node, is_host in graph.nodes(data="is_host"):
        box = {"boxstyle": "round,pad=0.4" if is_host else "square,pad=0.5", "facecolor": _HOST if is_host else _SWITCH}
        axes.text(*points[node], node, color="white", ha="center", va="center", zorder=4, bbox={**box, "linewidth": 0})


def _draw_subflows(
    axes: Any, graph: networkx.Graph, points: Mapping[str, Point], subflows: Sequence[tuple[int, Mapping[str, Any]]]
) -> None:
    ways = [_links_of(graph, subflow) for _, subflow in subflows]
    on_link: dict[frozenset[str], list[int]] = defaultdict(list)
    for number, way in enumerate(ways):
        for link in way:
            on_link[frozenset(link)].append(number)
    colours = matplotlib.colormaps["tab10" if len(subflows) <= 10 else "tab20"]
    for number, (connection, subflow) in enumerate(subflows):
        line = []
        for a, b in ways[number]:
            lanes = on_link[frozenset((a, b))]
            offset = (lanes.index(number) - (len(lanes) - 1) / 2) * _LANE
            line += _shifted(points[a], points[b], offset if a < b else -offset)
        label = f"{connection}: {ends_of(subflow)}{' (backup)' if subflow['backup'] else ''}"
        style = "--" if subflow["backup"] or subflow["state"] == "pending" else "-"
        colour = colours(number % colours.N)
        axes.plot(*zip(*line, strict=True), style, color=colour, linewidth=2.2, zorder=3, label=label)
    if subflows:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncols=2, frameon=False, fontsize="small")


def _links_of(graph: networkx.Graph, subflow: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns the links that a subflow crosses from host to host."""
    switches = subflow["switches"]

    def host_at(switch: str, interface: str) -> str:
        owners = (node for node in graph[switch] if interface == node or interface.startswith(f"{node}-"))
        return next((node for node in owners if graph.nodes[node]["is_host"]), switch)

    nodes = [host_at(switches[0], subflow["from"]), *switches, host_at(switches[-1], subflow["to"])]
    return [(a, b) for a, b in pairwise(nodes) if a != b]


def _shifted(a: Point, b: Point, offset: float) -> list[Point]:
    """Returns the ends of a link, moved aside."""
    along = b - a
    aside = numpy.array([-along[1], along[0]]) / (numpy.hypot(*along) or 1.0) * offset
    return [a + aside, b + aside]
