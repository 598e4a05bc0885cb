"""Topology files of netlab (https://netlab.tools/topology-reference): nodes, and links with their impairments."""

import re
from collections.abc import Mapping
from typing import Any

from experiments.imports.imported import HOST, ROUTER, SWITCH, Imported
from topologies.links.spec import LinkSpec

_HOST_DEVICES = ("linux", "none")
_UNITS = {"delay": "ms", "jitter": "ms", "loss": "%", "corrupt": "%", "duplicate": "%", "rate": "kbit"}
"""Units of bare numbers in `tc`."""

_KEYS = {"rate": "bandwidth", "corrupt": "corruption", "duplicate": "duplication"}
_NUMBER = re.compile(r"[0-9.]+")
_READ = ("nodes", "links", "name", "defaults", "provider", "message", "version")


def read(content: Mapping[str, Any]) -> Imported:
    """Reads a topology file."""
    network = Imported("netlab's topology file")
    default = content.get("defaults.device") or (content.get("defaults") or {}).get("device", "")
    for name, given in _nodes(content["nodes"]).items():
        network.kinds[name] = _kind(given, str(given.get("device", default)))
    for link in content.get("links") or ():
        _add(network, link)
    left_out = [key for key in content if key not in _READ and not key.startswith("defaults.")]
    if left_out:
        network.notes.append(f"left out: {', '.join(left_out)}")
    network.notes.append("addresses and routes follow from the links, routes by shortest paths")
    return network


def _nodes(given: Any) -> dict[str, Mapping[str, Any]]:
    if isinstance(given, Mapping):
        return {name: each or {} for name, each in given.items()}
    return {each["name"]: each for each in ({"name": each} if isinstance(each, str) else each for each in given)}


def _kind(node: Mapping[str, Any], device: str) -> str:
    role = node.get("role") or (HOST if device in _HOST_DEVICES else ROUTER)
    return {"host": HOST, "bridge": SWITCH}.get(str(role), ROUTER)


def _add(network: Imported, link: Any) -> None:
    """Adds a link: a text of names with dashes, a list of names, or a table with nodes among its attributes."""
    if isinstance(link, str):
        nodes, attributes = link.split("-"), {}
    elif isinstance(link, Mapping):
        ends = link.get("interfaces")
        nodes = [str(end["node"]) for end in ends] if ends else [name for name in link if name in network.kinds]
        attributes = {key: value for key, value in link.items() if key not in network.kinds and key != "interfaces"}
    else:
        nodes, attributes = [str(name) for name in link], {}
    impairments = {**(attributes.pop("tc", None) or {})}
    impairments |= {key[3:]: attributes.pop(key) for key in list(attributes) if key.startswith("tc.")}
    if attributes:
        network.notes.append(f"left out of the link {'-'.join(nodes)}: {', '.join(attributes)}")
    if len(nodes) < 2:
        network.notes.append(f"left out: the stub link of {' '.join(nodes) or 'no node'}")
        return
    network.add_segment(nodes, LinkSpec.parse(**dict(map(_word, impairments.items()))))


def _word(item: tuple[str, Any]) -> tuple[str, str]:
    key, value = item
    text = str(value)
    return _KEYS.get(key, key), text + _UNITS.get(key, "") if _NUMBER.fullmatch(text) else text
