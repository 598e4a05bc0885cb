"""Steering's event handlers: without them nobody would tell the parts of it what switches say.

A layer over forwarding, whose rules carry everything that is not steered. Here events are taken apart; what they mean
is decided in `flows` (paths), `link_monitor` and `rerouting` (links), and
`state_recovery` (after a restart). The network is given here; `controllers.steering` can find it out.
"""

import time
from collections import deque
from typing import Any

from controllers.discovery.port_guard import PortGuard, QuietRules
from controllers.discovery.state_recovery import Takeover, flow_of_match
from controllers.forwarding.forwarding import SwitchConnection, say, warn
from controllers.forwarding.link_aware import LinkAwareForwarding
from controllers.forwarding.link_monitor import Verdict
from controllers.forwarding.link_probes import is_probe
from controllers.metrics import Metrics
from controllers.network.description import Network, Switch, SwitchPort
from controllers.openflow.cookies import PREFIX, PREFIX_MASK, SIBLING_BIT, Kind
from controllers.openflow.labels import Interfaces, Labels
from controllers.openflow.library import (
    DEAD_DISPATCHER,
    MAIN_DISPATCHER,
    Datapath,
    EventOFPBarrierReply,
    EventOFPFlowRemoved,
    EventOFPFlowStatsReply,
    EventOFPPacketIn,
    EventOFPStateChange,
    EventTick,
    set_ev_cls,
)
from controllers.openflow.messages import (
    StoredRule,
    add_rule,
    ask_for_rules,
    is_eviction,
    is_last_part,
    send_frame,
    stored_rules,
)
from controllers.openflow.rules import COOKIE_PREFIX, Action, Output, Rule, output_ports
from controllers.openflow.steering_rules import (
    HOLD_LEASE_S,
    Table,
    base_rules,
    copy_rules,
    hold_rules,
    quiet_ends,
    quiet_openings,
)
from controllers.openflow.writes import Writer
from controllers.packets.checksums import complete_tcp_checksum
from controllers.packets.segments import FIN, RST, SYN, Segment, parse_segment
from controllers.settings import Settings
from controllers.subflows.flows import Flows
from controllers.subflows.groups import Groups
from controllers.subflows.policies import policy_named
from controllers.subflows.rerouting import Rerouting
from controllers.view import view
from controllers.view.rest import json_page, metrics_page, serve_pages

_LEASE_PERIOD_S = HOLD_LEASE_S / 3
_HOUSEKEEPING_S = 0.1
_AUDIT_PERIOD_S = 300.0
_QUIET_S = 5
_ENDS_PER_OPENING = 3
_MANY_HELD = 256
_SHORTEST_FRAME = 14


