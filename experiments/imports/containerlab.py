"""Topology files of containerlab (https://containerlab.dev/manual/topo-def-file): nodes and links."""

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.imports.imported import HOST, ROUTER, SWITCH, Imported
from flightpath.errors import UsageError

_SWITCHES = ("bridge", "ovs-bridge")
_LINUX = ("linux", "")
_NO_NODES = ("host", "ext-container", "k8s-kind")
_SET_BY_LINKS = ("kind", "group", "labels", "position")
_SPECIAL = ("host", "mgmt-net", "macvlan", "vxlan", "vxlan-stitch", "dummy")
"""Ends, or types, of links that lead out of the network."""


def read(content: Mapping[str, Any]) -> Imported:
    """Reads a topology file."""
    topology = content["topology"]
    nodes = {name: given or {} for name, given in (topology.get("nodes") or {}).items()}
    if not nodes:
        raise UsageError("the topology has no nodes")
    network = Imported("containerlab's topology file")
    others: dict[str, list[str]] = {}
    for name, given in nodes.items():
        kind = _kind(given, topology)
        if kind in _NO_NODES:
            network.notes.append(f"left out: {name}, which is of the kind {kind}, and its links")
            continue
        network.kinds[name] = SWITCH if kind in _SWITCHES else ROUTER
        if kind not in (*_LINUX, *_SWITCHES):
            network.notes.append(
                f"{name}: the kind {kind} is not supported, so it is a Linux router with shortest paths"
            )
        for key in given:
            if key not in _SET_BY_LINKS:
                others.setdefault(key, []).append(name)
    for link in topology.get("links") or ():
        _add(network, link)
    for name, given in nodes.items():
        if network.kinds.get(name) == ROUTER and _kind(given, topology) in _LINUX and network.degree(name) < 2:
            network.kinds[name] = HOST
    for key, of in others.items():
        network.leave_out(key, of)
    network.notes.append(
        "nodes with several links are routers; interfaces are numbered from 0, in the order of the links"
    )
    network.notes.append("addresses and routes follow from the links")
    return network


def _kind(node: Mapping[str, Any], topology: Mapping[str, Any]) -> str:
    group = (topology.get("groups") or {}).get(node.get("group"), {})
    default = topology.get("defaults") or {}
    return str(node.get("kind") or group.get("kind") or default.get("kind") or "")


def _add(network: Imported, link: Mapping[str, Any]) -> None:
    """Adds a link in the short form (`endpoints: ["a:eth1", "b:eth1"]`) or the long one."""
    ends = [_node(end) for end in link.get("endpoints") or ()]
    outside = [end for end in ends if end in _SPECIAL or end not in network.kinds]
    if link.get("type", "veth") not in ("veth", "brief") or len(ends) != 2 or outside:
        shown = " to ".join(ends) or str(link.get("type"))
        network.notes.append(f"left out: the link {shown}, which does not join two nodes")
        return
    if "mtu" in link:
        network.notes.append(f"left out: mtu of the link {' to '.join(ends)}")
    network.add_link(ends[0], ends[1])


def _node(end: str | Mapping[str, Any] | Sequence[Any]) -> str:
    return str(end["node"]) if isinstance(end, Mapping) else str(end).partition(":")[0]
