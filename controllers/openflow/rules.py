"""Flow rules as plain data, and the rules of shortest-path forwarding.

The rules know every host, so none of them floods and none needs the controller. A frame to a known MAC address is
matched by that address alone, and first: Open vSwitch's cache then needs one entry per host, not per connection. Hosts
at other switches that lie in the same direction share rules where their addresses form blocks.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from controllers.network.address_blocks import AddressBlocks, Group
from controllers.network.description import Interface, Network, Switch

FORWARD_PRIORITY = 40
RESOLVE_PRIORITY = 30
MULTICAST_PRIORITY = 20
DROP_PRIORITY = 10
MISS_PRIORITY = 0

MISS_BYTES = 64
"""Number of bytes that the controller gets of a frame without a rule: enough for its addresses."""

WHOLE_FRAME = 0xFFFF
"""`max_bytes` of ToController for whole frames, however long (OFPCML_NO_BUFFER)."""

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
    towards = [(it.port, AddressBlocks.of([it])) for it in network.interfaces if it.switch == switch.name]
    towards += [(port, network.groups.blocks(groups)) for port, groups in _remote_groups(network, switch).items()]
    rules = [
        Rule(priority, match, Output(port), table=table)
        for port, addresses in towards
        for priority, match in _matches(addresses)
    ]
    drops = [Rule(MULTICAST_PRIORITY, (("eth_dst", group),), None, table=table) for group in UNUSED_MULTICAST]
    return (*rules, *drops, Rule(MISS_PRIORITY, (), ToController(miss_bytes), table=table))


def output_ports(network: Network, switch: Switch) -> dict[Interface, int]:
    """Returns the port that leads to each interface that the switch can reach.

    Of several shortest paths a host's first interface is reached over the one through the lowest port of this switch,
    its second interface over the next one, and so on in turn. The paths of a host with several interfaces are then
    disjoint where the network allows it.
    """
    own = {it: it.port for it in network.interfaces if it.switch == switch.name}
    remote = _remote_groups(network, switch)
    return own | {
        it: port for port, groups in remote.items() for group in groups for it in network.groups.members[group]
    }


def cookie_of(rules: tuple[Rule, ...]) -> int:
    """Returns a cookie computed from the rules, the same in every process: a rule with another one is out of date."""
    digest = hashlib.sha256(repr(rules).encode()).digest()
    return COOKIE_PREFIX | int.from_bytes(digest[:4], "big")


def _remote_groups(network: Network, switch: Switch) -> dict[int, list[Group]]:
    """Returns the groups of interfaces at other switches by the port that leads to them, lowest first."""
    by_port: dict[int, list[Group]] = {}
    for group in network.groups.members:
        target, number = group
        if target != switch.name and (choices := network.next_hops.ports(switch.name, target)):
            by_port.setdefault(choices[number % len(choices)], []).append(group)
    return dict(sorted(by_port.items()))


def _matches(addresses: AddressBlocks) -> Iterator[tuple[int, Match]]:
    """Yields priority and match of each rule towards these addresses."""
    for mac in addresses.macs:
        yield FORWARD_PRIORITY, (("eth_dst", mac),)
    # Requests for an IP address's MAC address: ARP (RFC 826) and neighbour solicitations (RFC 4861).
    for ipv4 in addresses.ipv4:
        yield RESOLVE_PRIORITY, (("eth_type", ETH_ARP), ("arp_op", ARP_REQUEST), ("arp_tpa", ipv4))
    solicitation = (("eth_type", ETH_IPV6), ("ip_proto", IP_ICMPV6), ("icmpv6_type", NEIGHBOUR_SOLICITATION))
    for ipv6 in addresses.ipv6:
        yield RESOLVE_PRIORITY, (*solicitation, ("ipv6_nd_target", ipv6))
