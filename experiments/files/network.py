"""The network of an experiment file: a topology, and the addresses that its commands may name."""

import re
from collections.abc import Mapping
from typing import Any

from mininet.topo import Topo

from experiments.files.keys import InvalidKey, Where
from experiments.files.routes import of_family, with_routes
from experiments.files.tables import Network
from flightpath.errors import UsageError
from flightpath.suggestions import did_you_mean
from topologies.hosts.multihomed import MultihomedHost, mac
from topologies.hosts.routing import Port, addressing
from topologies.links.spec import LinkSpec
from topologies.links.texts import read_pairs
from topologies.mininet.user_topology import prepared

_LINK = re.compile(r"([a-z][a-z0-9_]*)-([a-z][a-z0-9_]*)(?:\s+([^/]*))?(?:/(.*))?")
_LONGEST_NAME = 9
"""Characters of a node's name: that of an interface, with `-eth10` behind it, has at most 15."""


def topology(network: Network) -> Topo:
    """Returns the topology of a network.

    Raises:
        InvalidKey: a node or a link makes no sense.
    """
    if network.topology is not None:
        return _named(network)
    try:
        return _linked(network)
    except InvalidKey:
        raise
    except UsageError as error:
        raise InvalidKey(("network", "links"), str(error.args[0]), error.hint) from error


def addresses(topo: Topo) -> dict[str, str]:
    """Returns the first address of each interface by its name, and that of a host's first interface by the host's."""
    names: dict[str, str] = {}
    for host in topo.hosts():
        for port, texts in topo.nodeInfo(host).get("addresses", {}).items():
            address = str(texts[0]).partition("/")[0]
            names.setdefault(host, address)
            names[f"{host}-eth{port}"] = address
    return names


def _named(network: Network) -> Topo:
    where: Where = ("network", "topology")
    try:
        if network.sysctls:
            raise InvalidKey(("network", "sysctls"), f"sysctls: {network.topology} sets those of its own hosts")
        options = {
            name: str(value) if not isinstance(value, bool) else value for name, value in network.options.items()
        }
        return prepared(network.topology or "", options, network.congestion_control)
    except InvalidKey:
        raise
    except UsageError as error:
        raise InvalidKey(where, str(error.args[0]), error.hint) from error


def _linked(network: Network) -> Topo:
    kinds = _kinds(network)
    ports = dict.fromkeys(kinds, 0)
    ends: list[tuple[Port, Port]] = []
    specs = []
    for text in network.links:
        a, b, there, back = _link(text, kinds)
        ends.append(((a, _next(ports, a, kinds)), (b, _next(ports, b, kinds))))
        specs.append((there, back))
    if lonely := [name for name, kind in kinds.items() if not any(name in (a[0], b[0]) for a, b in ends)]:
        raise InvalidKey(("network", "links"), f"{lonely[0]} has no link", f'add "{lonely[0]}-…"')
    plan = of_family(addressing(ends, network.switches, network.routers), network.family)
    try:
        plan = with_routes(plan, network.routes)
    except UsageError as error:
        raise InvalidKey(("network", "routes"), str(error.args[0]), error.hint) from error
    topo = Topo()
    for number, name in enumerate(network.switches, start=1):
        topo.addSwitch(name, dpid=f"{number:016x}")
    for name, kind in kinds.items():
        if kind != "switch":
            topo.addHost(
                name,
                cls=MultihomedHost,
                addresses=plan.addresses[name],
                routes=plan.routes[name],
                forwards=kind == "router",
                congestion_control=network.congestion_control,
                sysctls=network.sysctls,
            )
    for number, (((a, port1), (b, port2)), (there, back)) in enumerate(zip(ends, specs, strict=True), start=1):
        macs = {"addr1": mac(0, number, 1), "addr2": mac(0, number, 2)}
        topo.addLink(a, b, port1=port1, port2=port2, a_to_b=there, b_to_a=back, **macs)
    return topo


def _kinds(network: Network) -> dict[str, str]:
    """Returns all nodes in the order of the file, with their kinds."""
    kinds: dict[str, str] = {}
    for kind, names in (("host", network.hosts), ("router", network.routers), ("switch", network.switches)):
        plural = f"{kind}es" if kind == "switch" else f"{kind}s"
        for name in names:
            where: Where = ("network", plural)
            if name in kinds:
                raise InvalidKey(where, f"{plural}: {name} is named twice")
            if len(name) > _LONGEST_NAME:
                raise InvalidKey(where, f"{plural}: {name!r} is too long", f"at most {_LONGEST_NAME} characters")
            kinds[name] = kind
    return kinds


def _next(ports: dict[str, int], node: str, kinds: Mapping[str, str]) -> int:
    """Returns the number of a node's next interface: a switch's first is 1, others begin with 0."""
    number = ports[node] + (kinds[node] == "switch")
    ports[node] += 1
    return number


def _link(text: str, kinds: Mapping[str, str]) -> tuple[str, str, LinkSpec, LinkSpec]:
    match = _LINK.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"links: cannot read {text!r}", '"h1-r1", or "r1-r2 bandwidth=10Mbit delay=5ms / delay=9ms"')
    a, b, words, back_words = match.groups()
    for name in (a, b):
        if name not in kinds:
            raise UsageError(f"links: {text!r}: there is no node {name!r}", did_you_mean(name, kinds))
    there: dict[str, Any] = read_pairs(words or "")
    try:
        return a, b, LinkSpec.parse(**there), LinkSpec.parse(**{**there, **read_pairs(back_words or "")})
    except UsageError as error:
        raise UsageError(f"links: {text!r}: {error.args[0]}", error.hint) from error
