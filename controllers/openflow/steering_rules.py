"""The rules of steering as plain data: without it which table does what would be known to the event handlers only.

A frame goes through three tables of a switch:

    0 watch   what comes from another switch goes on to table 2 at once. Of what comes from hosts, SYNs are held and
              sent to the controller, and SYN/ACK, FIN and RST are copied to it on their way.
    1 flows   TCP flows that have a path get its label here, where they enter. Nothing else is ever classified.
    2 base    frames with a label follow it; all others take forwarding's shortest paths.

A switch between the edges never looks further than table 2 and a destination address. Open vSwitch then caches one
decision per path there, not per flow.

Lifetimes:

- SYNs are held by a lease of `HOLD_LEASE_S`, which the controller renews. When it is gone, new connections soon take
  the shortest path instead of waiting for nobody; those that have a path keep it. (A SYN that is lost three times is
  sent without its MPTCP option by Linux, 1 s after the other: the lease must be shorter than that.)
- The rules of a flow go when the flow has ended (FIN both ways, or RST) or never begun. Where no controller sees the
  end the switch does: after a FIN or RST a rule goes when nothing has matched it for `FINISHED_IDLE_S`, and a flow that
  has lost one of its two rules like that is not taken up by the next controller.
- An idle subflow of MPTCP, a backup above all, must still have its path when it is needed, which may be after hours:
  the switch by itself evicts it only when not even TCP's keepalives (7200 s, tcp(7)) have been seen for long. The
  controller, which knows what belongs together, gives a connection up when nothing at all has been seen of it for
  `IDLE_CONNECTION_S`: that is how what ended without a word goes. A single-path flow that goes on after
  `SINGLE_IDLE_S` takes the shortest path, which harms nobody.
- Path rules are few and stay as long as the controller knows the path.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from controllers.network.description import Interface, Network, Switch
from controllers.network.paths import Path
from controllers.openflow.cookies import FlowCookie, path_cookie
from controllers.openflow.labels import Interfaces, Labels
from controllers.openflow.rules import (
    ETH_ARP,
    ETH_IPV6,
    HOLD_PRIORITY,
    IP_ICMPV6,
    MISS_BYTES,
    WHOLE_FRAME,
    EndWithFlow,
    MatchValue,
    Output,
    Rule,
    SetDestination,
    ToController,
    ToGroup,
    forwarding_rules,
)
from controllers.packets.segments import FlowKey


class Table(IntEnum):
    """The tables of each switch, by number."""

    WATCH = 0
    FLOWS = 1
    BASE = 2


PROBE_PRIORITY = 110
FROM_SWITCH_PRIORITY = 100
NO_LABEL_PRIORITY = 90
QUIET_PRIORITY = 80
HOLD_SYN_PRIORITY = 70
COPY_PRIORITY = 60
NEIGHBOUR_PRIORITY = 55
INTERFACE_PRIORITY = 70
PATH_PRIORITY = 60
FLOW_PRIORITY = 50
GROUP_PRIORITY = 20

HOLD_LEASE_S = 2
SUBFLOW_IDLE_S = 4 * 3600
SINGLE_IDLE_S = 900
IDLE_CONNECTION_S = 3600.0
FINISHED_IDLE_S = 20

PROBE_ETHERTYPE = 0x88B5
"""For local experiments (IEEE 802): frames that the controller sends over links to see whether they arrive."""

HEADERS_BYTES = 256
"""Enough of a frame to read its TCP options: 14 + 40 (IPv6) + 60, and room for extension headers."""

ETH_IPV4 = 0x0800
IP_TCP = 6

Match = tuple[tuple[str, MatchValue], ...]

_SYN_ONLY = (0x02, 0x12)
_SYN_ACK = (0x12, 0x12)
_ENDS = ((0x01, 0x01), (0x04, 0x04))  # FIN, RST
_NEIGHBOURS: tuple[Match, ...] = (
    (("eth_type", ETH_ARP),),
    *((("eth_type", ETH_IPV6), ("ip_proto", IP_ICMPV6), ("icmpv6_type", kind)) for kind in (135, 136)),
)


@dataclass(frozen=True)
class Placed:
    """A rule, where it goes, and its cookie."""

    switch: str
    rule: Rule
    cookie: int


def base_rules(
    network: Network,
    alive: Network,
    switch: Switch,
    labels: Labels,
    interfaces: Interfaces,
    *,
    learning: bool = False,
) -> tuple[Rule, ...]:
    """All that a switch has before the first flow comes.

    Args:
        network: as far as it is known.
        alive: the same without the links that are down, over which nothing is forwarded.
        switch: whose rules.
        labels, interfaces: the labels in use, and the interfaces' numbers in them.
        learning: whether hosts and links are still to be found: copies of what tells of them go to the controller.
    """
    return (
        *_watch_rules(network, switch, labels),
        *(_learning_rules() if learning else ()),
        Rule(0, (), None, table=Table.FLOWS, goto=Table.BASE),
        *_interface_rules(network, switch, labels, interfaces),
        # Who cannot be found otherwise is looked for with the frame itself.
        *forwarding_rules(alive, switch, table=Table.BASE, miss_bytes=WHOLE_FRAME if learning else MISS_BYTES),
    )


def hold_rules() -> tuple[Rule, ...]:
    """Hold SYNs for the controller; to be sent again within `HOLD_LEASE_S`."""
    return tuple(
        Rule(HOLD_SYN_PRIORITY, _tcp(version, _SYN_ONLY), ToController(WHOLE_FRAME), hard_timeout_s=HOLD_LEASE_S)
        for version in (4, 6)
    )


def copy_rules() -> tuple[Rule, ...]:
    """Copy SYNs to the controller instead, where the switch itself chooses paths."""
    return tuple(
        Rule(COPY_PRIORITY, _tcp(version, _SYN_ONLY), ToController(HEADERS_BYTES), goto=Table.FLOWS)
        for version in (4, 6)
    )


def quiet_openings(port: int, hold_s: int) -> tuple[Rule, ...]:
    """For a while the controller sees no SYN and SYN/ACK of one port; what it sends takes its usual way.

    Its SYNs pass by table 1, so that a flood of them on random ports does not fill the switch's cache.
    """
    return (*_quiet(port, _SYN_ACK, hold_s, Table.FLOWS), *_quiet(port, _SYN_ONLY, hold_s, Table.BASE))


def quiet_ends(port: int, hold_s: int) -> tuple[Rule, ...]:
    """For a while the controller sees no FIN and RST of one port: the switch alone notes what ends meanwhile.

    A program that is killed while much is on its way to it makes its host answer each segment with an RST.
    """
    return tuple(rule for flags in _ENDS for rule in _quiet(port, flags, hold_s, Table.FLOWS))


def deaf_rules(port: int, hold_s: int) -> tuple[Rule, ...]:
    """For a while the controller does not hear whom a port looks for, nor what it sends to somebody unknown."""
    neighbours = (
        Rule(QUIET_PRIORITY, (("in_port", port), *match), None, hold_s, goto=Table.FLOWS) for match in _NEIGHBOURS
    )
    return (*neighbours, Rule(HOLD_PRIORITY, (("in_port", port),), None, hold_s, table=Table.BASE))


def path_rules(path: Path, number: int, labels: Labels) -> tuple[Placed, ...]:
    """The rules of a path, from its end to its beginning; none for its first switch, where the flows' own rules are.

    None for its last one either, which looks at the label's interface.
    """
    match = (("eth_dst", labels.on_path(number)),)
    return tuple(
        Placed(hop.switch, Rule(PATH_PRIORITY, match, Output(hop.port), table=Table.BASE), path_cookie(number))
        for hop in reversed(path.hops[1:])
    )


@dataclass(frozen=True)
class Direction:
    """One direction of a flow.

    Args:
        flow: addresses and ports, as these frames carry them.
        source, target: the interfaces that the frames come from and go to.
        path: between their switches.
        label: that the frames carry on it.
    """

    flow: FlowKey
    source: Interface
    target: Interface
    path: Path
    label: str

    @property
    def actions(self) -> tuple[Output | SetDestination, ...]:
        """What the switch where it enters does with its frames."""
        if not self.path.hops:
            return (Output(self.target.port),)
        return (SetDestination(self.label), Output(self.path.hops[0].port))

    def placed(self, cookie: FlowCookie) -> Placed:
        """Its one rule.

        Besides the flow it matches the port and the address where the frames are to go, so that whoever sends under
        another's IP address neither gets nor gives away anything of theirs.
        """
        idle_s = SUBFLOW_IDLE_S if cookie.mptcp else SINGLE_IDLE_S
        actions = (*self.actions, EndWithFlow(FINISHED_IDLE_S))
        match = (("in_port", self.source.port), ("eth_dst", self.target.mac), *flow_match(self.flow))
        rule = Rule(FLOW_PRIORITY, match, actions, idle_timeout_s=idle_s, table=Table.FLOWS)
        return Placed(self.source.switch, rule, int(cookie))


def flow_match(flow: FlowKey) -> Match:
    """What a frame of the flow carries in its IP and TCP headers."""
    ip = "ipv4" if flow.version == 4 else "ipv6"
    return (
        ("eth_type", ETH_IPV4 if flow.version == 4 else ETH_IPV6),
        ("ip_proto", IP_TCP),
        (f"{ip}_src", flow.source),
        (f"{ip}_dst", flow.destination),
        ("tcp_src", flow.source_port),
        ("tcp_dst", flow.destination_port),
    )


def group_buckets(paths: Sequence[tuple[Path, str]]) -> list[tuple[SetDestination | Output, ...]]:
    """What each bucket of a select group does, for paths with their labels."""
    return [(SetDestination(label), Output(path.hops[0].port)) for path, label in paths if path.hops]


def group_rules(target: Interface, group: int) -> tuple[Rule, ...]:
    """Hand all TCP that hosts of this switch send to an interface to a group."""
    return tuple(
        Rule(
            GROUP_PRIORITY,
            (("eth_dst", target.mac), ("eth_type", eth_type), ("ip_proto", IP_TCP)),
            ToGroup(group),
            table=Table.FLOWS,
        )
        for eth_type in (ETH_IPV4, ETH_IPV6)
    )


def _watch_rules(network: Network, switch: Switch, labels: Labels) -> Iterator[Rule]:
    for port in _link_ports(network, switch):
        # A host's frames of this kind are none of the controller's: nobody can make it believe in a link.
        probe = (("in_port", port), ("eth_type", PROBE_ETHERTYPE))
        yield Rule(PROBE_PRIORITY, probe, ToController(HEADERS_BYTES))
        yield Rule(FROM_SWITCH_PRIORITY, (("in_port", port),), None, goto=Table.BASE)
    yield Rule(NO_LABEL_PRIORITY, (("eth_dst", labels.any),), None)
    for version in (4, 6):
        for flags in (_SYN_ACK, *_ENDS):
            yield Rule(COPY_PRIORITY, _tcp(version, flags), ToController(HEADERS_BYTES), goto=Table.FLOWS)
    yield Rule(0, (), None, goto=Table.FLOWS)


def _learning_rules() -> Iterator[Rule]:
    for match in _NEIGHBOURS:
        yield Rule(NEIGHBOUR_PRIORITY, match, ToController(HEADERS_BYTES), goto=Table.FLOWS)
    yield Rule(PROBE_PRIORITY, (("eth_type", PROBE_ETHERTYPE),), ToController(HEADERS_BYTES))


def _interface_rules(network: Network, switch: Switch, labels: Labels, interfaces: Interfaces) -> Iterator[Rule]:
    for interface in network.interfaces:
        if interface.switch == switch.name:
            match = (("eth_dst", labels.to_interface(interfaces.number(interface.mac))),)
            actions = (SetDestination(interface.mac), Output(interface.port))
            yield Rule(INTERFACE_PRIORITY, match, actions, table=Table.BASE)


def _link_ports(network: Network, switch: Switch) -> Iterable[int]:
    ends = (end for link in network.links for end in (link.a, link.b))
    return sorted(end.port for end in ends if end.switch == switch.name)


def _quiet(port: int, flags: tuple[int, int], hold_s: int, goto: Table) -> tuple[Rule, ...]:
    return tuple(
        Rule(QUIET_PRIORITY, (("in_port", port), *_tcp(version, flags)), None, hold_s, goto=goto) for version in (4, 6)
    )


def _tcp(version: int, flags: tuple[int, int]) -> Match:
    return (
        ("eth_type", ETH_IPV4 if version == 4 else ETH_IPV6),
        ("ip_proto", IP_TCP),
        ("tcp_flags_nxm", flags),
    )
