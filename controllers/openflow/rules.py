"""Flow rules as plain data, and the rules of shortest-path forwarding.

The rules know every host, so none of them floods and none needs the controller. A frame to a known MAC address is
matched by that address alone, and first: Open vSwitch's cache then needs one entry per host, not per connection.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from ipaddress import ip_address

from controllers.network.description import Interface, Network, Switch

FORWARD_PRIORITY = 40
RESOLVE_PRIORITY = 30
MULTICAST_PRIORITY = 20
DROP_PRIORITY = 10
MISS_PRIORITY = 0

MISS_BYTES = 64
"""Number of bytes that the controller gets of a frame without a rule: enough for its addresses."""

WHOLE_FRAME = 0xFFFF
"""As `max_bytes` of ToController: the frame as it is, however long (OFPCML_NO_BUFFER)."""

COOKIE_PREFIX = 0x666C7470 << 32
"""`fltp`, in the upper half of the cookie of each rule, for those who read `ovs-ofctl dump-flows`."""

UNUSED_MULTICAST = (
    ("33:33:00:00:00:00", "ff:ff:00:00:00:00"),
    ("01:00:5e:00:00:00", "ff:ff:ff:80:00:00"),
)
"""IPv6 and IPv4 multicast: MLD, router solicitations, mDNS. Hosts send them unasked, and no host here listens."""

ETH_ARP = 0x0806
ETH_IPV6 = 0x86DD
IP_ICMPV6 = 58
ARP_REQUEST = 1
NEIGHBOUR_SOLICITATION = 135

MatchValue = int | str | tuple[str, str] | tuple[int, int]
"""The value that a field must have, or a value and a mask."""

Match = tuple[tuple[str, MatchValue], ...]
"""OpenFlow field names with their values, each after the fields that it requires (`tcp_src` after `ip_proto`)."""


@dataclass(frozen=True)
class Output:
    """Sends the frame out of a port, but never back to where it came from."""

    port: int


@dataclass(frozen=True)
class ToController:
    """Sends the first bytes of the frame to the controller, and the frame nowhere."""

    max_bytes: int


@dataclass(frozen=True)
class SetDestination:
    """Overwrites the destination MAC address of the frame."""

    mac: str


@dataclass(frozen=True)
class ToGroup:
    """Hands the frame to a group of the switch, which picks one of its buckets."""

    group: int


@dataclass(frozen=True)
class EndWithFlow:
    """Shortens the rule's idle timeout when a frame with FIN or RST matches it (ovs-actions(7), fin_timeout)."""

    idle_s: int


Action = Output | ToController | SetDestination | ToGroup | EndWithFlow


@dataclass(frozen=True)
class Rule:
    """One entry of a switch's flow table.

    Args:
        action: None drops the frame if `goto` is None too.
        hard_timeout_s: the switch deletes the rule after so many seconds; 0: never.
        idle_timeout_s: the switch deletes the rule if no frame has matched it for so many seconds; 0: never.
        goto: a later table, where processing continues after the action.
    """

    priority: int
    match: Match
    action: Action | tuple[Action, ...] | None
    hard_timeout_s: int = 0
    idle_timeout_s: int = 0
    table: int = 0
    goto: int | None = None

    @property
    def actions(self) -> tuple[Action, ...]:
        if self.action is None:
            return ()
        return self.action if isinstance(self.action, tuple) else (self.action,)


@dataclass(frozen=True)
class StoredRule:
    """A rule as a switch has it, but without timeouts, and without actions that this project never installs."""

    rule: Rule
    cookie: int
    packets: int


def rule_key(rule: Rule) -> tuple[int, int, frozenset[tuple[str, MatchValue]]]:
    """Returns a rule's identity in its switch: one with the same key replaces it; the match's order is ignored."""
    return rule.table, rule.priority, frozenset(rule.match)


def forwarding_rules(
    network: Network, switch: Switch, *, table: int = 0, miss_bytes: int = MISS_BYTES
) -> tuple[Rule, ...]:
    """Returns all forwarding rules of one switch: to every interface that it can reach, over a shortest path.

    All switches on the way agree on the path, because each hop is strictly nearer to the interface's switch.
    The controller gets the first `miss_bytes` of a frame without a rule.
    """
    ports = output_ports(network, switch)
    rules = [rule for it in network.interfaces if it in ports for rule in _rules_towards(it, ports[it])]
    drops = [Rule(MULTICAST_PRIORITY, (("eth_dst", group),), None) for group in UNUSED_MULTICAST]
    miss = Rule(MISS_PRIORITY, (), ToController(miss_bytes))
    return tuple(replace(rule, table=table) for rule in (*rules, *drops, miss))


def output_ports(network: Network, switch: Switch) -> dict[Interface, int]:
    """Returns the port that leads to each interface that the switch can reach.

    Of several shortest paths a host's first interface is reached over the one through the lowest port of this switch,
    its second interface over the next one, and so on in turn. The paths of a host with several interfaces are then
    disjoint where the network allows it.
    """
    next_hops = _next_hops(network, switch.name)
    ports = {}
    for host in network.hosts:
        for number, interface in enumerate(host.interfaces):
            if interface.switch == switch.name:
                ports[interface] = interface.port
            elif choices := next_hops.get(interface.switch):
                ports[interface] = choices[number % len(choices)]
    return ports


def cookie_of(rules: tuple[Rule, ...]) -> int:
    """Returns a cookie computed from the rules, the same in every process: a rule with another one is out of date."""
    digest = hashlib.sha256(repr(rules).encode()).digest()
    return COOKIE_PREFIX | int.from_bytes(digest[:4], "big")


def _next_hops(network: Network, switch: str) -> dict[str, list[int]]:
    """Returns the ports where a shortest path to each other switch begins, lowest first."""
    adjacent: dict[str, set[str]] = {}
    neighbours: list[tuple[int, str]] = []
    for link in network.links:
        for here, there in ((link.a, link.b), (link.b, link.a)):
            adjacent.setdefault(here.switch, set()).add(there.switch)
            if here.switch == switch:
                neighbours.append((here.port, there.switch))
    distance = _distances(adjacent, switch)
    hops: dict[str, list[int]] = {}
    for port, neighbour in sorted(neighbours):
        for target, rest in _distances(adjacent, neighbour).items():
            if rest + 1 == distance[target]:
                hops.setdefault(target, []).append(port)
    return hops


def _distances(adjacent: Mapping[str, set[str]], start: str) -> dict[str, int]:
    """Returns the number of links to each reachable switch. Loading networkx for this would slow down the start."""
    distance: dict[str, int] = {}
    ring, links = {start}, 0
    while ring:
        distance |= dict.fromkeys(ring, links)
        ring = {there for here in ring for there in adjacent.get(here, ())} - distance.keys()
        links += 1
    return distance


def _rules_towards(interface: Interface, port: int) -> Iterator[Rule]:
    yield Rule(FORWARD_PRIORITY, (("eth_dst", interface.mac),), Output(port))
    for address in interface.addresses:
        yield Rule(RESOLVE_PRIORITY, _address_request(address), Output(port))


def _address_request(address: str) -> Match:
    """Matches the request for an IP address's MAC address: ARP (RFC 826) or a neighbour solicitation (RFC 4861)."""
    if ip_address(address).version == 4:
        return (("eth_type", ETH_ARP), ("arp_op", ARP_REQUEST), ("arp_tpa", address))
    return (
        ("eth_type", ETH_IPV6),
        ("ip_proto", IP_ICMPV6),
        ("icmpv6_type", NEIGHBOUR_SOLICITATION),
        ("ipv6_nd_target", address),
    )
