"""The rules of steering as plain data.

A frame passes through three tables of a switch:

    0 watch   what comes from another switch continues in table 2 at once. Of what comes from hosts, SYNs are held and
              sent to the controller, and SYN/ACK, FIN and RST are copied to it on their way.
    1 flows   a TCP flow that has a path gets its label here, at the switch where it enters. Only here are frames
              matched by flow.
    2 base    frames with a label follow it; all others take forwarding's shortest paths.

A switch between the edges looks only at the port, and in table 2 at the destination address. Open vSwitch then caches
one decision per path there, not one per flow.

SYNs are held only while the controller renews a lease of `HOLD_LEASE_S`: without a controller, new connections soon
take the shortest path. A flow's rules are deleted when it has ended (FIN in both directions, or RST) or was never
established. If no controller sees the end, the switch deletes a rule that no frame has matched for `FINISHED_IDLE_S`
after a FIN or RST; the next controller does not recover a flow that has lost one of its two rules like that.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from ipaddress import ip_address

from controllers.network.description import Interface, Network, Switch
from controllers.network.paths import Path
from controllers.openflow.cookies import FlowCookie, path_cookie
from controllers.openflow.labels import InterfaceNumbers, Labels
from controllers.openflow.rules import (
    DROP_PRIORITY,
    ETH_ARP,
    ETH_IPV6,
    IP_ICMPV6,
    MISS_BYTES,
    WHOLE_FRAME,
    EndWithFlow,
    Match,
    MatchValue,
    Output,
    Rule,
    SetDestination,
    ToController,
    ToGroup,
    forwarding_rules,
)
from controllers.packets.segments import IP_TCP, FlowKey


class Table(IntEnum):
    """The tables of each switch, by number."""

    WATCH = 0
    FLOWS = 1
    BASE = 2


PROBE_PRIORITY = 110
FROM_SWITCH_PRIORITY = 100
NO_LABEL_PRIORITY = 90
MUTE_PRIORITY = 80
HOLD_SYN_PRIORITY = 70
COPY_PRIORITY = 60
NEIGHBOUR_PRIORITY = 55
INTERFACE_PRIORITY = 70
PATH_PRIORITY = 60
FLOW_PRIORITY = 50
GROUP_PRIORITY = 20

HOLD_LEASE_S = 2  # over before Linux sends a SYN without its MPTCP option: 1 s after the third one that was lost
SUBFLOW_IDLE_S = 4 * 3600  # a backup may be needed after hours: longer than between TCP's keepalives (7200 s, tcp(7))
SINGLE_IDLE_S = 900  # a flow that continues later takes the shortest path, which does no harm
IDLE_CONNECTION_S = 3600.0  # after so long without a frame the controller closes the whole connection
FINISHED_IDLE_S = 20

PROBE_ETHERTYPE = 0x88B5
"""For local experiments (IEEE 802): frames by which the controller checks that a link carries frames."""

HEADERS_BYTES = 256
"""Enough of a frame to read its TCP options: 14 + 40 (IPv6) + 60, and room for extension headers."""

ETH_IPV4 = 0x0800

_SYN_ONLY = (0x02, 0x12)
_SYN_ACK = (0x12, 0x12)
_ENDS = ((0x01, 0x01), (0x04, 0x04))  # FIN, RST
_NEIGHBOURS: tuple[Match, ...] = (
    (("eth_type", ETH_ARP),),
    *((("eth_type", ETH_IPV6), ("ip_proto", IP_ICMPV6), ("icmpv6_type", kind)) for kind in (135, 136)),
)


@dataclass(frozen=True)
class SwitchRule:
    """A rule with its switch and its cookie."""

    switch: str
    rule: Rule
    cookie: int


def base_rules(
    network: Network,
    alive: Network,
    switch: Switch,
    labels: Labels,
    interfaces: InterfaceNumbers,
    *,
    learning: bool = False,
) -> tuple[Rule, ...]:
    """Returns all that a switch needs before the first flow begins.

    Args:
        alive: the network without the links that are down, over which nothing is forwarded.
        learning: whether hosts and links are still to be discovered: frames that reveal them are copied to the
            controller.
    """
    learning_rules = (
        *(Rule(NEIGHBOUR_PRIORITY, match, ToController(HEADERS_BYTES), goto=Table.FLOWS) for match in _NEIGHBOURS),
        Rule(PROBE_PRIORITY, (("eth_type", PROBE_ETHERTYPE),), ToController(HEADERS_BYTES)),
    )
    return (
        *_watch_rules(network, switch, labels),
        *(learning_rules if learning else ()),
        Rule(0, (), None, table=Table.FLOWS, goto=Table.BASE),
        *_interface_rules(network, switch, labels, interfaces),
        # If nothing else finds the owner of an address, the whole frame is flooded to look for it.
        *forwarding_rules(alive, switch, table=Table.BASE, miss_bytes=WHOLE_FRAME if learning else MISS_BYTES),
    )


def hold_rules() -> tuple[Rule, ...]:
    """Returns rules that hold SYNs for the controller; they expire unless sent again within `HOLD_LEASE_S`."""
    return _tcp_rules(HOLD_SYN_PRIORITY, _SYN_ONLY, ToController(WHOLE_FRAME), duration_s=HOLD_LEASE_S)


def copy_rules() -> tuple[Rule, ...]:
    """Returns rules that copy SYNs to the controller, and hold none, where the switch itself chooses paths."""
    return _tcp_rules(COPY_PRIORITY, _SYN_ONLY, ToController(HEADERS_BYTES), goto=Table.FLOWS)


def mute_openings(port: int, duration_s: int) -> tuple[Rule, ...]:
    """Returns rules that forward SYN and SYN/ACK of a port for a while without a copy to the controller.

    SYNs skip table 1, so that a flood of them on random ports does not fill the switch's cache.
    """
    return (
        *_tcp_rules(MUTE_PRIORITY, _SYN_ACK, None, port=port, duration_s=duration_s, goto=Table.FLOWS),
        *_tcp_rules(MUTE_PRIORITY, _SYN_ONLY, None, port=port, duration_s=duration_s, goto=Table.BASE),
    )


def mute_ends(port: int, duration_s: int) -> tuple[Rule, ...]:
    """Returns rules that forward FIN and RST of a port for a while without a copy to the controller.

    If a program is killed while much data is on its way to it, its host answers each segment with an RST.
    """
    return tuple(
        rule
        for flags in _ENDS
        for rule in _tcp_rules(MUTE_PRIORITY, flags, None, port=port, duration_s=duration_s, goto=Table.FLOWS)
    )


def mute_unknown_destinations(port: int, duration_s: int) -> tuple[Rule, ...]:
    """Returns rules that for a while drop a port's frames to unknown destinations, and do not copy its ARP and ND."""
    neighbours = (
        Rule(MUTE_PRIORITY, (("in_port", port), *match), None, duration_s, goto=Table.FLOWS) for match in _NEIGHBOURS
    )
    return (*neighbours, Rule(DROP_PRIORITY, (("in_port", port),), None, duration_s, table=Table.BASE))


