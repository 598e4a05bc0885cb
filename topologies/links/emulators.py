"""Which program or kernel part makes the links: without this choice every topology would name one of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mininet.node import Node

from flightpath.errors import MissingCapability, UsageError
from topologies.links.cable import Cable
from topologies.links.emulated_link import EmulatedLink
from topologies.links.netem import NetemLink, require_netem
from topologies.links.relay import RelayLink, require_relay
from topologies.links.spec import LinkSpec

EMULATORS = ("auto", "relay", "netem")
_LINKS: Mapping[str, type[EmulatedLink]] = {link.emulator: link for link in (RelayLink, NetemLink)}
_REQUIRE: Mapping[str, Callable[[], None]] = {"relay": require_relay, "netem": require_netem}


def choose_emulator(asked: str = "auto") -> str:
    """`relay` or `netem`: what was asked for, or the first of them that works on this machine (tried).

    The relay comes first: it does the same on every kernel, and tells how late it was.

    Raises:
        UsageError: no such emulator.
        MissingCapability: what was asked for does not work here; for `auto`, neither does.
    """
    if asked not in EMULATORS:
        raise UsageError(f"emulator: {asked!r} is unknown", f"choose one of {', '.join(EMULATORS)}")
    if asked != "auto":
        _REQUIRE[asked]()
        return asked
    problems = []
    for name, require in _REQUIRE.items():
        try:
            require()
        except MissingCapability as problem:
            problems.append(problem)
        else:
            return name
    raise problems[0]


def link_class(emulator: str) -> type[EmulatedLink]:
    """The Mininet link of a chosen emulator (not of `auto`)."""
    return _LINKS[emulator]


@dataclass(frozen=True)
class OrCable:
    """Makes a link for a network: of this class, or a bare cable where its specifications emulate nothing."""

    emulated: type[EmulatedLink]

    def __call__(self, node1: Node, node2: Node, **params: Any) -> EmulatedLink:
        """As a link's class."""
        specs = [params[key] for key in ("spec", "a_to_b", "b_to_a") if params.get(key) is not None]
        kind = Cable if all(spec.emulates_nothing for spec in specs or (LinkSpec(),)) else self.emulated
        return kind(node1, node2, **params)


def makes_emulated_links(maker: Any) -> bool:
    """Whether this class, or what takes the place of one in a network, makes links of ours."""
    return isinstance(maker, OrCable) or (isinstance(maker, type) and issubclass(maker, EmulatedLink))
