"""Networks of Mininet: files of MiniEdit (`.mn`), and topologies in Python files, as for `mn --custom`."""

from collections.abc import Mapping
from typing import Any

from mininet.topo import Topo

from experiments.imports.imported import HOST, ROUTER, SWITCH, Imported
from topologies.mininet.scripts.tc_options import link_spec, take_shape

_SWITCH_TYPES = {"legacyRouter": ROUTER}
_SET_BY_LINKS = ("hostname", "nodeNum", "sched", "switchType", "controllers")


def read_miniedit(content: Mapping[str, Any]) -> Imported:
    """Reads a file of MiniEdit."""
    network = Imported("a file of MiniEdit")
    others: dict[str, list[str]] = {}
    for kind in ("hosts", "switches"):
        for each in content.get(kind) or ():
            options = each.get("opts") or {}
            name = str(options.get("hostname") or f"{kind[0]}{each['number']}")
            switch = _SWITCH_TYPES.get(options.get("switchType", ""), SWITCH)
            network.kinds[name] = HOST if kind == "hosts" else switch
            for key in options:
                if key not in _SET_BY_LINKS and options[key]:
                    others.setdefault(key, []).append(name)
    for link in content.get("links") or ():
        options = {key: value for key, value in (link.get("opts") or {}).items() if value not in ("", None)}
        network.add_link(str(link["src"]), str(link["dest"]), link_spec(take_shape(options)))
    for key, of in others.items():
        network.leave_out(key, of)
    if content.get("controllers"):
        network.notes.append("left out: the controllers; switches forward over shortest paths, `policy` steers")
    return network


def read_topology(topology: Topo, name: str) -> Imported:
    """Reads a topology of Mininet."""
    network = Imported(f"Mininet's topology {name}")
    network.kinds |= dict.fromkeys(topology.hosts(), HOST) | dict.fromkeys(topology.switches(), SWITCH)
    for a, b, info in topology.links(withInfo=True):
        network.add_link(info.get("node1", a), info.get("node2", b), link_spec(take_shape(dict(info))))
    return network