def path_rules(path: Path, number: int, labels: Labels) -> tuple[SwitchRule, ...]:
    """Returns the rules of a path, from its end to its beginning: of the switches between the first and the last."""
    match = (("eth_dst", labels.on_path(number)),)
    return tuple(
        SwitchRule(hop.switch, Rule(PATH_PRIORITY, match, Output(hop.port), table=Table.BASE), path_cookie(number))
        for hop in reversed(path.hops[1:])
    )


@dataclass(frozen=True)
class Direction:
    """One direction of a flow from one interface to another, with the number and the label of its path."""

    flow: FlowKey
    source: Interface
    target: Interface
    path: Path
    number: int
    label: str

    @property
    def actions(self) -> tuple[Output | SetDestination, ...]:
        """The actions on the frames at the switch where they enter."""
        if not self.path.hops:
            return (Output(self.target.port),)
        return (SetDestination(self.label), Output(self.path.hops[0].port))

    def rule(self, cookie: FlowCookie) -> SwitchRule:
        """Returns the rule of this direction.

        Besides the flow it matches the port and the destination MAC address, so that a host which sends under another
        host's IP address can neither receive nor misdirect that host's frames.
        """
        idle_s = SUBFLOW_IDLE_S if cookie.mptcp else SINGLE_IDLE_S
        actions = (*self.actions, EndWithFlow(FINISHED_IDLE_S))
        match: Match = (("in_port", self.source.port), ("eth_dst", self.target.mac), *flow_match(self.flow))
        rule = Rule(FLOW_PRIORITY, match, actions, idle_timeout_s=idle_s, table=Table.FLOWS)
        return SwitchRule(self.source.switch, rule, int(cookie))


