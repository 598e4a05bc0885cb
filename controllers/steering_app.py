"""Steering's event handlers: without them nobody would tell the parts of it what switches say.

A layer over `controllers.forwarding`, whose rules carry everything that is not steered. Here events are taken apart;
what they mean is decided in `controllers.flows` (paths), `controllers.failure` (links), `controllers.restoring` (after
a restart). The network is given here; `controllers.steering` can find it out.
"""

import time
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from controllers import view
from controllers.checksums import complete_tcp_checksum
from controllers.cookies import PREFIX, PREFIX_MASK, SIBLING_BIT, Kind
from controllers.failure import Verdict
from controllers.flows import Flows
from controllers.forwarding import Forwarding, SwitchConnection, say, warn
from controllers.groups import Groups
from controllers.labels import Interfaces, Labels
from controllers.link_probes import is_probe
from controllers.link_watch import LinkWatch, edge_of, state_of, topology_of
from controllers.messages import (
    StoredRule,
    add_rule,
    ask_for_port_counters,
    ask_for_ports,
    ask_for_rules,
    delete_rule,
    is_eviction,
    is_last_part,
    is_removal,
    send_frame,
    stored_rules,
)
from controllers.metrics import Metrics
from controllers.network import Link, Network, Switch, SwitchPort
from controllers.openflow import (
    DEAD_DISPATCHER,
    MAIN_DISPATCHER,
    Datapath,
    EventOFPBarrierReply,
    EventOFPFlowRemoved,
    EventOFPFlowStatsReply,
    EventOFPPacketIn,
    EventOFPPortDescStatsReply,
    EventOFPPortStatsReply,
    EventOFPPortStatus,
    EventOFPStateChange,
    EventTick,
    set_ev_cls,
)
from controllers.paths import Edge
from controllers.policies import policy_named
from controllers.port_guard import PortGuard
from controllers.rest import json_page, metrics_page, serve_pages
from controllers.restoring import Takeover, flow_of_match, place_of
from controllers.rules import COOKIE_PREFIX, Action, Output, Rule, output_ports
from controllers.segments import SYN, FlowKey, parse_segment
from controllers.settings import Settings
from controllers.steering_rules import HOLD_LEASE_S, Table, base_rules, copy_rules, hold_rules, quiet_rules
from controllers.writes import Writer

_LEASE_PERIOD_S = HOLD_LEASE_S / 3
_HOUSEKEEPING_S = 0.1
_COUNTERS_PERIOD_S = 1.0
_AUDIT_PERIOD_S = 300.0
_QUIET_S = 5
_MANY_HELD = 256
_SHORTEST_FRAME = 14
_REMEMBERED_MOVES = 100


@dataclass(frozen=True)
class Move:
    """What a verdict on a link has moved.

    Attributes:
        link: its ends.
        cause: see `controllers.failure.Verdict`.
        moved, stayed: flows that got another path, and that did not (there is none).
        decided_s, done_s: the verdict, and the last switch's confirmation, on CLOCK_MONOTONIC.
    """

    link: str
    cause: str
    moved: int
    stayed: int
    decided_s: float
    done_s: float


