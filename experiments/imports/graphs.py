"""Graphs: GraphML, and GML as the Internet Topology Zoo has it (Knight et al., 2011), with distances as delays."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import networkx

from experiments.imports.imported import ROUTER, Imported
from flightpath.errors import UsageError
from topologies.links.spec import LinkSpec

_EARTH_KM, _FIBRE_KM_PER_MS = 6371.0, 200.0
"""Light in glass needs 1 ms for 200 km."""


def read(file: Path) -> Imported:
    """Reads a graph: each node is a router, with a host.

    A link's bandwidth is `LinkSpeedRaw` (bit/s), `bandwidth` (a number in Mbit/s, or a text as "10Mbit") or none; its
    delay is `delay` (a number in ms, or a text), or follows from the `Latitude` and `Longitude` of its ends.
    """
    graph = _graph(file)
    network = Imported(f"the graph {file.name}")
    names = _labels(graph)
    network.kinds |= dict.fromkeys(names.values(), ROUTER)
    for a, b, attributes in graph.edges(data=True):
        if a != b:
            network.add_link(names[a], names[b], _spec(attributes, graph.nodes[a], graph.nodes[b]))
    network.add_hosts()
    network.notes.append(
        "delays without a value are those of light in glass along the great circle; without places none"
    )
    return network


def _graph(file: Path) -> Any:
    try:
        if file.suffix == ".graphml":
            return networkx.read_graphml(file)
        lines = file.read_text(encoding="utf-8").splitlines()
        # Files of the Zoo have parallel links, and do not all say so.
        several = [] if any(line.split() == ["multigraph", "1"] for line in lines) else ["multigraph 1"]
        begin = next(number for number, line in enumerate(lines) if line.split()[:1] == ["graph"]) + 1
        return networkx.parse_gml([*lines[:begin], *several, *lines[begin:]], label="id")
    except (networkx.NetworkXError, SyntaxError, ValueError, StopIteration, KeyError) as error:
        raise UsageError(f"{file} is no graph: {error}") from error


def _labels(graph: Any) -> dict[Any, str]:
    """Returns a name for each node: its label, if no other node has it."""
    labels = {node: str(attributes.get("label") or node) for node, attributes in graph.nodes(data=True)}
    texts = list(labels.values())
    return {node: label if texts.count(label) == 1 else f"{label} {node}" for node, label in labels.items()}


def _spec(attributes: Mapping[str, Any], a: Mapping[str, Any], b: Mapping[str, Any]) -> LinkSpec:
    texts = {}
    if speed := attributes.get("LinkSpeedRaw"):
        texts["bandwidth"] = f"{float(speed):.0f}bit"
    elif bandwidth := attributes.get("bandwidth"):
        texts["bandwidth"] = bandwidth if isinstance(bandwidth, str) else f"{bandwidth:g}Mbit"
    if delay := attributes.get("delay"):
        texts["delay"] = delay if isinstance(delay, str) else f"{delay:g}ms"
    elif all("Latitude" in end and "Longitude" in end for end in (a, b)):
        texts["delay"] = f"{_distance_km(a, b) / _FIBRE_KM_PER_MS:.3f}ms"
    return LinkSpec.parse(**texts)


def _distance_km(a: Mapping[str, Any], b: Mapping[str, Any]) -> float:
    """Returns the distance of two places on a sphere (haversine formula)."""
    latitudes = [math.radians(float(end["Latitude"])) for end in (a, b)]
    longitude = math.radians(float(b["Longitude"]) - float(a["Longitude"]))
    root = math.sin((latitudes[1] - latitudes[0]) / 2) ** 2
    root += math.cos(latitudes[0]) * math.cos(latitudes[1]) * math.sin(longitude / 2) ** 2
    return 2 * _EARTH_KM * math.asin(math.sqrt(min(1.0, root)))
