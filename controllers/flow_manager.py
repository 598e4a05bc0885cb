"""Steers TCP: takes the segments that switches hold for the controller or copy to it."""

import time
from collections.abc import Iterable
from dataclasses import dataclass

from controllers.forwarding.frame_sender import FrameSender
from controllers.metrics import Metrics
from controllers.openflow.cookies import RuleKind
from controllers.openflow.event_table import PacketIn
from controllers.openflow.rules import Action, Match
from controllers.openflow.steering_rules import flow_of_match, hold_rules
from controllers.openflow.switches import SwitchConnection, Switches
from controllers.packets.segments import FIN, RST, SYN, Segment, parse_segment
from controllers.resilience.flood_guard import FloodGuard
from controllers.subflows.flows import Flows


@dataclass
class FlowManager:
    """Gives each TCP flow, and each subflow of MPTCP, a path; decisions are made in `Flows`.

    Args:
        openings, ends: limit the segments of each port that open or end flows.
        holds_syns: whether switches hold SYNs until their flow has a path; if not, they choose the paths themselves.
    """

    flows: Flows
    frames: FrameSender
    switches: Switches
    metrics: Metrics
    openings: FloodGuard
    ends: FloodGuard
    holds_syns: bool

    def on_connect(self, connection: SwitchConnection) -> None:
        """Assumes nothing about the rules of a switch that has connected, and lets it hold SYNs."""
        self.flows.placements.forget_written(connection.switch.name)
        self._renew_leases([connection])

    def renew_leases(self, _now_s: float) -> None:
        """Lets all switches hold SYNs for longer."""
        self._renew_leases(self.switches.by_channel.values())

    def on_packet_in(self, packet: PacketIn) -> bool:
        """Takes a segment, and whatever is held: if it is not steered, it is sent on by forwarding's rules."""
        is_held = packet.cookie == RuleKind.HOLD.cookie
        segment = parse_segment(packet.frame, packet.frame_bytes)
        if segment is None and not is_held:
            return False
        is_end = segment is not None and segment.flags & (FIN | RST)
        is_admitted = (self.ends if is_end else self.openings).admits(packet)
        if is_held and is_admitted and segment is not None and segment.is_syn:
            self._on_held_syn(segment, packet)
        elif is_held:
            self.frames.release(packet, None)
        elif is_admitted and segment is not None:
            self._on_copy(segment, packet)
        return True

    def on_rule_expired(self, match: Match) -> None:
        flow = flow_of_match(match)
        if flow is not None:
            self.flows.on_eviction(flow)

    def _on_held_syn(self, segment: Segment, packet: PacketIn) -> None:
        def release(actions: tuple[Action, ...] | None) -> None:
            self.frames.release(packet, actions)
            self.metrics.set_up_s.observe(time.monotonic() - packet.now_s)

        self.metrics.packet_ins.labels("syn").inc()
        self.flows.on_syn(segment, packet.ingress, release, packet.now_s)

    def _on_copy(self, segment: Segment, packet: PacketIn) -> None:
        if segment.is_syn:
            kind, handle = "syn", self.flows.on_copied_syn
        elif segment.is_syn_ack:
            kind, handle = "syn_ack", self.flows.on_syn_ack
        elif not segment.flags & SYN:
            kind, handle = "end", self.flows.on_end
        else:
            return
        self.metrics.packet_ins.labels(kind).inc()
        handle(segment, packet.ingress, packet.now_s)

    def _renew_leases(self, connections: Iterable[SwitchConnection]) -> None:
        have_hosts = {it.switch for it in self.switches.network.interfaces} if self.holds_syns else ()
        for connection in connections:
            if connection.switch.name in have_hosts:
                connection.channel.add_rules(hold_rules(), RuleKind.HOLD.cookie)
