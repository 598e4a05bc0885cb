"""Shortest-path forwarding that avoids links which are down, and measures the load of the others."""

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from controllers.forwarding.forwarding import Forwarding, SwitchConnection
from controllers.forwarding.link_monitor import URGENCY, LinkChange, LinkMonitor, ProbePlan
from controllers.forwarding.link_probes import Prober
from controllers.network.description import Network, Switch
from controllers.network.paths import Hop, LinkState, Topology, edge_of
from controllers.openflow.library import DEAD_DISPATCHER, MAIN_DISPATCHER, Datapath, EventTick, events, set_ev_cls
from controllers.openflow.messages import (
    add_rule,
    delete_rule,
    is_ordinary_port,
    is_port_up,
    request_port_counters,
    request_ports,
)
from controllers.openflow.rules import rule_key
from flightpath.overrides import override

_COUNTERS_PERIOD_S = 1.0
_MIN_PERIOD_S = 0.5

_SMOOTHING = 0.5
"""The weight of the newest reading in a link's load; the previous load has the rest."""


class LinkAwareForwarding(Forwarding):
    """Shortest-path forwarding over the links that carry frames; `datapaths` are the connected switches by name."""

    def __init__(self, *args: Any, network: Network, probes: ProbePlan, **kwargs: Any) -> None:
        super().__init__(*args, network=network, **kwargs)
        self.topology = Topology.from_network(network)
        self.prober = Prober()
        self._probes = probes
        self._monitor = LinkMonitor(probes)
        self._monitor.watch(self.topology.links, time.monotonic())
        self._loads = _LinkLoads(self.topology)
        self._requests = _CounterRequests()
        self._ticks = 0
        self.datapaths: dict[str, Datapath] = {}

    @override
    def start(self) -> None:
        super().start()
        self.every(lambda: _COUNTERS_PERIOD_S, "counters")
        if self._probes.period_s:
            self.every(lambda: self._monitor.tick_s, "probes")

    def alive_network(self) -> Network:
        """The network without the links that are down."""
        is_up = self._monitor.is_up
        return replace(self._network, links=tuple(link for link in self._network.links if is_up(edge_of(link))))

    def use_network(self, network: Network, now_s: float) -> None:
        """Replaces the network; what both have keeps its state."""
        self._network = network
        described = {edge_of(link): link for link in network.links}
        before = set(self.topology.links)
        for edge in before - described.keys():
            self.topology.remove(edge)
        for edge in described.keys() - before:
            self.topology.update(LinkState.of(described[edge]))
        self._monitor.watch(self.topology.links, now_s)
        self.rewrite_rules()

    def on_link_change(self, change: LinkChange) -> None:
        """Hook for subclasses: a link has gone down or come back. The rules are rewritten afterwards."""

    def rewrite_rules(self) -> None:
        """Updates the forwarding rules of all switches where they have changed."""
        for datapath, connection in self._connections.items():
            before, now = connection.rules, self.rules_for(connection.switch)
            keys = {rule_key(rule) for rule in now}
            for rule in set(now) - set(before):
                add_rule(datapath, rule, connection.cookie)
            for rule in before:
                if rule_key(rule) not in keys:
                    delete_rule(datapath, rule)
            connection.rules = now

    def probe_ports(self) -> Iterable[tuple[str, int]]:
        """The switches' ports that send probes: those that lead to another switch."""
        return (hop[:2] for hop in self._monitor.hops)

    @override
    def on_rules_sent(self, datapath: Datapath, connection: SwitchConnection) -> None:
        self.datapaths[connection.switch.name] = datapath
        request_ports(datapath)

    @set_ev_cls(events.EventOFPStateChange, DEAD_DISPATCHER)
    @override
    def on_disconnect(self, event: events.EventOFPStateChange) -> None:
        connection = self._connections.get(event.datapath)
        super().on_disconnect(event)
        # The switch may have connected again already.
        if connection is not None and self.datapaths.get(connection.switch.name) is event.datapath:
            del self.datapaths[connection.switch.name]

    @set_ev_cls(events.EventOFPPortDescStatsReply, MAIN_DISPATCHER)
    def on_ports(self, event: events.EventOFPPortDescStatsReply) -> None:
        """Handles the description of all ports of a switch that has just connected."""
        for port in event.msg.body:
            self.on_port(event.msg.datapath, port, removed=False)

    @set_ev_cls(events.EventOFPPortStatus, MAIN_DISPATCHER)
    def on_port_status(self, event: events.EventOFPPortStatus) -> None:
        """Handles a change of a port: a cable has been cut or repaired."""
        message = event.msg
        self.on_port(message.datapath, message.desc, removed=message.reason == message.datapath.ofproto.OFPPR_DELETE)

    @set_ev_cls(events.EventOFPPortStatsReply, MAIN_DISPATCHER)
    def on_counters(self, event: events.EventOFPPortStatsReply) -> None:
        """Handles the counters of a switch's ports, which show the load of links and whether they carry frames."""
        connection = self._connections.get(event.msg.datapath)
        if connection is not None:
            switch, now_s = connection.switch.name, time.monotonic()
            asked_s = self._requests.asked_s(event.msg, now_s)
            for it in filter(is_ordinary_port, event.msg.body):
                self._loads.update(switch, it, now_s)
                counted = self._monitor.on_counters(
                    switch, it.port_no, it.tx_packets, it.rx_packets, now_s, asked_s=asked_s
                )
                self._apply(counted)

    @set_ev_cls(EventTick)
    def on_tick(self, event: EventTick) -> None:
        """Runs the periodic task that is due."""
        if event.task == "counters":
            for datapath in self.datapaths.values():
                self._requests.send(datapath, time.monotonic())
        elif event.task == "probes":
            self._send_probes(time.monotonic())

    def on_port(self, datapath: Datapath, port: Any, *, removed: bool) -> None:
        """Handles the description of one port."""
        connection = self._connections.get(datapath)
        if connection is not None:
            is_up = is_port_up(port) and not removed
            self._apply(self._monitor.on_port(connection.switch.name, port.port_no, is_up, time.monotonic()))

    def on_probe(self, switch: Switch, message: Any) -> None:
        """Handles a frame that looks like a probe."""
        now_s = time.monotonic()
        probe = self.prober.decode(message.data, now_s)
        if probe is None:
            return
        sender = self._network.switch_with_dpid(probe.dpid)
        if sender is not None:
            hop = Hop(sender.name, probe.port, switch.name, message.match["in_port"])
            self.on_crossing(hop, now_s - probe.sent_s, now_s)

    def on_crossing(self, hop: Hop, travel_s: float, now_s: float) -> None:
        """Handles a probe that has crossed a link."""
        self._apply(self._monitor.on_probe(hop, travel_s, now_s))

    def _send_probes(self, now_s: float) -> None:
        """Sends the probes that are due, and requests the counters of links that have fallen silent."""
        self._ticks += 1
        suspects = self._monitor.tick(self.datapaths, now_s)
        urgent = {(hop.switch, hop.port) for hop in suspects}
        for name, port in self.probe_ports():
            if name in self.datapaths and (self._ticks % URGENCY == 0 or (name, port) in urgent):
                self.prober.send(self.datapaths[name], port, now_s)
        for name in {end for hop in suspects for end in (hop.switch, hop.next_switch)}:
            self._requests.send(self.datapaths[name], now_s)

    def _apply(self, changes: Iterable[LinkChange]) -> None:
        for change in changes:
            state = self.topology.state(change.edge)
            if state is not None:
                self.topology.update(replace(state, up=change.up))
            self.on_link_change(change)
            self.rewrite_rules()


