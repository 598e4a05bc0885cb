"""Forwarding that leaves links which are down: without it frames would go on into a link that swallows them.

A layer over `forwarding`: it hears of ports, sends probes, and rewrites rules when a verdict on a link has
changed the network. What else follows from a verdict is a layer's above it.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from controllers.forwarding.forwarding import Forwarding, SwitchConnection
from controllers.forwarding.link_monitor import ProbePlan, Verdict
from controllers.forwarding.link_watch import LinkWatch, edge_of, state_of, topology_of
from controllers.network.description import Network, Switch
from controllers.network.paths import Hop
from controllers.openflow.library import (
    DEAD_DISPATCHER,
    MAIN_DISPATCHER,
    Datapath,
    EventOFPPortDescStatsReply,
    EventOFPPortStatsReply,
    EventOFPPortStatus,
    EventOFPStateChange,
    EventTick,
    set_ev_cls,
)
from controllers.openflow.messages import add_rule, ask_for_port_counters, ask_for_ports, delete_rule, is_removal
from controllers.openflow.rules import place_of

_COUNTERS_PERIOD_S = 1.0


class LinkAwareForwarding(Forwarding):
    """Shortest-path forwarding over the links that carry frames.

    Args:
        network: what there is to forward between.
        probes: how links are watched.

    Attributes:
        topology: the switches, and the links with their states.
        watch: who keeps it true.
    """

    def __init__(self, *args: Any, network: Network, probes: ProbePlan, **kwargs: Any) -> None:
        super().__init__(*args, network=network, **kwargs)
        self.topology = topology_of(network)
        self.watch = LinkWatch(self.topology, probes, time.monotonic())
        self._by_name: dict[str, Datapath] = {}

    @property
    def datapaths(self) -> Mapping[str, Datapath]:
        """The connected switches, by name."""
        return self._by_name

    def start(self) -> None:
        """os-ken's hook."""
        super().start()
        self.every(lambda: _COUNTERS_PERIOD_S, "counters")
        self.every(lambda: self.watch.tick_s, "probes")

    def alive_network(self) -> Network:
        """The network without the links that are down."""
        is_up = self.watch.monitor.is_up
        return replace(self._network, links=tuple(link for link in self._network.links if is_up(edge_of(link))))

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
        self.rewrite_rules()

    def on_verdict(self, verdict: Verdict) -> None:
        """A link is down or back from now on; then the rules are rewritten."""

    def rewrite_rules(self) -> None:
        """Gives switches the forwarding rules that have changed."""
        for datapath, connection in self._connections.items():
            before, now = connection.rules, self.rules_for(connection.switch)
            places = {place_of(rule) for rule in now}
            for rule in set(now) - set(before):
                add_rule(datapath, rule, connection.cookie)
            for rule in before:
                if place_of(rule) not in places:
                    delete_rule(datapath, rule)
            connection.rules = now

    def probe_ports(self) -> dict[str, list[int]]:
        """Per switch, the ports that probes are sent out of."""
        return self.watch.link_ports()

    def greet(self, datapath: Datapath, connection: SwitchConnection) -> None:
        """Asks the switch which of its ports are up."""
        self._by_name[connection.switch.name] = datapath
        ask_for_ports(datapath)

    @set_ev_cls(EventOFPStateChange, DEAD_DISPATCHER)
    def on_disconnect(self, event: EventOFPStateChange) -> None:
        """The switch may have connected anew already."""
        connection = self._connections.get(event.datapath)
        super().on_disconnect(event)
        if connection is not None and self._by_name.get(connection.switch.name) is event.datapath:
            del self._by_name[connection.switch.name]

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
        if event.what == "counters":
            for datapath in self._by_name.values():
                ask_for_port_counters(datapath)
        elif event.what == "probes":
            self.watch.probe(self._by_name, self.probe_ports(), time.monotonic())

    def on_port(self, datapath: Datapath, port: Any, *, removed: bool) -> None:
        """A switch has described a port."""
        connection = self._connections.get(datapath)
        if connection is not None:
            self._judge(self.watch.on_port(connection.switch.name, port, time.monotonic(), removed=removed))

    def on_probe(self, switch: Switch, message: Any) -> None:
        """A probe has come in, or what looks like one."""
        probe = self.watch.read(message.data)
        sender = self._network.switch_with_dpid(probe.dpid) if probe else None
        if sender is not None:
            hop = Hop(sender.name, probe.port, switch.name, message.match["in_port"])
            self._judge(self.watch.on_probe(hop, probe, time.monotonic()))

    def _judge(self, verdicts: Iterable[Verdict]) -> None:
        for verdict in verdicts:
            self.on_verdict(verdict)
            self.rewrite_rules()
