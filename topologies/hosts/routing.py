"""Networks with routers: a subnet for each link or switched segment, addresses, and routes over shortest paths."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from flightpath.errors import UsageError
from topologies.hosts.multihomed import Route, plane_addresses

Port = tuple[str, int]
"""A node and the number of one of its interfaces."""

MAX_SUBNETS = 250


@dataclass(frozen=True)
class Addressing:
    """Addresses and routes of all hosts and routers.

    Attributes:
        addresses: for each node and port, an IPv4 and an IPv6 address with prefix length.
        routes: for each node, its routes to all subnets that it is not in.
    """

    addresses: Mapping[str, Mapping[int, tuple[str, str]]]
    routes: Mapping[str, Sequence[Route]]


@dataclass(frozen=True)
class _Subnet:
    """A link or a switched segment, with the ports of hosts and routers in the order of their addresses."""

    number: int
    ports: list[Port] = field(default_factory=list)

    def addresses(self, port: Port) -> tuple[str, str]:
        return plane_addresses(self.number, self.ports.index(port) + 1)


def addressing(links: Sequence[tuple[Port, Port]], switches: Collection[str], routers: Collection[str]) -> Addressing:
    """Gives each link or switched segment a subnet, in their order, and each router and host routes to all subnets.

    Args:
        links: their ends.
        switches, routers: names of these nodes; all others are hosts, which forward nothing.

    Raises:
        UsageError: there are too many subnets.
    """
    subnets = _subnets(links, switches)
    if len(subnets) > MAX_SUBNETS:
        raise UsageError(f"{len(subnets)} subnets are too many: at most {MAX_SUBNETS}")
    addresses: dict[str, dict[int, tuple[str, str]]] = {}
    for subnet in subnets:
        for node, port in subnet.ports:
            addresses.setdefault(node, {})[port] = subnet.addresses((node, port))
    distances = {subnet.number: _distances(subnet, subnets, routers) for subnet in subnets}
    return Addressing(addresses, {node: _routes(node, subnets, routers, distances) for node in addresses})


def _subnets(links: Sequence[tuple[Port, Port]], switches: Collection[str]) -> list[_Subnet]:
    segment_of = {name: number for number, name in enumerate(switches)}
    for (a, _), (b, _) in links:
        if a in switches and b in switches:
            joined, merged = segment_of[a], segment_of[b]
            segment_of = {name: joined if segment == merged else segment for name, segment in segment_of.items()}
    subnets: dict[int, _Subnet] = {}
    for number, ends in enumerate(links):
        at_switch = [segment_of[name] for name, _ in ends if name in switches]
        key = at_switch[0] if at_switch else -1 - number  # a link without a switch is a segment of its own
        if ports := [end for end in ends if end[0] not in switches]:
            subnets.setdefault(key, _Subnet(len(subnets) + 1)).ports.extend(ports)
    return list(subnets.values())


def _distances(target: _Subnet, subnets: Sequence[_Subnet], routers: Collection[str]) -> dict[str, int]:
    """Returns for each router from which a subnet can be reached how many further routers are on the way."""
    distances: dict[str, int] = {}
    ring, hops = {node for node, _ in target.ports if node in routers}, 0
    while ring:
        distances |= dict.fromkeys(ring, hops)
        near = {node for subnet in subnets if ring & _nodes(subnet) for node in _nodes(subnet) if node in routers}
        ring, hops = near - distances.keys(), hops + 1
    return distances


def _routes(
    node: str, subnets: Sequence[_Subnet], routers: Collection[str], distances: Mapping[int, Mapping[str, int]]
) -> list[Route]:
    """Returns a node's routes; a host's over each of its interfaces, a router's only over the best."""
    routes = []
    for target in subnets:
        if node in _nodes(target):
            continue
        ways = [
            (distances[target.number][gateway], position, subnet, (gateway, gateway_port))
            for position, subnet in enumerate(subnets)
            if node in _nodes(subnet)
            for gateway, gateway_port in subnet.ports
            if gateway in distances[target.number] and gateway != node
        ]
        seen: set[int] = set()
        for hops, _, subnet, gateway in sorted(ways, key=lambda way: way[:2])[: 1 if node in routers else None]:
            port = next(port for name, port in subnet.ports if name == node)
            if port in seen:
                continue
            seen.add(port)
            for network, via in zip(plane_addresses(target.number, 0), subnet.addresses(gateway), strict=True):
                routes.append(Route(network, via.partition("/")[0], port, hops + 1))
    return routes


def _nodes(subnet: _Subnet) -> set[str]:
    return {node for node, _ in subnet.ports}
