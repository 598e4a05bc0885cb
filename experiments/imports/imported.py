"""A network that was read from another tool's file, and the experiment file that it becomes."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from flightpath.errors import UsageError
from topologies.links.spec import FIELDS, LinkSpec

HOST, ROUTER, SWITCH = "host", "router", "switch"
_KINDS = {HOST: "hosts", ROUTER: "routers", SWITCH: "switches"}
_LONGEST_NAME = 9
"""Characters of a node's name in an experiment file."""

_NOT_IN_NAMES = re.compile(r"[^a-z0-9_]+")


@dataclass
class Imported:
    """A network, with the names of its file.

    Attributes:
        source: kind of file.
        kinds: kind of each node, by its name in the file.
        links: each with its ends and what it is, in the order of the interfaces.
        notes: differences from the file, each in a sentence.
    """

    source: str
    kinds: dict[str, str] = field(default_factory=dict)
    links: list[tuple[str, str, LinkSpec]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add_link(self, a: str, b: str, spec: LinkSpec | None = None) -> None:
        """Adds a link."""
        for name in (a, b):
            if name not in self.kinds:
                raise UsageError(f"a link ends at {name!r}, which is no node of the file")
        self.links.append((a, b, spec or LinkSpec()))

    def add_segment(self, nodes: Sequence[str], spec: LinkSpec | None = None) -> None:
        """Adds a link of two nodes, or a switch with a link to each of several."""
        if len(nodes) == 2:
            self.add_link(nodes[0], nodes[1], spec)
            return
        number = sum(kind == SWITCH for kind in self.kinds.values()) + 1
        switch = next(
            name for n in range(number, number + len(self.kinds) + 1) if (name := f"lan{n}") not in self.kinds
        )
        self.kinds[switch] = SWITCH
        for name in nodes:
            self.add_link(name, switch, spec)

    def degree(self, node: str) -> int:
        """Returns how many links a node has."""
        return sum((a == node) + (b == node) for a, b, _ in self.links)

    def leave_out(self, what: str, of: Sequence[str]) -> None:
        """Notes what of some nodes is not in the experiment file."""
        if of:
            shown = ", ".join(of[:4]) + (f" and {len(of) - 4} more" if len(of) > 4 else "")
            self.notes.append(f"left out: {what} of {shown}")

    def add_hosts(self) -> None:
        """Adds a host to each router or switch, for networks whose files have none."""
        for node in list(self.kinds):
            self.kinds[f"h {node}"] = HOST
            self.add_link(f"h {node}", node)
        self.notes.append("each node has a host of ours, over a link without limits")


def experiment_text(network: Imported, question: str) -> str:
    """Returns the text of an experiment file: the network, and pings between its first and its last host."""
    lonely = [node for node in network.kinds if not network.degree(node)]
    for node in lonely:
        del network.kinds[node]
    if lonely:
        network.notes.append(f"left out, because nothing is linked to them: {', '.join(lonely)}")
    names = _names(network.kinds)
    hosts = [names[node] for node, kind in network.kinds.items() if kind == HOST]
    if len(hosts) < 2:
        raise UsageError(f"the file has {len(hosts) or 'no'} host{'' if len(hosts) == 1 else 's'}", "it needs two")
    return "\n".join(_lines(network, names, hosts, question)) + "\n"


def _lines(network: Imported, names: Mapping[str, str], hosts: Sequence[str], question: str) -> Iterator[str]:
    yield f"# Imported from {network.source}; every key is explained in docs/experiment-files.md."
    yield from (f"# {note}" for note in network.notes)
    yield from (f"# {ours} is {node!r} in the file" for node, ours in names.items() if ours != node)
    yield ""
    yield f"question = {_text(question)}"
    yield "repeat = 1"
    yield ""
    yield "[network]"
    for kind, plural in _KINDS.items():
        if chosen := [names[node] for node in network.kinds if network.kinds[node] == kind]:
            yield f"{plural} = [{', '.join(map(_text, chosen))}]"
    yield "links = ["
    yield from (f"    {_text(' '.join([f'{names[a]}-{names[b]}', *words(spec)]))}," for a, b, spec in network.links)
    yield "]"
    yield from ("", "[[run]]", 'name = "pings"', f"host = {_text(hosts[0])}")
    yield f"command = {_text(f'ping -n -i 0.2 -c 10 {{{hosts[-1]}}}')}"
    yield from ("", "[[measure]]", 'name = "rtt"', 'run = "pings"', "pattern = 'time=([0-9.]+) ms'", 'pick = "mean"')


def words(spec: LinkSpec) -> list[str]:
    """Returns a link's specification as the words of an experiment file: `["bandwidth=10Mbit", "delay=5ms"]`."""
    values = ((field, getattr(spec, name)) for name, field in FIELDS.items())
    return [f"{field.key}={field.text(value).replace(' ', '')}" for field, value in values if value != field.default]


def _names(nodes: Mapping[str, str]) -> dict[str, str]:
    """Returns names that an experiment file may have, all different, by those of another file."""
    taken: dict[str, str] = {}
    for node, kind in nodes.items():
        own = _NOT_IN_NAMES.sub("_", node.lower()).strip("_")
        own = own if own[:1].isalpha() else f"{kind[0]}{own}"
        for number in range(len(nodes) + 1):
            suffix = str(number) if number else ""
            name = own[: _LONGEST_NAME - len(suffix)] + suffix
            if name not in taken.values():
                taken[node] = name
                break
    return taken


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
