"""Steering in a network without a description: it discovers switches, links and hosts."""

import time
from typing import Any

from controllers.discovery.discovery import Discovery, parse_neighbour
from controllers.forwarding.forwarding import SwitchConnection
from controllers.network.description import Network, SwitchPort
from controllers.network.paths import Hop
from controllers.openflow.labels import Labels
from controllers.openflow.library import MAIN_DISPATCHER, Datapath, EventTick, events, set_ev_cls
from controllers.openflow.messages import CONTROLLER_PORT, StoredRule, is_ordinary_port, is_port_up, send_frame
from controllers.openflow.rules import Output
from controllers.openflow.steering_rules import mute_unknown_destinations
from controllers.packets.checksums import complete_tcp_checksum
from controllers.resilience.state_recovery import stored_hosts
from controllers.settings import Settings
from controllers.steering_app import SteeringApp, ingress
from flightpath.overrides import override

_SYNC_PERIOD_S = 0.25
_FLOODS_PER_S, _FLOODS_AT_ONCE = 100.0, 200


class DiscoveringSteeringApp(SteeringApp):
    """Steering in a network that it discovers."""

    IS_LEARNING = True

    def __init__(self, *args: Any, settings: Settings, **kwargs: Any) -> None:
        self._discovery = Discovery(Labels())
        self._synced_version = 0
        self._synced_s = 0.0
        super().__init__(*args, network=Network(()), settings=settings, **kwargs)
        complaint = "sends too many frames to unknown destinations"
        self._flood_guard = self.guard(_FLOODS_PER_S, _FLOODS_AT_ONCE, mute_unknown_destinations, complaint)

    @set_ev_cls(events.EventOFPStateChange, MAIN_DISPATCHER)
    @override
    def on_connect(self, event: events.EventOFPStateChange) -> None:
        self._discovery.add_switch(event.datapath.id)
        self._sync(time.monotonic(), at_once=True)
        super().on_connect(event)

    @set_ev_cls(EventTick)
    @override
    def on_tick(self, event: EventTick) -> None:
        if event.task == "housekeeping":
            self._sync(time.monotonic(), at_once=True)
        super().on_tick(event)

    @override
    def probe_ports(self) -> list[tuple[str, int]]:
        return [(at.switch, at.port) for at in self._discovery.ports]  # each of them may lead to a switch

    @override
    def on_crossing(self, hop: Hop, travel_s: float, now_s: float) -> None:
        self._discovery.note_crossing(SwitchPort(*hop[:2]), SwitchPort(*hop[2:]), travel_s, now_s)
        self._sync(now_s)
        super().on_crossing(hop, travel_s, now_s)

    @override
    def on_port(self, datapath: Datapath, port: Any, *, removed: bool) -> None:
        connection = self._connections.get(datapath)
        if connection is not None and is_ordinary_port(port):
            at = SwitchPort(connection.switch.name, port.port_no)
            self._discovery.set_port(at, is_port_up(port) and not removed, time.monotonic())
        super().on_port(datapath, port, removed=removed)

    @override
    def on_other_watched(self, connection: SwitchConnection, message: Any) -> None:
        neighbour, at, now_s = parse_neighbour(message.data), ingress(connection, message), time.monotonic()
        if neighbour is None or not self.admits(self._flood_guard, message.datapath, at, now_s):
            return
        self._discovery.add_host(neighbour.mac, neighbour.address, at, now_s)
        self._sync(now_s)
        if neighbour.asks_for is not None and self._discovery.owner(neighbour.asks_for) is None:
            self._flood(message.data, at, now_s)

    @override
    def report_miss(self, connection: SwitchConnection, message: Any) -> None:
        at, now_s = ingress(connection, message), time.monotonic()
        is_access = self._discovery.is_access(at, now_s)
        if not is_access or not self.admits(self._flood_guard, message.datapath, at, now_s):
            return
        self._discovery.add_host(message.data[6:12].hex(":"), None, at, now_s)
        self._sync(now_s)
        if parse_neighbour(message.data) is None:  # of those, a copy has come already
            self.release(message, None)

    @override
    def release_to_unknown(self, message: Any) -> None:
        at = ingress(self._connections[message.datapath], message)
        self._flood(complete_tcp_checksum(message.data), at, time.monotonic())

    @override
    def on_stored_rules(self, switch: str, rules: list[StoredRule], now_s: float) -> None:
        # The rules also describe hosts that were discovered before this process started.
        for host in stored_hosts(rules, self._labels):
            if self._interfaces.restore(host.mac, host.number):
                self._discovery.restore_host(host.mac, iter(host.addresses), SwitchPort(switch, host.port), now_s)
        self._sync(now_s, at_once=True)
        super().on_stored_rules(switch, rules, now_s)

    def _sync(self, now_s: float, *, at_once: bool = False) -> None:
        """Uses the network as it is known now; not more often than the switches can follow."""
        if self._discovery.version == self._synced_version:
            return
        if at_once or now_s - self._synced_s >= _SYNC_PERIOD_S:
            self._synced_version, self._synced_s = self._discovery.version, now_s
            self.use_network(self._discovery.network, now_s)

    def _flood(self, frame: bytes, origin: SwitchPort, now_s: float) -> None:
        """Sends a frame out of all ports that do not lead to a switch, except the one that it came from."""
        outputs: dict[str, list[Output]] = {}
        for at in self._discovery.ports:
            if at != origin and self._discovery.is_access(at, now_s):
                outputs.setdefault(at.switch, []).append(Output(at.port))
        for switch, actions in outputs.items():
            if (datapath := self.datapaths.get(switch)) is not None:
                send_frame(datapath, CONTROLLER_PORT, frame, actions)