class _CounterRequests:
    """Requests for the counters of ports, with the time of each."""

    def __init__(self) -> None:
        self._sent: WeakKeyDictionary[Datapath, dict[int, float]] = WeakKeyDictionary()

    def send(self, datapath: Datapath, now_s: float) -> None:
        """Requests the counters of all ports of a switch."""
        self._sent.setdefault(datapath, {})[request_port_counters(datapath)] = now_s

    def asked_s(self, reply: Any, now_s: float) -> float:
        """When the request was sent whose reply (or a part of it) this is; forgets those before it."""
        sent = self._sent.get(reply.datapath, {})
        while sent and next(iter(sent)) != reply.xid and reply.xid in sent:
            del sent[next(iter(sent))]
        return sent.get(reply.xid, now_s)


class _LinkLoads:
    """Keeps the loads in a topology up to date."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._readings: dict[tuple[str, int], tuple[float, Any]] = {}

    def update(self, switch: str, counters: Any, now_s: float) -> None:
        """Takes os-ken's counters of a port. Those at a link's first end count both directions."""
        end = (switch, counters.port_no)
        edge = self._topology.edge_at(*end)
        last = self._readings.get(end)
        if edge is None or edge[:2] != end or (last is not None and now_s - last[0] < _MIN_PERIOD_S):
            return
        self._readings[end] = now_s, counters
        if last is None:
            return
        then_s, before = last
        sent, received = counters.tx_bytes - before.tx_bytes, counters.rx_bytes - before.rx_bytes
        state = self._topology.state(edge)
        assert state is not None, "the topology has a state for the link at each port"
        load_bps = max(sent, received, 0) * 8 / (now_s - then_s)
        smooth_bps = _SMOOTHING * load_bps + (1 - _SMOOTHING) * state.load_bps
        self._topology.update(replace(state, load_bps=smooth_bps))
