"""What each switch is to do with a frame, as plain data: without it rules could be tested only on a live switch.

The rules know every host, so none of them floods and none needs the controller: a switch that has them forwards on
when the controller is gone and when every ARP cache in the network has expired.

A frame to a known MAC address is matched by that alone and first. A datapath that caches a decision per kind of frame
(the megaflows of Open vSwitch) then needs one entry per host, whatever the number of connections.
"""

import hashlib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from ipaddress import ip_address

from controllers.network.description import Interface, Network, Switch

FORWARD_PRIORITY = 40
RESOLVE_PRIORITY = 30
NOISE_PRIORITY = 20
HOLD_PRIORITY = 10
MISS_PRIORITY = 0

MISS_BYTES = 64
"""So much of a frame without a rule goes to the controller: enough to say whose it was."""

WHOLE_FRAME = 0xFFFF
"""As `max_bytes` of ToController: the frame as it is, however long (OFPCML_NO_BUFFER)."""

COOKIE_PREFIX = 0x666C7470 << 32
"""`fltp`, in the upper half of the cookie of each of our rules, for whoever reads `ovs-ofctl dump-flows`."""

NOISE = (
    ("33:33:00:00:00:00", "ff:ff:00:00:00:00"),
    ("01:00:5e:00:00:00", "ff:ff:ff:80:00:00"),
)
"""IPv6 and IPv4 multicast: MLD, router solicitations, mDNS. Hosts send them unasked, and here nobody listens."""

ETH_ARP = 0x0806
ETH_IPV6 = 0x86DD
IP_ICMPV6 = 58
ARP_REQUEST = 1
NEIGHBOUR_SOLICITATION = 135

MatchValue = int | str | tuple[str, str]
"""What a field must be: a value, or value and mask."""


@dataclass(frozen=True)
class Output:
    """Sends the frame out of one port, never back where it came from."""

    port: int


@dataclass(frozen=True)
class ToController:
    """Sends the first bytes of the frame to the controller, and the frame nowhere."""

    max_bytes: int


@dataclass(frozen=True)
class SetDestination:
    """Writes another destination MAC address into the frame."""

    mac: str


@dataclass(frozen=True)
class ToGroup:
    """Hands the frame to a group of the switch, which picks one of its buckets."""

    group: int


@dataclass(frozen=True)
class EndWithFlow:
    """Lets a frame with FIN or RST shorten the rule's life: it goes when nothing has matched it for `idle_s` more.

    Open vSwitch's own (ovs-actions(7), fin_timeout).
    """

    idle_s: int


Action = Output | ToController | SetDestination | ToGroup | EndWithFlow


@dataclass(frozen=True)
class Rule:
    """One entry of a switch's flow table.

    Args:
        priority: of two rules that match, the higher wins.
        match: OpenFlow field names and what they must be, each after those that it needs (`tcp_src` after `ip_proto`);
            empty matches every frame.
        action: what is done with the frame, or several things in their order; None drops, if `goto` is None too.
        hard_timeout_s: the switch deletes the rule after so many seconds; 0 keeps it.
        idle_timeout_s: the switch deletes the rule when no frame has matched it for so many seconds; 0 keeps it.
        table: in which of the switch's tables it stands; frames begin in table 0.
        goto: the table, a later one, where the frame goes on after the action.
    """

    priority: int
    match: tuple[tuple[str, MatchValue], ...]
    action: Action | tuple[Action, ...] | None
    hard_timeout_s: int = 0
    idle_timeout_s: int = 0
    table: int = 0
    goto: int | None = None

    @property
    def actions(self) -> tuple[Action, ...]:
        """What is done with the frame, in this order."""
        if self.action is None:
            return ()
        return self.action if isinstance(self.action, tuple) else (self.action,)


def place_of(rule: Rule) -> tuple[int, int, frozenset[tuple[str, MatchValue]]]:
    """What tells a rule from all others of its switch; the order of the match does not matter to it."""
    return rule.table, rule.priority, frozenset(rule.match)