def flow_match(flow: FlowKey) -> Match:
    """Matches the IP and TCP headers of a flow's frames."""
    ip = "ipv4" if flow.version == 4 else "ipv6"
    return (
        ("eth_type", ETH_IPV4 if flow.version == 4 else ETH_IPV6),
        ("ip_proto", IP_TCP),
        (f"{ip}_src", flow.source),
        (f"{ip}_dst", flow.destination),
        ("tcp_src", flow.source_port),
        ("tcp_dst", flow.destination_port),
    )


def flow_of_match(fields: Iterable[tuple[str, MatchValue]]) -> FlowKey | None:
    """Returns the flow that a rule matches, in the rule's direction; None if the rule does not match a single flow."""
    match = dict(fields)
    family = "ipv4" if "ipv4_src" in match else "ipv6"
    source, destination = match.get(f"{family}_src"), match.get(f"{family}_dst")
    source_port, destination_port = match.get("tcp_src"), match.get("tcp_dst")
    if not isinstance(source, str) or not isinstance(destination, str):
        return None
    if not isinstance(source_port, int) or not isinstance(destination_port, int):
        return None
    try:
        return FlowKey(str(ip_address(source)), str(ip_address(destination)), source_port, destination_port)
    except ValueError:
        return None


def group_rules(target: Interface, group: int) -> tuple[Rule, ...]:
    """Returns rules that hand the TCP which this switch's hosts send to an interface to a group."""
    matches = (
        (("eth_dst", target.mac), ("eth_type", version), ("ip_proto", IP_TCP)) for version in (ETH_IPV4, ETH_IPV6)
    )
    return tuple(Rule(GROUP_PRIORITY, match, ToGroup(group), table=Table.FLOWS) for match in matches)


def _watch_rules(network: Network, switch: Switch, labels: Labels) -> Iterator[Rule]:
    for port in network.next_hops.link_ports(switch.name):
        # Probes are accepted only from ports that lead to switches, so no host can pretend that there is a link.
        probe = (("in_port", port), ("eth_type", PROBE_ETHERTYPE))
        yield Rule(PROBE_PRIORITY, probe, ToController(HEADERS_BYTES))
        yield Rule(FROM_SWITCH_PRIORITY, (("in_port", port),), None, goto=Table.BASE)
    yield Rule(NO_LABEL_PRIORITY, (("eth_dst", labels.any),), None)
    for flags in (_SYN_ACK, *_ENDS):
        yield from _tcp_rules(COPY_PRIORITY, flags, ToController(HEADERS_BYTES), goto=Table.FLOWS)
    yield Rule(0, (), None, goto=Table.FLOWS)


def _interface_rules(network: Network, switch: Switch, labels: Labels, interfaces: InterfaceNumbers) -> Iterator[Rule]:
    for interface in network.interfaces:
        if interface.switch == switch.name:
            match = (("eth_dst", labels.to_interface(interfaces.number(interface.mac))),)
            actions = (SetDestination(interface.mac), Output(interface.port))
            yield Rule(INTERFACE_PRIORITY, match, actions, table=Table.BASE)


def _tcp_rules(
    priority: int,
    flags: tuple[int, int],
    action: ToController | None,
    *,
    port: int | None = None,
    duration_s: int = 0,
    goto: Table | None = None,
) -> tuple[Rule, ...]:
    """Returns rules for TCP segments with these flags, IPv4 and IPv6, from all ports or one, permanent or temporary."""
    in_port: Match = () if port is None else (("in_port", port),)
    rest: Match = (("ip_proto", IP_TCP), ("tcp_flags_nxm", flags))
    matches = ((*in_port, ("eth_type", version), *rest) for version in (ETH_IPV4, ETH_IPV6))
    return tuple(Rule(priority, match, action, duration_s, goto=goto) for match in matches)
