"""Steers TCP flows and MPTCP's subflows over chosen paths: without it all would crowd on the shortest.

    python -m controllers --network FILE --policy disjoint
    osken-manager controllers/steering.py          # finds the network out; for settings see controllers.settings

What it does is in `controllers.steering_app`; here it is made to work in a network that nobody has described.
"""

import os
import time
from typing import Any

from controllers.discovery.discovery import Discovery, read_neighbour
from controllers.discovery.port_guard import PortGuard
from controllers.discovery.state_recovery import found_hosts
from controllers.forwarding.forwarding import SwitchConnection, warn
from controllers.network.description import Network, Switch, SwitchPort, load
from controllers.openflow.labels import Labels
from controllers.openflow.library import MAIN_DISPATCHER, Datapath, EventOFPStateChange, EventTick, set_ev_cls, spawn
from controllers.openflow.messages import CONTROLLER_PORT, StoredRule, is_ordinary_port, port_is_live, send_frame
from controllers.openflow.rules import Output
from controllers.openflow.steering_rules import deaf_rules
from controllers.packets.checksums import complete_tcp_checksum
from controllers.settings import Settings
from controllers.steering_app import SteeringApp
from flightpath.errors import FlightpathError

_SYNC_PERIOD_S = 0.25
_DEAF_S = 5
_FLOODS_PER_S, _FLOODS_AT_ONCE = 100.0, 200


class Steering(SteeringApp):
    """Steering, also where switches, links and hosts are still to be found.

    Args:
        network: what there is; None: what the settings name, or else it is found out.
        settings: how; None: as the environment says.
    """

    def __init__(
        self, *args: Any, network: Network | None = None, settings: Settings | None = None, **kwargs: Any
    ) -> None:
        settings = settings or Settings.from_environment()
        if network is None and settings.network is not None:
            network = load(settings.network)
        self._discovery = Discovery(Labels()) if network is None else None
        super().__init__(*args, network=network or Network(()), settings=settings, learning=network is None, **kwargs)
        self._flood_guard = PortGuard(
            _FLOODS_PER_S,
            _FLOODS_AT_ONCE,
            self.flows.table.counters,
            quiet_s=_DEAF_S,
            quiet_rules=deaf_rules,
            complaint="sends too much to unknown destinations",
        )
        self._synced_version = 0
        self._synced_s = 0.0

    def start(self) -> None:
        """os-ken's hook."""
        super().start()
        if not self.supervised:
            spawn(self._end_on_failure)

    @set_ev_cls(EventOFPStateChange, MAIN_DISPATCHER)
    def on_connect(self, event: EventOFPStateChange) -> None:
        """A switch nobody has told of is part of the network from now on."""
        if self._discovery is not None:
            self._discovery.switch(event.datapath.id)
            self._sync(time.monotonic(), at_once=True)
        super().on_connect(event)

    @set_ev_cls(EventTick)
    def on_tick(self, event: EventTick) -> None:
        """Regular work."""
        if event.what == "housekeeping":
            self._sync(time.monotonic(), at_once=True)
        super().on_tick(event)

    def probe_ports(self) -> dict[str, list[int]]:
        """Every port may lead to a switch."""
        return super().probe_ports() if self._discovery is None else self._discovery.ports()

    def on_probe(self, switch: Switch, message: Any) -> None:
        """A probe finds its link first."""
        if self._discovery is not None and (probe := self.watch.read(message.data)) is not None:
            sender = self._network.switch_with_dpid(probe.dpid)
            if sender is not None:
                ends = SwitchPort(sender.name, probe.port), SwitchPort(switch.name, message.match["in_port"])
                self._discovery.link(*ends)
                self._sync(time.monotonic())
        super().on_probe(switch, message)

    def on_port(self, datapath: Datapath, port: Any, *, removed: bool) -> None:
        """A port that comes up may lead anywhere."""
        connection = self._connections.get(datapath)
        if self._discovery is not None and connection is not None and is_ordinary_port(port):
            at = SwitchPort(connection.switch.name, port.port_no)
            self._discovery.port(at, port_is_live(port) and not removed, time.monotonic())
        super().on_port(datapath, port, removed=removed)

    def on_other_watched(self, connection: SwitchConnection, message: Any) -> None:
        """ARP and neighbour discovery tell of hosts; whom they look for in vain is looked for everywhere."""
        neighbour = read_neighbour(message.data)
        if self._discovery is None or neighbour is None:
            return
        now_s = time.monotonic()
        at = SwitchPort(connection.switch.name, message.match["in_port"])
        if not self.hears(self._flood_guard, message.datapath, at, now_s):
            return
        self._discovery.host(neighbour.mac, neighbour.address, at, now_s)
        self._sync(now_s)
        if neighbour.asks_for is not None and self._discovery.owner(neighbour.asks_for) is None:
            self._flood(message.data, at, now_s)

    def on_missed(self, connection: SwitchConnection, message: Any) -> None:
        """A frame to somebody unknown: to everybody, if it comes from a host."""
        if self._discovery is None:
            super().on_missed(connection, message)
            return
        now_s = time.monotonic()
        at = SwitchPort(connection.switch.name, message.match["in_port"])
        if not self._discovery.is_access(at, now_s) or not self.hears(self._flood_guard, message.datapath, at, now_s):
            return
        self._discovery.host(message.data[6:12].hex(":"), None, at, now_s)
        self._sync(now_s)
        if read_neighbour(message.data) is None:  # a copy of those has come already
            self.release(message, None)

    def release_to_unknown(self, message: Any) -> None:
        """Nobody knows where it goes."""
        if self._discovery is not None:
            connection = self._connections[message.datapath]
            at = SwitchPort(connection.switch.name, message.match["in_port"])
            self._flood(complete_tcp_checksum(message.data), at, time.monotonic())

    def on_stored(self, switch: str, rules: list[StoredRule], now_s: float) -> None:
        """A switch's rules also tell of hosts that were found before this process began."""
        if self._discovery is not None:
            for host in found_hosts(rules, self._labels):
                if self._interfaces.restore(host.mac, host.number):
                    at = SwitchPort(switch, host.port)
                    self._discovery.remember(host.mac, iter(host.addresses), at, now_s)
            self._sync(now_s, at_once=True)
        super().on_stored(switch, rules, now_s)

    def _sync(self, now_s: float, *, at_once: bool = False) -> None:
        """Puts into force what has been found; not more often than the switches can follow."""
        if self._discovery is None or self._discovery.version == self._synced_version:
            return
        if at_once or now_s - self._synced_s >= _SYNC_PERIOD_S:
            self._synced_version, self._synced_s = self._discovery.version, now_s
            self.use_network(self._discovery.network, now_s)

    def _flood(self, frame: bytes, ingress: SwitchPort, now_s: float) -> None:
        """Sends a frame out of every port behind which there is no switch."""
        ports: dict[str, list[Output]] = {}
        for at in self._discovery.access_ports(now_s):
            if at != ingress:
                ports.setdefault(at.switch, []).append(Output(at.port))
        for name, outputs in ports.items():
            if (datapath := self.datapaths.get(name)) is not None:
                send_frame(datapath, CONTROLLER_PORT, frame, outputs)

    def _end_on_failure(self) -> None:
        """osken-manager would go on with half a network."""
        try:
            self.wait_for_failure()
        except FlightpathError as error:
            warn(f"controllers: {error}")
            os._exit(error.exit_code)
