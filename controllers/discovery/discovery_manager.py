"""Discovers a network without a description while it is steered: its switches, links and hosts."""

from collections.abc import Sequence
from dataclasses import dataclass

from controllers.discovery.discovery import Discovery, parse_neighbour
from controllers.forwarding.frame_sender import FrameSender
from controllers.network.description import SwitchPort
from controllers.network.paths import Hop
from controllers.openflow.event_table import Event, PacketIn, Publish
from controllers.openflow.labels import InterfaceNumbers, Labels
from controllers.openflow.rules import StoredRule
from controllers.openflow.steering_rules import Table
from controllers.openflow.switches import SwitchConnection
from controllers.resilience.flood_guard import FloodGuard
from controllers.resilience.state_recovery import stored_hosts

_SYNC_PERIOD_S = 0.25


@dataclass
class DiscoveryManager:
    """Feeds a `Discovery` with what switches report, and publishes the network not more often than they can follow.

    Args:
        guard: limits the frames of each port that reveal hosts.
    """

    discovery: Discovery
    frames: FrameSender
    guard: FloodGuard
    labels: Labels
    interfaces: InterfaceNumbers
    publish: Publish
    _synced_version: int = 0
    _synced_s: float = 0.0

    def on_new_switch(self, dpid: int, now_s: float) -> None:
        """Adds a switch that is about to connect."""
        self.discovery.add_switch(dpid)
        self.sync(now_s)

    def on_crossed(self, hop: Hop, travel_s: float, now_s: float) -> None:
        """Takes a probe that has crossed a link, known or not."""
        self.discovery.note_crossing(SwitchPort(*hop[:2]), SwitchPort(*hop[2:]), travel_s, now_s)
        self._sync_soon(now_s)

    def on_port(self, connection: SwitchConnection, port: int, is_up: bool, now_s: float) -> None:
        self.discovery.set_port(SwitchPort(connection.switch.name, port), is_up, now_s)

    def on_unknown_destination(self, packet: PacketIn) -> bool:
        """Takes a frame without a rule: it reveals its sender, and goes to all hosts."""
        if packet.table != Table.BASE:
            return False
        if self.discovery.is_access(packet.ingress, packet.now_s) and self.guard.admits(packet):
            self.discovery.add_host(packet.frame[6:12].hex(":"), None, packet.ingress, packet.now_s)
            self._sync_soon(packet.now_s)
            if parse_neighbour(packet.frame) is None:  # ARP and ND have come as copies already
                self.frames.release(packet, None)
        return True

    def on_neighbour(self, packet: PacketIn) -> None:
        """Takes the copy of an ARP or neighbour discovery frame, and looks for the owner of the address in it."""
        neighbour = parse_neighbour(packet.frame)
        if neighbour is None or not self.guard.admits(packet):
            return
        self.discovery.add_host(neighbour.mac, neighbour.address, packet.ingress, packet.now_s)
        self._sync_soon(packet.now_s)
        if neighbour.wanted is not None and self.discovery.owner(neighbour.wanted) is None:
            self.frames.flood(packet)

    def on_all_rules(self, connection: SwitchConnection, rules: Sequence[StoredRule], now_s: float) -> None:
        """Takes a switch's rules: they describe hosts that were discovered before this process started."""
        for host in stored_hosts(rules, self.labels):
            if self.interfaces.restore(host.mac, host.number):
                at = SwitchPort(connection.switch.name, host.port)
                self.discovery.restore_host(host.mac, iter(host.addresses), at, now_s)
        self.sync(now_s)

    def sync(self, now_s: float) -> None:
        if self.discovery.version != self._synced_version:
            self._synced_version, self._synced_s = self.discovery.version, now_s
            self.publish(Event.NETWORK_CHANGED, self.discovery.network, now_s)

    def _sync_soon(self, now_s: float) -> None:
        if now_s - self._synced_s >= _SYNC_PERIOD_S:
            self.sync(now_s)