class SteeringApp(Forwarding):
    """Gives each TCP flow, and each subflow of MPTCP, a path of its own.

    Args:
        network: what there is to steer in.
        settings: how.
        learning: whether the network is still to be found; `use_network` then tells what has been.
    """

    MISS_TABLE = Table.BASE
    SIBLING_BIT = SIBLING_BIT

    def __init__(self, *args: Any, network: Network, settings: Settings, learning: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, network=network, **kwargs)
        self.settings = settings
        self._labels = Labels.for_hosts(it.mac for it in network.interfaces)
        self._interfaces = Interfaces(network)
        self._by_name: dict[str, Datapath] = {}
        self.writer = Writer(self._by_name.get)
        self.topology = topology_of(network)
        policy = policy_named(self.settings.policy)
        self.flows = Flows(self.topology, policy, self.writer, knows_hosts=not learning)
        self._learning = learning
        self.flows.use(network, self._labels, self._interfaces)
        self._in_switch = self.flows.policy.in_switch
        self._groups = Groups(self.flows, self.topology, self.writer, self._by_name)
        self.watch = LinkWatch(self.topology, self.settings.probes, time.monotonic())
        expected = None if learning else [switch.name for switch in network.switches]
        self.takeover = Takeover(self.flows, self.topology, self.writer, expected)
        self.guard = PortGuard(self.settings.syn_rate_per_s, self.settings.syn_burst, self.flows.table.counters)
        self.metrics = Metrics(lambda: view.readings(self))
        self.moves: deque[Move] = deque(maxlen=_REMEMBERED_MOVES)
        self._reading: dict[Datapath, list[StoredRule]] = {}
        self._held: deque[EventOFPPacketIn] = deque(maxlen=_MANY_HELD)
        self._displaced: set[FlowKey] = set()
        self._default_ports: dict[str, dict[str, int]] = {}

    def start(self) -> None:
        """os-ken's hook."""
        super().start()
        pages = {
            "/connections": lambda: json_page(view.connections(self)),
            "/topology": lambda: json_page(view.topology(self)),
            "/health": lambda: json_page(health := view.health(self), available=health["ready"]),
            "/metrics": lambda: metrics_page(self.metrics.text()),
        }
        for place in serve_pages(pages, self.settings.rest):
            say(f"view at {place}")
        self.every(lambda: _LEASE_PERIOD_S, "lease")
        self.every(lambda: _HOUSEKEEPING_S, "housekeeping")
        self.every(lambda: _COUNTERS_PERIOD_S, "counters")
        self.every(lambda: _AUDIT_PERIOD_S, "audit")
        self.every(lambda: self.watch.period_s, "probes")

    def rules_for(self, switch: Switch) -> tuple[Rule, ...]:
        """Forwarding's rules over the links that carry frames, and what makes switches ask for paths."""
        alive, learning = self.alive_network(), self._learning
        rules = base_rules(self._network, alive, switch, self._labels, self._interfaces, learning=learning)
        return (*rules, *copy_rules()) if self._in_switch else rules

    def cookie_for(self, rules: tuple[Rule, ...]) -> int:
        """While a network is being found its rules change again and again: they all have one cookie."""
        return COOKIE_PREFIX if self._learning else super().cookie_for(rules)

    def use_network(self, network: Network, now_s: float) -> None:
        """Goes over to another network; what is in both stays as it is."""
        self._network = network
        described = {edge_of(link): link for link in network.links}
        known = {edge for *_, edge in self.topology.graph.edges(keys=True)}
        for edge in known - described.keys():
            self.topology.remove(edge)
        for edge in described.keys() - known:
            self.topology.update(state_of(described[edge]))
        self.watch.refresh(now_s)
        self.flows.use(network, self._labels, self._interfaces)
        self._rewrite_base()
        self._write_groups()

    @property
    def datapaths(self) -> Mapping[str, Datapath]:
        """The connected switches, by name."""
        return self._by_name

    @property
    def network(self) -> Network:
        """What there is, whether it works or not."""
        return self._network

    @property
    def connected(self) -> Collection[str]:
        """Names of the switches that are connected."""
        return self._by_name.keys()

    def alive_network(self) -> Network:
        """The network without the links that are down."""
        return replace(self._network, links=tuple(link for link in self._network.links if self._is_up(link)))

    def greet(self, datapath: Datapath, connection: SwitchConnection) -> None:
        """Holds SYNs from now on, and asks the switch what it knows from before."""
        self._by_name[connection.switch.name] = datapath
        self.flows.forget_written(connection.switch.name)
        self._renew_lease(datapath, connection.switch)
        ask_for_ports(datapath)
        self._reading[datapath] = []
        ask_for_rules(datapath, *((0, 0) if self._learning else (PREFIX, PREFIX_MASK)))

    @set_ev_cls(EventOFPStateChange, DEAD_DISPATCHER)
    def on_disconnect(self, event: EventOFPStateChange) -> None:
        """What the switch was to confirm has failed; what it has, it keeps."""
        connection = self._connections.get(event.datapath)
        super().on_disconnect(event)
        self._reading.pop(event.datapath, None)
        if connection is not None and self._by_name.get(connection.switch.name) is event.datapath:
            del self._by_name[connection.switch.name]
        self.writer.on_disconnect(event.datapath)

    @set_ev_cls(EventOFPBarrierReply, MAIN_DISPATCHER)
    def on_done(self, event: EventOFPBarrierReply) -> None:
        """A switch has done what it was told."""
        super().on_done(event)
        self.writer.on_barrier(event.msg.datapath, event.msg.xid)
        connection = self._connections.get(event.msg.datapath)
        if connection is not None and event.msg.xid == connection.barrier:
            self._write_groups()

    def other_error(self, message: Any) -> None:
        """A flow's rule that a switch refuses costs this flow its path, and nobody else anything."""
        if not self.writer.on_error(message.datapath, message.xid):
            super().other_error(message)

    @set_ev_cls(EventOFPFlowStatsReply, MAIN_DISPATCHER)
    def on_rules(self, event: EventOFPFlowStatsReply) -> None:
        """A switch tells of flows from before this process began, or what their rules have counted since."""
        datapath = event.msg.datapath
        connection = self._connections.get(datapath)
        if connection is None:
            return
        if datapath not in self._reading:
            counted = ((flow_of_match(rule.rule.match), rule.packets) for rule in stored_rules(event.msg))
            self.flows.note_packets([it for it in counted if it[0] is not None], time.monotonic())
            return
        self._reading[datapath] += stored_rules(event.msg)
        if is_last_part(event.msg):
            self.on_stored(connection.switch.name, self._reading.pop(datapath), time.monotonic())

    def on_stored(self, switch: str, rules: list[StoredRule], now_s: float) -> None:
        """A switch has told all its rules."""
        steered = [rule for rule in rules if Kind.of(rule.cookie) is not None]
        self.takeover.answered(switch, steered, self._labels, now_s)
        self._release_held()

    @set_ev_cls(EventOFPPacketIn, MAIN_DISPATCHER)
    def on_miss(self, event: EventOFPPacketIn) -> None:
        """A frame that a switch has sent: a probe, a segment that is watched, or one without a rule."""
        message = event.msg
        connection = self._connections.get(message.datapath)
        if connection is None or len(message.data) < _SHORTEST_FRAME:
            return
        if message.table_id == Table.BASE:
            self.metrics.packet_ins.labels("miss").inc()
            self.on_missed(connection, message)
        elif is_probe(message.data):
            self.on_probe(connection.switch, message)
        elif not self.takeover.complete:
            self._held.append(event)
        else:
            self._on_watched(connection, message)

    def on_missed(self, connection: SwitchConnection, message: Any) -> None:
        """A frame without a rule."""
        self.report_miss(connection, message)

    def on_other_watched(self, connection: SwitchConnection, message: Any) -> None:
        """A copy of a frame that is no TCP segment."""

    @set_ev_cls(EventOFPFlowRemoved, MAIN_DISPATCHER)
    def on_removed(self, event: EventOFPFlowRemoved) -> None:
        """A rule that nothing has matched for long ends its flow here too."""
        if is_eviction(event.msg) and (flow := flow_of_match(event.msg.match.items())) is not None:
            self.flows.evicted(flow)

    @set_ev_cls(EventOFPPortDescStatsReply, MAIN_DISPATCHER)
    def on_ports(self, event: EventOFPPortDescStatsReply) -> None:
        """The ports of a switch that has connected."""
        for port in event.msg.body:
            self.on_port(event.msg.datapath, port, removed=False)

    @set_ev_cls(EventOFPPortStatus, MAIN_DISPATCHER)
    def on_port_status(self, event: EventOFPPortStatus) -> None:
        """A cable has been cut or mended."""
        self.on_port(event.msg.datapath, event.msg.desc, removed=is_removal(event.msg))

    @set_ev_cls(EventOFPPortStatsReply, MAIN_DISPATCHER)
    def on_counters(self, event: EventOFPPortStatsReply) -> None:
        """What ports have carried: load, and a sign of life."""
        connection = self._connections.get(event.msg.datapath)
        if connection is not None:
            self._judge(self.watch.on_counters(connection.switch.name, event.msg, time.monotonic()))

    @set_ev_cls(EventTick)
    def on_tick(self, event: EventTick) -> None:
        """Regular work."""
        now_s = time.monotonic()
        match event.what:
            case "lease":
                for datapath, connection in self._connections.items():
                    self._renew_lease(datapath, connection.switch)
            case "housekeeping":
                self.flows.tick(now_s)
                self.takeover.tick(self._labels, now_s)
                self._release_held()
            case "counters":
                for datapath in self._by_name.values():
                    ask_for_port_counters(datapath)
            case "audit":
                for datapath in self._connections.keys() - self._reading.keys():
                    ask_for_rules(datapath, PREFIX, PREFIX_MASK)
            case "probes":
                self.watch.probe(self._by_name, self.probe_ports(), now_s)

    def probe_ports(self) -> dict[str, list[int]]:
        """Per switch, the ports that probes are sent out of."""
        return self.watch.link_ports()

    def _on_watched(self, connection: SwitchConnection, message: Any) -> None:
        began_s = time.monotonic()
        port = message.match["in_port"]
        ingress = SwitchPort(connection.switch.name, port)
        segment = parse_segment(message.data, message.total_len)
        if segment is None and message.cookie != Kind.HOLD.cookie:
            self.on_other_watched(connection, message)
        elif not self.guard.admits(ingress, began_s):
            self._quieten(message.datapath, connection, ingress, began_s)
        elif segment is not None and segment.is_syn:
            self.metrics.packet_ins.labels("syn").inc()
            if message.cookie != Kind.HOLD.cookie:
                self.flows.watched_syn(segment, ingress, began_s)
                return
            self.flows.syn(segment, ingress, lambda actions: self._release_steered(message, actions, began_s), began_s)
            return
        elif segment is not None and segment.is_syn_ack:
            self.metrics.packet_ins.labels("syn_ack").inc()
            self.flows.syn_ack(segment, ingress, began_s)
            return
        elif segment is not None and not segment.flags & SYN:
            self.metrics.packet_ins.labels("end").inc()
            self.flows.ending(segment, ingress, began_s)
            return
        if message.cookie == Kind.HOLD.cookie:
            self.release(message, None)

    def release(self, message: Any, actions: tuple[Action, ...] | None) -> None:
        """Sends a frame that was held on, by forwarding's rules if no actions are given."""
        connection = self._connections.get(message.datapath)
        if connection is None:
            return
        if actions is None:
            port = self._default_port(connection.switch, message.data[:6].hex(":"))
            if port is None:
                self.release_to_unknown(message)
                return
            actions = (Output(port),)
        send_frame(message.datapath, message.match["in_port"], complete_tcp_checksum(message.data), actions)

    def release_to_unknown(self, message: Any) -> None:
        """A frame that was held goes to nobody that is known: as any other such frame, it is dropped."""

    def _release_steered(self, message: Any, actions: tuple[Action, ...] | None, began_s: float) -> None:
        self.release(message, actions)
        self.metrics.set_up_s.observe(time.monotonic() - began_s)

    def _release_held(self) -> None:
        while self.takeover.complete and self._held:
            message = self._held.popleft().msg
            if (connection := self._connections.get(message.datapath)) is not None:
                self._on_watched(connection, message)

    def _default_port(self, switch: Switch, mac: str) -> int | None:
        if switch.name not in self._default_ports:
            ports = output_ports(self.alive_network(), switch)
            self._default_ports[switch.name] = {interface.mac: port for interface, port in ports.items()}
        return self._default_ports[switch.name].get(mac)

    def _quieten(self, datapath: Datapath, connection: SwitchConnection, ingress: SwitchPort, now_s: float) -> None:
        """A port that floods is not heard for a while; its flows take the shortest path."""
        if self.guard.quieten(ingress, now_s, _QUIET_S):
            warn(f"{ingress} opens or ends connections too fast: for {_QUIET_S} s they are not steered")
            for rule in quiet_rules(ingress.port, _QUIET_S):
                add_rule(datapath, rule, connection.cookie)

    def _renew_lease(self, datapath: Datapath, switch: Switch) -> None:
        if self._in_switch or not any(it.switch == switch.name for it in self._network.interfaces):
            return
        for rule in hold_rules():
            add_rule(datapath, rule, Kind.HOLD.cookie)

    def on_probe(self, switch: Switch, message: Any) -> None:
        """A probe has come in, or what looks like one."""
        self.metrics.packet_ins.labels("probe").inc()
        probe = self.watch.read(message.data)
        sender = self._network.switch_with_dpid(probe.dpid) if probe else None
        if sender is not None:
            ends = (sender.name, probe.port), (switch.name, message.match["in_port"])
            self._judge(self.watch.on_probe(*ends, time.monotonic()))

    def on_port(self, datapath: Datapath, port: Any, *, removed: bool) -> None:
        """A switch has described a port."""
        connection = self._connections.get(datapath)
        if connection is not None:
            self._judge(self.watch.on_port(connection.switch.name, port, time.monotonic(), removed=removed))

    def _judge(self, verdicts: Iterable[Verdict]) -> None:
        """Moves flows off links that are down, and back when they are up again."""
        for verdict in verdicts:
            self._move(verdict)
            self._rewrite_base()
            self._write_groups()

    def _move(self, verdict: Verdict) -> None:
        decided_s = time.monotonic()
        if verdict.up:
            flows = [flow for flow in self._displaced if flow in self.flows.placements]
            flows += [flow for flow in self.flows.flows_that_share() if flow not in self._displaced]
            self._displaced.clear()
        else:
            flows = list(self.flows.flows_on(verdict.edge))
            self._displaced.update(flows)
        moved, stayed = 0, 0

        def done(_ok: bool) -> None:
            done_s = time.monotonic()
            self.moves.append(Move(name_of(verdict.edge), verdict.cause, moved, stayed, decided_s, done_s))
            self.metrics.move_s.observe(done_s - decided_s)

        plan = self.flows.plan_move(flows)
        moved, stayed = plan.moved, plan.stayed
        self.metrics.reroutes.labels(verdict.cause).inc()
        self.metrics.moved_flows.inc(moved)
        state = "up" if verdict.up else "down"
        say(f"link {name_of(verdict.edge)} {state} ({verdict.cause}): {moved} flows moved, {stayed} stay")
        self.flows.write_move(plan, done)

    def _write_groups(self) -> None:
        if self._in_switch:
            self._groups.write(self._network, self._labels, self._interfaces, lambda _ok: None)

    def _rewrite_base(self) -> None:
        """Gives switches the forwarding rules that have changed."""
        self._default_ports.clear()
        for datapath, connection in self._connections.items():
            before, now = connection.rules, self.rules_for(connection.switch)
            places = {place_of(rule) for rule in now}
            for rule in set(now) - set(before):
                add_rule(datapath, rule, connection.cookie)
            for rule in before:
                if place_of(rule) not in places:
                    delete_rule(datapath, rule)
            connection.rules = now

    def _is_up(self, link: Link) -> bool:
        return self.watch.monitor.is_up(edge_of(link))


def name_of(edge: Edge) -> str:
    """A link's ends, for people."""
    return f"{edge.switch}:{edge.port}-{edge.other_switch}:{edge.other_port}"
