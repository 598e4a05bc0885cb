"""Steering: gives each TCP flow, and each subflow of MPTCP, a path of its own.

It extends shortest-path forwarding, whose rules carry all that is not steered. The event handlers here only take
messages apart. Decisions are made in `subflows.flows` (paths), `forwarding.link_monitor` and `subflows.rerouting`
(links), and `resilience.state_recovery` (after a restart).
"""

import time
from collections import deque
from typing import Any

from controllers.forwarding.forwarding import SwitchConnection, announce, warn
from controllers.forwarding.link_aware import LinkAwareForwarding
from controllers.forwarding.link_monitor import LinkChange
from controllers.forwarding.link_probes import is_probe
from controllers.metrics import Metrics
from controllers.network.description import Network, Switch, SwitchPort
from controllers.openflow import messages, steering_rules
from controllers.openflow.cookies import PREFIX, PREFIX_MASK, SIBLING_BIT, RuleKind
from controllers.openflow.labels import Labels, interface_numbers
from controllers.openflow.library import (
    DEAD_DISPATCHER,
    MAIN_DISPATCHER,
    Datapath,
    EventTick,
    events,
    set_ev_cls,
    spawn,
)
from controllers.openflow.messages import StoredRule
from controllers.openflow.rules import COOKIE_PREFIX, Action, Output, Rule, output_ports
from controllers.openflow.steering_rules import Table
from controllers.openflow.writes import Writer
from controllers.packets.checksums import complete_tcp_checksum
from controllers.packets.segments import FIN, RST, SYN, Segment, parse_segment
from controllers.resilience.flood_guard import FloodGuard, MuteRules
from controllers.resilience.state_recovery import StateRecovery
from controllers.settings import Settings
from controllers.subflows.flows import Flows
from controllers.subflows.groups import Groups
from controllers.subflows.policies import policy_named
from controllers.subflows.rerouting import Rerouting
from controllers.view.rest import serve_pages, view_pages
from controllers.view.state import ControllerState
from flightpath.overrides import override

_LEASE_PERIOD_S = steering_rules.HOLD_LEASE_S / 3
_HOUSEKEEPING_PERIOD_S = 0.1
_AUDIT_PERIOD_S = 300.0
_MUTE_S = 5
_ENDS_PER_OPENING = 3
_OPENS_TOO_MANY = "opens connections faster than they can be steered"
_ENDS_TOO_MANY = "ends connections faster than they can be noted"
_MAX_WAITING = 256
_MIN_FRAME_BYTES = 14