class SteeringApp(LinkAwareForwarding):
    """Gives each TCP flow, and each subflow of MPTCP, a path of its own.

    Args:
        network: what there is to steer in.
        settings: how.
        learning: whether the network is still to be found; `use_network` then tells what has been.
    """

    MISS_TABLE = Table.BASE
    SIBLING_BIT = SIBLING_BIT

    def __init__(self, *args: Any, network: Network, settings: Settings, learning: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, network=network, probes=settings.probes, **kwargs)
        self.settings = settings
        self._labels = Labels.for_hosts(it.mac for it in network.interfaces)
        self._interfaces = Interfaces(network)
        self.writer = Writer(self.datapaths.get)
        policy = policy_named(self.settings.policy)
        self.flows = Flows(self.topology, policy, self.writer, knows_hosts=not learning)
        self._learning = learning
        self.flows.use(network, self._labels, self._interfaces)
        self._in_switch = self.flows.policy.in_switch
        self._groups = Groups(self.flows.placements, self.topology, self.writer, self.datapaths)
        expected = None if learning else [switch.name for switch in network.switches]
        self.takeover = Takeover(self.flows, self.topology, self.writer, expected)
        self._openings = self._guard(1, quiet_openings, "opens connections too fast to steer them")
        self._ends = self._guard(_ENDS_PER_OPENING, quiet_ends, "ends connections too fast to note them all")
        self.metrics = Metrics(lambda: view.readings(self._known()))
        self._rerouting = Rerouting(self.flows, self.metrics, say)
        self._reading: dict[Datapath, list[StoredRule]] = {}
        self._held: deque[EventOFPPacketIn] = deque(maxlen=_MANY_HELD)
        self._default_ports: dict[str, dict[str, int]] = {}

    def start(self) -> None:
        """os-ken's hook."""
        super().start()
        pages = {
            "/connections": lambda: json_page(view.connections(self._known())),
            "/topology": lambda: json_page(view.topology(self._known())),
            "/health": lambda: json_page(health := view.health(self._known()), available=health["ready"]),
            "/metrics": lambda: metrics_page(self.metrics.text()),
        }
        for place in serve_pages(pages, self.settings.rest):
            say(f"view at {place}")
        self.every(lambda: _LEASE_PERIOD_S, "lease")
        self.every(lambda: _HOUSEKEEPING_S, "housekeeping")
        self.every(lambda: _AUDIT_PERIOD_S, "audit")

    def rules_for(self, switch: Switch) -> tuple[Rule, ...]:
        """Forwarding's rules over the links that carry frames, and what makes switches ask for paths."""
        alive, learning = self.alive_network(), self._learning
        rules = base_rules(self._network, alive, switch, self._labels, self._interfaces, learning=learning)
        return (*rules, *copy_rules()) if self._in_switch else rules

    def cookie_for(self, rules: tuple[Rule, ...]) -> int:
        """While a network is being found its rules change again and again: they all have one cookie."""
        return COOKIE_PREFIX if self._learning else super().cookie_for(rules)

    def use_network(self, network: Network, now_s: float) -> None:
        """As below; and takes up the hosts."""
        self.flows.use(network, self._labels, self._interfaces)
        super().use_network(network, now_s)

    def on_verdict(self, verdict: Verdict) -> None:
        """Flows leave a link that is down, and may return when it is back."""
        self._rerouting.follow(verdict)

    def rewrite_rules(self) -> None:
        """As below; and the groups, if the switches choose paths."""
        self._default_ports.clear()
        super().rewrite_rules()
        self._write_groups()

    def greet(self, datapath: Datapath, connection: SwitchConnection) -> None:
        """Holds SYNs from now on, and asks the switch what it knows from before."""
        super().greet(datapath, connection)
        self.flows.placements.forget_written(connection.switch.name)
        self._renew_lease(datapath, connection.switch)
        self._reading[datapath] = []
        ask_for_rules(datapath, *((0, 0) if self._learning else (PREFIX, PREFIX_MASK)))

    @set_ev_cls(EventOFPStateChange, DEAD_DISPATCHER)
    def on_disconnect(self, event: EventOFPStateChange) -> None:
        """What the switch was to confirm has failed; what it has, it keeps."""
        super().on_disconnect(event)
        self._reading.pop(event.datapath, None)
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
            self.metrics.packet_ins.labels("probe").inc()
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
            case "audit":
                for datapath in self._connections.keys() - self._reading.keys():
                    ask_for_rules(datapath, PREFIX, PREFIX_MASK)
            case _:
                super().on_tick(event)

    def _on_watched(self, connection: SwitchConnection, message: Any) -> None:
        now_s = time.monotonic()
        ingress = SwitchPort(connection.switch.name, message.match["in_port"])
        is_held = message.cookie == Kind.HOLD.cookie
        segment = parse_segment(message.data, message.total_len)
        if segment is None and not is_held:
            self.on_other_watched(connection, message)
            return
        is_end = segment is not None and segment.flags & (FIN | RST)
        is_heard = self.hears(self._ends if is_end else self._openings, message.datapath, ingress, now_s)
        if is_held and not (is_heard and segment is not None and segment.is_syn):
            self.release(message, None)
        elif is_held:
            self.metrics.packet_ins.labels("syn").inc()
            self.flows.syn(segment, ingress, lambda actions: self._release_steered(message, actions, now_s), now_s)
        elif is_heard:
            self._on_copy(segment, ingress, now_s)

    def _on_copy(self, segment: Segment, ingress: SwitchPort, now_s: float) -> None:
        if segment.is_syn:
            self.metrics.packet_ins.labels("syn").inc()
            self.flows.watched_syn(segment, ingress, now_s)
        elif segment.is_syn_ack:
            self.metrics.packet_ins.labels("syn_ack").inc()
            self.flows.syn_ack(segment, ingress, now_s)
        elif not segment.flags & SYN:
            self.metrics.packet_ins.labels("end").inc()
            self.flows.ending(segment, ingress, now_s)

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

    def hears(self, guard: PortGuard, datapath: Datapath, ingress: SwitchPort, now_s: float) -> bool:
        """Whether there is time for one more frame from a port; one that floods is not heard for a while."""
        if guard.admits(ingress, now_s):
            return True
        rules = guard.quieten(ingress, now_s)
        if rules:
            warn(f"{ingress} {guard.complaint}")
        for rule in rules:
            add_rule(datapath, rule, self._connections[datapath].cookie)
        return False

    def _renew_lease(self, datapath: Datapath, switch: Switch) -> None:
        if self._in_switch or not any(it.switch == switch.name for it in self._network.interfaces):
            return
        for rule in hold_rules():
            add_rule(datapath, rule, Kind.HOLD.cookie)

    def _guard(self, factor: int, quiet_rules: QuietRules, complaint: str) -> PortGuard:
        limits = self.settings.rate_per_s * factor, self.settings.burst * factor, self.flows.table.counters
        return PortGuard(*limits, quiet_s=_QUIET_S, quiet_rules=quiet_rules, complaint=complaint)

    def _known(self) -> view.Known:
        return view.Known(
            policy=self.settings.policy,
            network=self._network,
            connected=self.datapaths.keys(),
            flows=self.flows,
            topology=self.topology,
            takeover=self.takeover,
            writer=self.writer,
            watch=self.watch,
            guards=(self._openings, self._ends),
            moves=self._rerouting.moves,
        )

    def _write_groups(self) -> None:
        if self._in_switch:
            self._groups.write(self._network, self._labels, self._interfaces, lambda _ok: None)
