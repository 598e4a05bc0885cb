"""Routing protocols with their timers, and the configuration of a router that speaks one.

Timers are FRRouting's own defaults or, where that is said, those of its profile for data centres.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Interface

_FIRST_AS, _GREATEST_WEIGHT = 65001, 10_000
_BFD_S = 0.9
"""Time after which BFD takes a neighbour for lost: 3 packets in a row, one each 300 ms (RFC 5880)."""


@dataclass(frozen=True)
class Interface:
    """An interface of a router.

    Attributes:
        neighbours: numbers and addresses of the routers in its subnet; none at the edge.
        cost: the less, the more the way over it is preferred.
    """

    name: str
    address: IPv4Interface
    neighbours: Sequence[tuple[int, str]]
    cost: int


@dataclass(frozen=True)
class RoutingProtocol:
    """A routing protocol with its timers.

    Attributes:
        daemons: that speak it, besides zebra.
        configure: writes the first daemon's configuration, for the number of a router and its interfaces.
        detection_s: longest time until a neighbour that has gone silent is taken for lost.
    """

    daemons: Sequence[str]
    configure: Callable[[int, Sequence[Interface]], Iterator[str]]
    detection_s: float


def _ospf(timers: str = "", *, bfd: bool = False) -> Callable[[int, Sequence[Interface]], Iterator[str]]:
    """OSPFv2 (RFC 2328): each subnet between routers is a point-to-point link, others are passive."""

    def configure(number: int, interfaces: Sequence[Interface]) -> Iterator[str]:
        for interface in interfaces:
            yield f"interface {interface.name}"
            yield " ip ospf area 0"
            yield f" ip ospf cost {interface.cost}"
            if not interface.neighbours:
                yield " ip ospf passive"
                continue
            if len(interface.neighbours) == 1:
                yield " ip ospf network point-to-point"
            if timers:
                yield f" ip ospf {timers}"
            if bfd:
                yield " ip ospf bfd"
        yield "router ospf"
        yield f" ospf router-id 0.0.0.{number}"

    return configure


def _bgp(timers: str, *, bfd: bool = False) -> Callable[[int, Sequence[Interface]], Iterator[str]]:
    """BGP (RFC 4271) between routers that are an autonomous system each, as in RFC 7938."""

    def configure(number: int, interfaces: Sequence[Interface]) -> Iterator[str]:
        neighbours = [(*each, interface.cost) for interface in interfaces for each in interface.neighbours]
        yield f"router bgp {_FIRST_AS + number}"
        yield f" bgp router-id 0.0.0.{number}"
        yield " no bgp ebgp-requires-policy"
        yield f" timers bgp {timers}"
        for peer, address, _ in neighbours:
            yield f" neighbor {address} remote-as {_FIRST_AS + peer}"
            if bfd:
                yield f" neighbor {address} bfd"
        yield " address-family ipv4 unicast"
        yield "  redistribute connected"
        for _, address, cost in neighbours:
            yield f"  neighbor {address} weight {_GREATEST_WEIGHT - cost}"
        yield " exit-address-family"

    return configure


PROTOCOLS: Mapping[str, RoutingProtocol] = {
    "ospf": RoutingProtocol(["ospfd"], _ospf(), 40.0),
    "ospf_fast": RoutingProtocol(["ospfd"], _ospf("dead-interval minimal hello-multiplier 4"), 1.0),
    "ospf_bfd": RoutingProtocol(["ospfd", "bfdd"], _ospf(bfd=True), _BFD_S),
    "bgp": RoutingProtocol(["bgpd"], _bgp("60 180"), 180.0),
    "bgp_fast": RoutingProtocol(["bgpd"], _bgp("3 9"), 9.0),
    "bgp_bfd": RoutingProtocol(["bgpd", "bfdd"], _bgp("60 180", bfd=True), _BFD_S),
}
"""OSPF says hello each 10 s, or four times a second; BGP each 60 s or, as FRRouting does in data centres, each 3 s."""
