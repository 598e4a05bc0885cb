"""Reads rules back from the switches: all of them after a restart, and their packet counts from time to time."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from controllers.openflow.cookies import PREFIX, PREFIX_MASK, RuleKind
from controllers.openflow.event_table import Event, PacketIn, Publish
from controllers.openflow.rules import StoredRule
from controllers.openflow.steering_rules import flow_of_match
from controllers.openflow.switches import SwitchConnection, Switches
from controllers.resilience.state_recovery import StateRecovery
from controllers.subflows.flows import Flows

_MAX_WAITING = 256


@dataclass
class RecoveryManager:
    """Has the flows recovered that switches still have rules for; until then all frames wait.

    Args:
        reads_all: whether the rules of forwarding are to be read too, because they describe hosts.
    """

    recovery: StateRecovery
    flows: Flows
    switches: Switches
    publish: Publish
    reads_all: bool
    _incoming: dict[SwitchConnection, list[StoredRule]] = field(default_factory=dict)
    _waiting: deque[PacketIn] = field(default_factory=lambda: deque(maxlen=_MAX_WAITING))

    def on_connect(self, connection: SwitchConnection) -> None:
        self._incoming[connection] = []
        connection.channel.request_rules(*((0, 0) if self.reads_all else (PREFIX, PREFIX_MASK)))

    def on_disconnect(self, connection: SwitchConnection) -> None:
        """Forgets the rules of a switch that has not sent all of them."""
        self._incoming.pop(connection, None)

    def on_packet_in(self, packet: PacketIn) -> bool:
        """Takes frames for as long as recovery lasts."""
        if not self.recovery.is_complete:
            self._waiting.append(packet)
        return not self.recovery.is_complete

    def on_rules(self, connection: SwitchConnection, rules: Sequence[StoredRule], is_last: bool, now_s: float) -> None:
        """Handles a switch's rules: those from before it connected, or the packet counts of an audit."""
        if connection not in self._incoming:
            counts = [(flow_of_match(stored.rule.match), stored.packets) for stored in rules]
            self.flows.note_packets([(flow, packets) for flow, packets in counts if flow is not None], now_s)
            return
        self._incoming[connection] += rules
        if is_last:
            self.publish(Event.ALL_RULES, connection, self._incoming.pop(connection), now_s)

    def on_all_rules(self, connection: SwitchConnection, rules: Sequence[StoredRule], now_s: float) -> None:
        """Recovers the flows of a switch, if all others have reported theirs."""
        steering = [stored for stored in rules if RuleKind.of(stored.cookie) is not None]
        self.recovery.on_rules(connection.switch.name, steering, now_s)
        self._resume(now_s)

    def tick(self, now_s: float) -> None:
        """Stops waiting for switches that have not connected in time. To be called regularly."""
        self.recovery.tick(now_s)
        self._resume(now_s)

    def audit(self, _now_s: float) -> None:
        for connection in self.switches.by_channel.values():
            if connection not in self._incoming:
                connection.channel.request_rules(PREFIX, PREFIX_MASK)

    def _resume(self, now_s: float) -> None:
        while self.recovery.is_complete and self._waiting:
            packet = self._waiting.popleft()
            if packet.connection.channel in self.switches.by_channel:
                self.publish(Event.PACKET_IN, replace(packet, now_s=now_s))
