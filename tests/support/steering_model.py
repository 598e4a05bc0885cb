"""Switches that apply the rules of steering as Open vSwitch does, and a small network of them."""

from controllers.network.description import Host, Interface, Link, Network, Switch, SwitchPort
from controllers.network.paths import Topology
from controllers.openflow.cookies import PREFIX, PREFIX_MASK
from controllers.openflow.labels import InterfaceNumbers, Labels, interface_numbers
from controllers.openflow.rules import COOKIE_PREFIX, Output, SetDestination, StoredRule, ToController, rule_key
from controllers.openflow.steering_rules import SwitchRule, Table, base_rules, hold_rules
from controllers.packets.segments import ACK, SYN, FlowKey, Segment
from controllers.subflows.flows import Flows
from controllers.subflows.placements import Placements
from controllers.subflows.policies import policy_named

MP_CAPABLE = bytes([30, 4, 0x01, 0x01])
"""The MPTCP option of a client's SYN (RFC 8684, section 3.1)."""


class Switches:
    """The tables of all switches, in memory; takes what a Writer would, at once."""

    def __init__(self, network: Network, labels: Labels, interfaces: InterfaceNumbers) -> None:
        self.tables: dict[str, dict[tuple, SwitchRule]] = {}
        for switch in network.switches:
            rules = (*base_rules(network, network, switch, labels, interfaces), *hold_rules())
            self.tables[switch.name] = {}
            for rule in rules:
                self._put(SwitchRule(switch.name, rule, COOKIE_PREFIX))

    def write(self, stages, done) -> None:
        for stage in stages:
            for placed in stage:
                self._put(placed)
        done(True)

    def delete(self, placed: SwitchRule) -> None:
        self.tables[placed.switch].pop(rule_key(placed.rule), None)

    def stored(self) -> dict[str, list[StoredRule]]:
        """What the switches would tell of their rules with cookies of steering."""
        return {
            switch: [StoredRule(it.rule, it.cookie, 0) for it in rules.values() if it.cookie & PREFIX_MASK == PREFIX]
            for switch, rules in self.tables.items()
        }

    def handle(self, switch: str, port: int, frame: dict) -> tuple[list[int], bool, dict]:
        """What a switch does with a frame: ports it leaves by, whether the controller sees it, the frame then."""
        frame, out, seen = {**frame, "in_port": port}, [], False
        table = Table.WATCH
        while table is not None:
            fitting = [
                it.rule for it in self.tables[switch].values() if it.rule.table == table and fits(it.rule, frame)
            ]
            rule = max(fitting, key=lambda rule: rule.priority)
            for action in rule.actions:
                match action:
                    case SetDestination(mac):
                        frame["eth_dst"] = mac
                    case Output(number) if number != port:
                        out.append(number)
                    case ToController():
                        seen = True
            table = rule.goto
        return out, seen, frame

    def _put(self, placed: SwitchRule) -> None:
        self.tables[placed.switch][rule_key(placed.rule)] = placed


def fits(rule, frame: dict) -> bool:
    return all(field in frame and equal(field, frame[field], wanted) for field, wanted in rule.match)


def equal(field: str, value, wanted) -> bool:
    if not isinstance(wanted, tuple):
        return value == wanted
    number = (lambda mac: int(mac.replace(":", ""), 16)) if field.startswith("eth_") else int
    return number(value) & number(wanted[1]) == number(wanted[0]) & number(wanted[1])


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


def follow(network: Network, switches: Switches, source: Interface, frame: dict) -> tuple[list[SwitchPort], dict]:
    """The switch ports a frame leaves by until it leaves the last switch, and what it is then."""
    links = {end: other for link in network.links for end, other in ((link.a, link.b), (link.b, link.a))}
    at, crossed = source.plugged_into, []
    for _ in range(20):
        out, _, frame = switches.handle(at.switch, at.port, frame)
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
