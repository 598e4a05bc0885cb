"""Watches the links between switches: sends probes, reads the state and counters of ports, and reports changes."""

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field, replace

from controllers.forwarding.link_monitor import URGENCY, LinkChange, LinkMonitor
from controllers.forwarding.link_probes import Prober, is_probe
from controllers.metrics import Metrics
from controllers.network.description import Network
from controllers.network.paths import Hop, LinkState, Topology, edge_of
from controllers.openflow.event_table import Event, PacketIn, PortCounters, Publish
from controllers.openflow.switches import SwitchConnection, Switches

_MIN_PERIOD_S = 0.5

_SMOOTHING = 0.5
"""The weight of the newest reading in a link's load; the previous load has the rest."""


@dataclass
class LinkManager:
    """Keeps the states and loads of the links in a topology up to date.

    Args:
        probe_ports: returns the switches' ports that send probes.
    """

    switches: Switches
    topology: Topology
    monitor: LinkMonitor
    metrics: Metrics
    publish: Publish
    probe_ports: Callable[[], Iterable[tuple[str, int]]]
    prober: Prober = field(default_factory=Prober)
    _ticks: int = 0
    _readings: dict[tuple[str, int], tuple[float, PortCounters]] = field(default_factory=dict)

    def on_connect(self, connection: SwitchConnection) -> None:
        connection.channel.request_ports()

    def on_network(self, network: Network, now_s: float) -> None:
        """Takes over a network that has changed; what it had before keeps its state."""
        self.switches.network = network
        described = {edge_of(link): link for link in network.links}
        before = set(self.topology.links)
        for edge in before - described.keys():
            self.topology.remove(edge)
        for edge in described.keys() - before:
            self.topology.update(LinkState.of(described[edge]))
        self.monitor.watch(self.topology.links, now_s)

    def on_port(self, connection: SwitchConnection, port: int, is_up: bool, now_s: float) -> None:
        """Takes the state of a port: its cable may have been cut or repaired."""
        self._apply(self.monitor.on_port(connection.switch.name, port, is_up, now_s))

    def on_counters(
        self, connection: SwitchConnection, xid: int, counters: Sequence[PortCounters], now_s: float
    ) -> None:
        """Takes counters of ports, which show the load of links and whether they carry frames."""
        sent, switch = connection.counters_requested_s, connection.switch.name
        while sent and next(iter(sent)) != xid and xid in sent:
            del sent[next(iter(sent))]  # an earlier request
        requested_s = sent.get(xid, now_s)
        for it in counters:
            self._update_load(switch, it, now_s)
            numbers = it.sent_packets, it.received_packets
            self._apply(self.monitor.on_counters(switch, it.port, *numbers, now_s, requested_s=requested_s))
        self._request_counters(self.monitor.pop_wanted(), now_s)

    def on_packet_in(self, packet: PacketIn) -> bool:
        if not is_probe(packet.frame):
            return False
        self.metrics.packet_ins.labels("probe").inc()
        probe = self.prober.decode(packet.frame, packet.now_s)
        sender = None if probe is None else self.switches.network.switch_with_dpid(probe.dpid)
        if probe is not None and sender is not None:
            hop = Hop(sender.name, probe.port, packet.connection.switch.name, packet.in_port)
            self.publish(Event.PROBE_CROSSED, hop, packet.now_s - probe.sent_s, packet.now_s)
        return True

    def on_crossed(self, hop: Hop, travel_s: float, now_s: float) -> None:
        self._apply(self.monitor.on_probe(hop, travel_s, now_s))

    def request_counters(self, now_s: float) -> None:
        self._request_counters(self.switches.by_name, now_s)

    def send_probes(self, now_s: float) -> None:
        """Sends the probes that are due, and requests the counters of links that have fallen silent."""
        self._ticks += 1
        ready = {name: connection for name, connection in self.switches.by_name.items() if connection.is_ready}
        suspects = self.monitor.tick(ready, now_s)
        urgent = {(hop.switch, hop.port) for hop in suspects}
        due: dict[str, list[int]] = {}
        for name, port in self.probe_ports():
            if name in ready and (self._ticks % URGENCY == 0 or (name, port) in urgent):
                due.setdefault(name, []).append(port)
        for name, ports in due.items():
            self.prober.send(ready[name].channel, ports, now_s)
        self._request_counters({end for hop in suspects for end in (hop.switch, hop.next_switch)}, now_s)

    def _request_counters(self, names: Container[str], now_s: float) -> None:
        for connection in (it for name, it in self.switches.by_name.items() if name in names):
            connection.counters_requested_s[connection.channel.request_port_counters()] = now_s

    def _apply(self, changes: Iterable[LinkChange]) -> None:
        for change in changes:
            state = self.topology.state(change.edge)
            if state is not None:
                self.topology.update(replace(state, up=change.up))
            self.publish(Event.LINK_CHANGED, change)

    def _update_load(self, switch: str, counters: PortCounters, now_s: float) -> None:
        """Takes the counters of a port for the load of its link. Those at a link's first end count both directions."""
        end = (switch, counters.port)
        edge = self.topology.edge_at(*end)
        last = self._readings.get(end)
        if edge is None or edge[:2] != end or (last is not None and now_s - last[0] < _MIN_PERIOD_S):
            return
        self._readings[end] = now_s, counters
        if last is None:
            return
        then_s, before = last
        sent, received = counters.sent_bytes - before.sent_bytes, counters.received_bytes - before.received_bytes
        state = self.topology.state(edge)
        assert state is not None, "the topology has a state for the link at each port"
        load_bps = max(sent, received, 0) * 8 / (now_s - then_s)
        smooth_bps = _SMOOTHING * load_bps + (1 - _SMOOTHING) * state.load_bps
        self.topology.update(replace(state, load_bps=smooth_bps))