def forwarding_rules(
    network: Network, switch: Switch, *, table: int = 0, miss_bytes: int = MISS_BYTES
) -> tuple[Rule, ...]:
    """All rules of one switch: to every interface that it can reach, over a shortest path.

    Every switch on the way comes to the same path, for each hop is strictly nearer to the interface's switch.

    Args:
        network: what there is to forward between.
        switch: whose rules.
        table: where they stand.
        miss_bytes: so much of a frame without a rule goes to the controller.
    """
    ports = output_ports(network, switch)
    rules = [rule for it in network.interfaces if it in ports for rule in _rules_towards(it, ports[it])]
    missed = Rule(MISS_PRIORITY, (), ToController(miss_bytes))
    return tuple(replace(rule, table=table) for rule in (*rules, *_noise_rules(), missed))


def output_ports(network: Network, switch: Switch) -> dict[Interface, int]:
    """For each interface that the switch can reach, the port that leads there.

    Of several shortest paths a host's first interface is reached over the one through the lowest port of this switch,
    its second over the next one, and so on, and round again: the planes of a host with several interfaces are then
    disjoint where the network allows it.
    """
    next_hops = _next_hops(network, switch.name)
    ports = {}
    for host in network.hosts:
        for number, interface in enumerate(host.interfaces):
            if interface.switch == switch.name:
                ports[interface] = interface.port
            elif choice := next_hops.get(interface.switch):
                ports[interface] = choice[number % len(choice)]
    return ports


def cookie_of(rules: tuple[Rule, ...]) -> int:
    """A cookie that follows from the rules, the same in every process.

    A restarted controller then writes what is there already, and whatever carries another cookie is stale.
    """
    digest = hashlib.sha256(repr(rules).encode()).digest()
    return COOKIE_PREFIX | int.from_bytes(digest[:4], "big")


def hold_rule(mac: str | None, hold_s: int) -> Rule:
    """Drops frames without a rule for a while, to this MAC address or, with None, to any: see `table_miss`."""
    return Rule(HOLD_PRIORITY, () if mac is None else (("eth_dst", mac),), None, hard_timeout_s=hold_s)


def _next_hops(network: Network, switch: str) -> dict[str, list[int]]:
    """For each other switch that can be reached, the ports where a shortest path begins, lowest first."""
    adjacent: dict[str, set[str]] = {}
    for link in network.links:
        adjacent.setdefault(link.a.switch, set()).add(link.b.switch)
        adjacent.setdefault(link.b.switch, set()).add(link.a.switch)
    distance = _distances(adjacent, switch)
    hops: dict[str, list[int]] = {}
    for port, neighbour in sorted(_neighbours(network, switch)):
        for target, rest in _distances(adjacent, neighbour).items():
            if rest + 1 == distance[target]:
                hops.setdefault(target, []).append(port)
    return hops


def _distances(adjacent: Mapping[str, set[str]], start: str) -> dict[str, int]:
    """Links to each switch that can be reached. To load networkx for it would take a third of the start-up time."""
    distance: dict[str, int] = {}
    ring = {start}
    for away in itertools.count():
        distance |= dict.fromkeys(ring, away)
        ring = {there for here in ring for there in adjacent.get(here, ())} - distance.keys()
        if not ring:
            break
    return distance


def _neighbours(network: Network, switch: str) -> Iterator[tuple[int, str]]:
    for link in network.links:
        for here, there in ((link.a, link.b), (link.b, link.a)):
            if here.switch == switch:
                yield here.port, there.switch


def _rules_towards(interface: Interface, port: int) -> Iterator[Rule]:
    yield Rule(FORWARD_PRIORITY, (("eth_dst", interface.mac),), Output(port))
    for address in interface.addresses:
        yield Rule(RESOLVE_PRIORITY, _who_has(address), Output(port))


def _who_has(address: str) -> tuple[tuple[str, MatchValue], ...]:
    """Matches the question for an address's MAC address: an ARP request or a neighbour solicitation (RFC 826, 4861)."""
    if ip_address(address).version == 4:
        return (("eth_type", ETH_ARP), ("arp_op", ARP_REQUEST), ("arp_tpa", address))
    return (
        ("eth_type", ETH_IPV6),
        ("ip_proto", IP_ICMPV6),
        ("icmpv6_type", NEIGHBOUR_SOLICITATION),
        ("ipv6_nd_target", address),
    )


def _noise_rules() -> Iterator[Rule]:
    for group in NOISE:
        yield Rule(NOISE_PRIORITY, (("eth_dst", group),), None)