class SteeringApp(LinkAwareForwarding):
    """Steering in a network that is described."""

    MISS_TABLE = Table.BASE
    SIBLING_BIT = SIBLING_BIT

    IS_LEARNING = False
    """Whether hosts and links are still to be discovered, which a subclass does with `use_network`."""

    def __init__(self, *args: Any, network: Network, settings: Settings, **kwargs: Any) -> None:
        super().__init__(*args, network=network, probes=settings.probes, **kwargs)
        self.settings = settings
        self._labels = Labels.for_hosts(it.mac for it in network.interfaces)
        self._interfaces = interface_numbers(network)
        self.writer = Writer(self.datapaths.get)
        policy = policy_named(self.settings.policy)
        self._is_in_switch = policy.in_switch
        self.flows = Flows(self.topology, policy, self.writer, knows_hosts=not self.IS_LEARNING)
        self.flows.use(network, self._labels, self._interfaces)
        self._groups = Groups(self.flows.placements, self.topology, self.writer, self.datapaths)
        expected = None if self.IS_LEARNING else [switch.name for switch in network.switches]
        self.recovery = StateRecovery(self.flows, self.topology, self.writer, expected)
        rate, burst, ends = settings.rate_per_s, settings.burst, _ENDS_PER_OPENING
        self._openings = self.guard(rate, burst, steering_rules.mute_openings, _OPENS_TOO_MANY)
        self._ends = self.guard(rate * ends, burst * ends, steering_rules.mute_ends, _ENDS_TOO_MANY)
        self.metrics = Metrics(lambda: self._state().metrics())
        self._rerouting = Rerouting(self.flows, self.metrics, announce)
        self._incoming_rules: dict[Datapath, list[StoredRule]] = {}
        self._waiting: deque[events.EventOFPPacketIn] = deque(maxlen=_MAX_WAITING)
        self._default_ports: dict[str, dict[str, int]] = {}

    @override
    def start(self) -> None:
        super().start()
        for url in serve_pages(view_pages(self._state, self.metrics.text), self.settings.rest):
            announce(f"view at {url}")
        self.every(lambda: _LEASE_PERIOD_S, "lease")
        self.every(lambda: _HOUSEKEEPING_PERIOD_S, "housekeeping")
        self.every(lambda: _AUDIT_PERIOD_S, "audit")

    @override
    def rules_for(self, switch: Switch) -> tuple[Rule, ...]:
        alive, learning = self.alive_network(), self.IS_LEARNING
        rules = steering_rules.base_rules(
            self._network, alive, switch, self._labels, self._interfaces, learning=learning
        )
        return (*rules, *steering_rules.copy_rules()) if self._is_in_switch else rules

    @override
    def cookie_for(self, rules: tuple[Rule, ...]) -> int:
        # While a network is being discovered its rules change often, so they all have the same cookie.
        return COOKIE_PREFIX if self.IS_LEARNING else super().cookie_for(rules)

    @override
    def use_network(self, network: Network, now_s: float) -> None:
        self.flows.use(network, self._labels, self._interfaces)
        super().use_network(network, now_s)

    @override
    def on_link_change(self, change: LinkChange) -> None:
        self._rerouting.on_link_change(change)

    @override
    def rewrite_rules(self) -> None:
        self._default_ports.clear()
        super().rewrite_rules()
        self._write_groups()

    @override
    def on_rules_sent(self, datapath: Datapath, connection: SwitchConnection) -> None:
        super().on_rules_sent(datapath, connection)
        self.flows.placements.forget_written(connection.switch.name)
        self._renew_lease(datapath, connection.switch)
        self._incoming_rules[datapath] = []
        messages.request_rules(datapath, *((0, 0) if self.IS_LEARNING else (PREFIX, PREFIX_MASK)))

    @set_ev_cls(events.EventOFPStateChange, DEAD_DISPATCHER)
    @override
    def on_disconnect(self, event: events.EventOFPStateChange) -> None:
        super().on_disconnect(event)
        self._incoming_rules.pop(event.datapath, None)
        self.writer.on_disconnect(event.datapath)

    @set_ev_cls(events.EventOFPBarrierReply, MAIN_DISPATCHER)
    @override
    def on_barrier_reply(self, event: events.EventOFPBarrierReply) -> None:
        super().on_barrier_reply(event)
        self.writer.on_barrier(event.msg.datapath, event.msg.xid)
        connection = self._connections.get(event.msg.datapath)
        if connection is not None and event.msg.xid == connection.barrier:
            self._write_groups()
            if all(it.is_ready for it in self._connections.values()):
                spawn(lambda: self.topology.graph)  # loads networkx, so that the first flow does not wait for it

    @override
    def on_other_error(self, message: Any) -> None:
        # If a switch refuses a flow's rule, only this flow loses its path.
        if not self.writer.on_error(message.datapath, message.xid):
            super().on_other_error(message)

    @set_ev_cls(events.EventOFPFlowStatsReply, MAIN_DISPATCHER)
    def on_rules(self, event: events.EventOFPFlowStatsReply) -> None:
        """Handles a switch's rules: those from before it connected, or the packet counts of an audit."""
        datapath = event.msg.datapath
        connection = self._connections.get(datapath)
        if connection is None:
            return
        if datapath not in self._incoming_rules:
            counts = [
                (flow, stored.packets)
                for stored in messages.parse_rules(event.msg)
                if (flow := steering_rules.flow_of_match(stored.rule.match)) is not None
            ]
            self.flows.note_packets(counts, time.monotonic())
            return
        self._incoming_rules[datapath] += messages.parse_rules(event.msg)
        if not event.msg.flags & datapath.ofproto.OFPMPF_REPLY_MORE:
            self.on_stored_rules(connection.switch.name, self._incoming_rules.pop(datapath), time.monotonic())

    def on_stored_rules(self, switch: str, rules: list[StoredRule], now_s: float) -> None:
        """Handles all rules that a switch had before it connected."""
        steering = [stored for stored in rules if RuleKind.of(stored.cookie) is not None]
        self.recovery.on_rules(switch, steering, self._labels, now_s)
        self._process_waiting()

    @set_ev_cls(events.EventOFPPacketIn, MAIN_DISPATCHER)
    @override
    def on_packet_in(self, event: events.EventOFPPacketIn) -> None:
        message = event.msg
        connection = self._connections.get(message.datapath)
        if connection is None or len(message.data) < _MIN_FRAME_BYTES or not messages.has_ingress(message):
            return
        if message.table_id == Table.BASE:
            self.metrics.packet_ins.labels("miss").inc()
            self.report_miss(connection, message)
        elif is_probe(message.data):
            self.metrics.packet_ins.labels("probe").inc()
            self.on_probe(connection.switch, message)
        elif not self.recovery.is_complete:
            self._waiting.append(event)
        else:
            self._on_watched(connection, message)

    def on_other_watched(self, connection: SwitchConnection, message: Any) -> None:
        """Hook for subclasses: a copy of a frame that is not a TCP segment."""

    @set_ev_cls(events.EventOFPFlowRemoved, MAIN_DISPATCHER)
    def on_flow_removed(self, event: events.EventOFPFlowRemoved) -> None:
        """Closes a flow whose rule a switch has evicted."""
        flow = steering_rules.flow_of_match(event.msg.match.items())
        if flow is not None and event.msg.reason == event.msg.datapath.ofproto.OFPRR_IDLE_TIMEOUT:
            self.flows.on_eviction(flow)

    @set_ev_cls(EventTick)
    @override
    def on_tick(self, event: EventTick) -> None:
        now_s = time.monotonic()
        match event.task:
            case "lease":
                for datapath, connection in self._connections.items():
                    self._renew_lease(datapath, connection.switch)
            case "housekeeping":
                self.flows.tick(now_s)
                self.recovery.tick(self._labels, now_s)
                self._process_waiting()
            case "audit":
                for datapath in self._connections.keys() - self._incoming_rules.keys():
                    messages.request_rules(datapath, PREFIX, PREFIX_MASK)
            case _:
                super().on_tick(event)

    def _on_watched(self, connection: SwitchConnection, message: Any) -> None:
        now_s = time.monotonic()
        at = ingress(connection, message)
        is_held = message.cookie == RuleKind.HOLD.cookie
        segment = parse_segment(message.data, message.total_len)
        if segment is None and not is_held:
            self.on_other_watched(connection, message)
            return
        is_end = segment is not None and segment.flags & (FIN | RST)
        is_admitted = self.admits(self._ends if is_end else self._openings, message.datapath, at, now_s)
        if is_held and is_admitted and segment is not None and segment.is_syn:
            self.metrics.packet_ins.labels("syn").inc()
            self.flows.on_syn(segment, at, lambda actions: self._release_steered(message, actions, now_s), now_s)
        elif is_held:
            self.release(message, None)
        elif is_admitted and segment is not None:
            self._on_copy(segment, at, now_s)

    def _on_copy(self, segment: Segment, at: SwitchPort, now_s: float) -> None:
        if segment.is_syn:
            kind, handle = "syn", self.flows.on_copied_syn
        elif segment.is_syn_ack:
            kind, handle = "syn_ack", self.flows.on_syn_ack
        elif not segment.flags & SYN:
            kind, handle = "end", self.flows.on_end
        else:
            return
        self.metrics.packet_ins.labels(kind).inc()
        handle(segment, at, now_s)

    def release(self, message: Any, actions: tuple[Action, ...] | None) -> None:
        """Sends on a held frame: with these actions, or by forwarding's rules (None)."""
        connection = self._connections.get(message.datapath)
        if connection is None:
            return
        if actions is None:
            port = self._default_port(connection.switch, message.data[:6].hex(":"))
            if port is None:
                self.release_to_unknown(message)
                return
            actions = (Output(port),)
        messages.send_frame(message.datapath, message.match["in_port"], complete_tcp_checksum(message.data), actions)

    def release_to_unknown(self, message: Any) -> None:
        """Hook for subclasses: a held frame to an unknown destination. It is dropped, like any other such frame."""

    def _release_steered(self, message: Any, actions: tuple[Action, ...] | None, began_s: float) -> None:
        self.release(message, actions)
        self.metrics.set_up_s.observe(time.monotonic() - began_s)

    def _process_waiting(self) -> None:
        while self.recovery.is_complete and self._waiting:
            message = self._waiting.popleft().msg
            if (connection := self._connections.get(message.datapath)) is not None:
                self._on_watched(connection, message)

    def _default_port(self, switch: Switch, mac: str) -> int | None:
        if switch.name not in self._default_ports:
            ports = output_ports(self.alive_network(), switch)
            self._default_ports[switch.name] = {interface.mac: port for interface, port in ports.items()}
        return self._default_ports[switch.name].get(mac)

    def admits(self, guard: FloodGuard, datapath: Datapath, at: SwitchPort, now_s: float) -> bool:
        """Whether a flood guard admits a frame from a port; if not, the port is muted for a while."""
        if guard.admits(at, now_s):
            return True
        rules = guard.mute(at, now_s)
        if rules:
            warn(f"{at} {guard.complaint}")
        for rule in rules:
            messages.add_rule(datapath, rule, self._connections[datapath].cookie)
        return False

    def _renew_lease(self, datapath: Datapath, switch: Switch) -> None:
        if self._is_in_switch or not any(it.switch == switch.name for it in self._network.interfaces):
            return
        for rule in steering_rules.hold_rules():
            messages.add_rule(datapath, rule, RuleKind.HOLD.cookie)

    def guard(self, rate_per_s: float, burst: int, mute_rules: MuteRules, complaint: str) -> FloodGuard:
        """A flood guard that shares the counters of the flows."""
        counters = self.flows.table.counters
        return FloodGuard(rate_per_s, burst, counters, mute_s=_MUTE_S, mute_rules=mute_rules, complaint=complaint)

    def _state(self) -> ControllerState:
        return ControllerState(
            policy=self.settings.policy,
            network=self._network,
            connected=self.datapaths.keys(),
            flows=self.flows,
            topology=self.topology,
            recovery=self.recovery,
            writer=self.writer,
            prober=self.prober,
            guards=(self._openings, self._ends),
            moves=self._rerouting.moves,
        )

    def _write_groups(self) -> None:
        if self._is_in_switch:
            self._groups.write(self._network, self._labels, self._interfaces)


def ingress(connection: SwitchConnection, message: Any) -> SwitchPort:
    """The port where a frame that a switch has sent to the controller entered."""
    return SwitchPort(connection.switch.name, message.match["in_port"])
