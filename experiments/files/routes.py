"""Addresses and routes of an experiment file: one family of addresses only, and routes of the user's own."""

import re
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_interface, ip_network

from flightpath.errors import UsageError
from flightpath.suggestions import did_you_mean
from topologies.hosts.multihomed import Route
from topologies.hosts.routing import Addressing

_ROUTE = re.compile(r"(\S+)\s+(\S+)\s+via\s+(\S+)")
_FORM = '"r1 h2 via r3", "r1 10.9.0.0/16 via r3", or "h1 default via r1"'
_EVERYWHERE = ("0.0.0.0/0", "::/0")
_METRIC = 1000
"""Metric of the user's own routes, less their prefix length: `next_hop`, which compares metrics only, then takes the
longest prefix, as Linux does."""

FAMILIES: Mapping[str, Sequence[int]] = {"both": (4, 6), "ipv4": (4,), "ipv6": (6,)}
"""Versions of IP by their names in a file."""

_Network = IPv4Network | IPv6Network


def of_family(plan: Addressing, family: str) -> Addressing:
    """Returns the addresses and routes of one family, or of both."""
    versions = FAMILIES[family]
    addresses = {
        node: {port: tuple(it for it in texts if _network(it).version in versions) for port, texts in ports.items()}
        for node, ports in plan.addresses.items()
    }
    routes = {
        node: [route for route in each if ip_network(route.network).version in versions]
        for node, each in plan.routes.items()
    }
    return Addressing(addresses, routes)  # type: ignore[arg-type] # it says two addresses for each interface


def with_routes(plan: Addressing, texts: Sequence[str]) -> Addressing:
    """Returns a plan in which routes of the user's own stand in place of those to the same networks.

    Raises:
        UsageError: a route makes no sense.
    """
    own: dict[str, dict[_Network, Route]] = {node: {} for node in plan.routes}
    for text in texts:
        try:
            node, routes = _read(text, plan)
            for network, route in routes.items():
                if network in own[node]:
                    raise UsageError(f"{node} has two routes to {network}", "give one of them")
                own[node][network] = route
        except UsageError as error:
            raise UsageError(f"routes: {text!r}: {error.args[0]}", error.hint) from error
    return Addressing(
        plan.addresses,
        {
            node: [*(route for route in each if ip_network(route.network) not in own[node]), *own[node].values()]
            for node, each in plan.routes.items()
        },
    )


def _read(text: str, plan: Addressing) -> tuple[str, dict[_Network, Route]]:
    """Returns the node of a route, and what the route is in each family."""
    match = _ROUTE.fullmatch(text.strip())
    if match is None:
        raise UsageError("cannot read it", _FORM)
    node, target, gateway = match.groups()
    port, hops = _neighbour(node, gateway, plan)
    attached = {_network(address) for addresses in _interfaces(node, plan).values() for address in addresses}
    routes: dict[_Network, Route] = {}
    for network in _networks(target, plan):
        if network in attached:
            raise UsageError(f"{node} has an interface in {network}, and needs no route to it")
        if network.version in hops:
            routes[network] = Route(str(network), hops[network.version], port, _METRIC - network.prefixlen)
    if not routes:
        raise UsageError(f"{gateway} has no address of that family")
    return node, routes


def _networks(target: str, plan: Addressing) -> Iterator[_Network]:
    """Yields the networks of a destination: everywhere, a prefix, or those of an interface or a node's first one."""
    if target == "default":
        yield from map(ip_network, _EVERYWHERE)
    elif "/" in target:
        try:
            yield ip_network(target)
        except ValueError as error:
            raise UsageError(str(error), _FORM) from error
    else:
        yield from map(_network, next(iter(_interfaces(target, plan).values())))


def _neighbour(node: str, gateway: str, plan: Addressing) -> tuple[int, dict[int, str]]:
    """Returns the port of a node that leads to another one, and that one's addresses by their versions of IP."""
    for port, addresses in _interfaces(node, plan).items():
        for others in _interfaces(gateway, plan).values():
            if addresses != others and _network(addresses[0]) == _network(others[0]):
                return port, {_network(other).version: str(ip_interface(other).ip) for other in others}
    raise UsageError(f"{gateway} is not next to {node}", "a route leads to a node on one of its links or segments")


def _interfaces(name: str, plan: Addressing) -> Mapping[int, Sequence[str]]:
    """Returns the addresses of a node (`r1`) by its ports, or those of one interface (`r1-eth0`)."""
    node, dash, interface = name.partition("-eth")
    if node not in plan.addresses:
        raise UsageError(f"there is no host or router {node!r}", did_you_mean(node, plan.addresses))
    ports = plan.addresses[node]
    if not dash:
        return ports
    if interface not in map(str, ports):
        raise UsageError(f"there is no interface {name!r}", did_you_mean(name, [f"{node}-eth{port}" for port in ports]))
    return {int(interface): ports[int(interface)]}


def _network(address: str) -> _Network:
    return ip_interface(address).network
