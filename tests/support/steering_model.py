"""Switches that apply the rules of steering as Open vSwitch does, and a small network of them."""

from collections.abc import Callable, Mapping

from controllers.network.description import Host, Interface, Link, Network, Switch, SwitchPort
from controllers.network.paths import Topology
from controllers.openflow.cookies import PREFIX, PREFIX_MASK
from controllers.openflow.labels import InterfaceNumbers, Labels, interface_numbers
from controllers.openflow.rules import COOKIE_PREFIX, StoredRule
from controllers.openflow.steering_rules import SwitchRule, base_rules, hold_rules
from controllers.packets.segments import ACK, SYN, FlowKey, Segment
from controllers.subflows.flows import Flows
from controllers.subflows.placements import Placements
from controllers.subflows.policies import policy_named
from tests.support.memory_channel import MemoryChannel

MP_CAPABLE = bytes([30, 4, 0x01, 0x01])
"""The MPTCP option of a client's SYN (RFC 8684, section 3.1)."""


class Switches:
    """All switches of a network, in memory; takes what a Writer would, and calls `confirm` with its callback."""

    def __init__(self, network: Network, labels: Labels, interfaces: InterfaceNumbers) -> None:
        self.confirm: Callable[[Callable[[bool], None]], None] = lambda done: done(True)
        self.channels = {switch.name: MemoryChannel(switch.dpid) for switch in network.switches}
        for switch in network.switches:
            for rule in (*base_rules(network, network, switch, labels, interfaces), *hold_rules()):
                self.channels[switch.name].add_rules([rule], COOKIE_PREFIX)

    def write(self, stages, done) -> None:
        for stage in stages:
            for it in stage:
                self.channels[it.switch].add_rules([it.rule], it.cookie)
        self.confirm(done)

    def delete(self, it: SwitchRule) -> None:
        self.channels[it.switch].delete_rule(it.rule)

    def stored(self) -> dict[str, list[StoredRule]]:
        """The rules that each switch would report as those of steering."""
        return {
            switch: [it for it in channel.rules.values() if it.cookie & PREFIX_MASK == PREFIX]
            for switch, channel in self.channels.items()
        }


def frame_of(flow: FlowKey, target: Interface, flags: int = ACK) -> dict:
    return {
        "eth_dst": target.mac,
        "eth_type": 0x0800,
        "ip_proto": 6,
        "ipv4_src": flow.source,
        "ipv4_dst": flow.destination,
        "tcp_src": flow.source_port,
        "tcp_dst": flow.destination_port,
        "tcp_flags_nxm": flags,
    }


def segment_of(flow: FlowKey, source: Interface, target: Interface, flags: int = SYN, options: bytes = b"") -> Segment:
    return Segment(source.mac, target.mac, flow, flags, 1, options, 0, 2)


def follow(
    network: Network, channels: Mapping[str, MemoryChannel], source: Interface, frame: dict
) -> tuple[list[SwitchPort], dict]:
    """The switch ports a frame leaves by until it leaves the last switch, and what it is then."""
    links = {end: other for link in network.links for end, other in ((link.a, link.b), (link.b, link.a))}
    at, crossed = source.plugged_into, []
    for _ in range(20):
        out, _, frame = channels[at.switch].handle(at.port, frame)
        frame.pop("in_port")
        if not out:
            return crossed, frame
        (port,) = out
        crossed.append(SwitchPort(at.switch, port))
        if crossed[-1] not in links:
            return crossed, frame
        at = links[crossed[-1]]
    raise AssertionError("a loop")


def made(network: Network, policy: str = "disjoint", switches: Switches | None = None) -> tuple[Switches, Flows]:
    labels, interfaces = Labels.for_hosts(it.mac for it in network.interfaces), interface_numbers(network)
    switches = switches or Switches(network, labels, interfaces)
    placements = Placements(switches, labels, interfaces)
    flows = Flows(Topology.from_network(network), policy_named(policy), placements)
    flows.hosts.on_network(network)
    return switches, flows


def interface_of(host: str, number: int, plane: int, at: str) -> Interface:
    port = 10 + 2 * number + plane
    return Interface(f"{host}-{plane}", f"02:00:00:00:0{number}:0{plane}", (f"10.{plane}.0.{number}",), at, port)


FABRIC = Network(
    switches=(Switch("e1", 1), Switch("e2", 2), Switch("c1", 11), Switch("c2", 12)),
    hosts=tuple(
        Host(name, tuple(interface_of(name, n, i, at) for i in (0, 1)))
        for n, (name, at) in enumerate((("h1", "e1"), ("h2", "e2"), ("h3", "e1")), start=1)
    ),
    links=tuple(
        Link(SwitchPort(edge, core), SwitchPort(f"c{core}", number))
        for number, edge in ((1, "e1"), (2, "e2"))
        for core in (1, 2)
    ),
)
H1, H2, H3 = (host.interfaces for host in FABRIC.hosts)
FLOW = FlowKey("10.0.0.1", "10.0.0.2", 1000, 80)


def begin(flows: Flows, flow=FLOW, source=H1[0], target=H2[0], options=b"", now_s=0.0) -> list:
    released = []
    flows.on_syn(segment_of(flow, source, target, options=options), source.plugged_into, released.append, now_s)
    return released
