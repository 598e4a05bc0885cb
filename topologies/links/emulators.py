"""Choice of the emulator that makes the links."""

from dataclasses import dataclass
from typing import Any

from mininet.node import Node

from flightpath.clock import Clock, clock_here
from flightpath.errors import MissingCapability, UsageError
from topologies.links.cable import Cable
from topologies.links.emulated_link import EmulatedLink
from topologies.links.fields import Effect
from topologies.links.netem import NetemLink
from topologies.links.relay import RelayLink
from topologies.links.spec import LinkSpec

_LINKS: dict[str, type[EmulatedLink]] = {link.emulator: link for link in (RelayLink, NetemLink)}
EMULATORS = ("auto", *_LINKS)


def choose_emulator(asked: str = "auto") -> str:
    """The emulator that was asked for, or for `auto` the first that works on this machine.

    The relay is tried first: it does the same on every kernel, and measures how late it was. In virtual time no packet
    is late, and netem comes first, which needs a third of the processor time.

    Raises:
        UsageError: there is no such emulator.
        MissingCapability: it does not work here; for `auto`, none does.
    """
    if asked not in EMULATORS:
        raise UsageError(f"emulator: {asked!r} is unknown", f"choose one of {', '.join(EMULATORS)}")
    problems = []
    order = list(_LINKS) if clock_here() is Clock.REAL else list(_LINKS)[::-1]
    for name in order if asked == "auto" else (asked,):
        try:
            _LINKS[name].require()
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
    """Makes links of a class, or bare cables where their specifications emulate nothing."""

    emulated: type[EmulatedLink]

    def __call__(self, node1: Node, node2: Node, **params: Any) -> EmulatedLink:
        """Makes a link; arguments as EmulatedLink."""
        specs = [params[key] for key in ("spec", "a_to_b", "b_to_a") if params.get(key) is not None]
        is_cable = all(spec.effect is Effect.NONE for spec in specs or (LinkSpec(),))
        kind = Cable if is_cable else self.emulated
        return kind(node1, node2, **params)


def makes_emulated_links(maker: Any) -> bool:
    """Whether a link class, or a function in its place, makes EmulatedLinks."""
    return isinstance(maker, OrCable) or (isinstance(maker, type) and issubclass(maker, EmulatedLink))
