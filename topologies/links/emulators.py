"""Choice of the link emulator."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from mininet.node import Node
from mininet.topo import Topo

from flightpath.clock import Clock, clock_here
from flightpath.errors import FlightpathError, MissingCapability, UsageError
from topologies.links.emulated_link import EmulatedLink
from topologies.links.fields import Effect
from topologies.links.netem import NetemLink
from topologies.links.relay import RelayLink
from topologies.links.spec import LinkSpec
from topologies.links.veth_link import VethLink

_LINKS: dict[str, type[EmulatedLink]] = {link.emulator: link for link in (RelayLink, NetemLink)}
EMULATORS = ("auto", *_LINKS)


def choose_emulator(requested: str = "auto", specs: Collection[LinkSpec] = ()) -> str:
    """Returns the requested emulator, or for `auto` the first that works on this machine with these specifications.

    The relay is tried first: it behaves the same on every kernel, and measures its own lateness. In virtual time no
    packet is late, and netem comes first, because it needs a third of the processor time.

    Raises:
        UsageError: there is no such emulator, or it cannot emulate a specification.
        MissingCapability: it does not work on this machine.
    """
    if requested not in EMULATORS:
        raise UsageError(f"emulator: {requested!r} is unknown", f"choose one of {', '.join(EMULATORS)}")
    problems: list[FlightpathError] = []
    disciplines = {spec.discipline for spec in specs}
    order = list(_LINKS) if clock_here() is Clock.REAL else list(_LINKS)[::-1]
    for name in order if requested == "auto" else (requested,):
        try:
            for spec in specs:
                _LINKS[name].refuse_impossible(spec)
            _LINKS[name].require(disciplines)
        except (MissingCapability, UsageError) as problem:
            problems.append(problem)
        else:
            return name
    raise problems[0]


def specs_of(topology: Topo) -> set[LinkSpec]:
    """Returns the specifications of a topology's links."""
    values = (value for *_, info in topology.links(withInfo=True) for value in info.values())
    return {value for value in values if isinstance(value, LinkSpec)}


def link_class(emulator: str) -> type[EmulatedLink]:
    return _LINKS[emulator]


@dataclass(frozen=True)
class LinkFactory:
    """Makes links of a class, or bare veth pairs where the specifications emulate nothing."""

    emulated: type[EmulatedLink]

    def __call__(self, node1: Node, node2: Node, **params: Any) -> EmulatedLink:
        """Makes a link; takes the arguments of EmulatedLink."""
        specs = [params[key] for key in ("spec", "a_to_b", "b_to_a") if params.get(key) is not None]
        is_ideal = all(spec.effect is Effect.NONE for spec in specs or (LinkSpec(),))
        return (VethLink if is_ideal else self.emulated)(node1, node2, **params)


def makes_emulated_links(maker: Any) -> bool:
    """Returns whether a link class, or a function used as one, makes EmulatedLinks."""
    return isinstance(maker, LinkFactory) or (isinstance(maker, type) and issubclass(maker, EmulatedLink))
