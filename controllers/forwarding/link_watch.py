"""Sends probes over links, hears them and keeps the topology true: without it verdicts would have no evidence."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from controllers.forwarding.link_monitor import URGENCY, LinkMonitor, ProbePlan, Verdict
from controllers.forwarding.link_probes import Probe, ProbeCodec
from controllers.network.description import Link, Network
from controllers.network.paths import Edge, Hop, LinkState, Topology, edge_between
from controllers.openflow.library import Datapath
from controllers.openflow.messages import (
    CONTROLLER_PORT,
    PortCounters,
    ask_for_port_counters,
    port_counters,
    port_is_live,
    send_frame,
)
from controllers.openflow.rules import Output

_SMOOTHING = 0.5
"""Share of the newest reading in a link's load; the rest is what it was before."""


class LinkWatch:
    """The links of a topology, watched.

    Args:
        topology: whose links' states are kept true.
        plan: how links are watched.
        now_s: the time.

    Attributes:
        monitor: the verdicts.
        sent, heard: probes so far.
    """

    def __init__(self, topology: Topology, plan: ProbePlan, now_s: float) -> None:
        self.monitor = LinkMonitor(plan)
        self.sent = 0
        self.heard = 0
        self._topology = topology
        self._probing = plan.period_s > 0
        self._codec = ProbeCodec()
        self._ticks = 0
        self._counted: dict[tuple[str, int], tuple[float, PortCounters]] = {}
        self.refresh(now_s)

    def refresh(self, now_s: float) -> None:
        """Links have come or gone."""
        self.monitor.watch((edge for *_, edge in self._topology.graph.edges(keys=True)), now_s)

    @property
    def tick_s(self) -> float:
        """Between two calls of `probe`."""
        return self.monitor.tick_s if self._probing else 3600.0

    def probe(self, datapaths: Mapping[str, Datapath], ports: Mapping[str, Iterable[int]], now_s: float) -> None:
        """Sends the probes that are due, and asks switches whose links have fallen silent.

        Args:
            datapaths: the connected switches, by name.
            ports: per switch, the ports out of which probes are sent.
            now_s: the time.
        """
        if not self._probing:
            return
        self._ticks += 1
        suspects = self.monitor.tick(datapaths, now_s)
        urgent = {(hop.switch, hop.port) for hop in suspects}
        for name, datapath in datapaths.items():
            for port in ports.get(name, ()):
                if self._ticks % URGENCY == 0 or (name, port) in urgent:
                    self._send(datapath, port, now_s)
        for name in {end for hop in suspects for end in (hop.switch, hop.next_switch)}:
            ask_for_port_counters(datapaths[name])

    def link_ports(self) -> dict[str, list[int]]:
        """Per switch, the ports that lead to another one."""
        ports: dict[str, list[int]] = {}
        for hop in self.monitor.hops:
            ports.setdefault(hop.switch, []).append(hop.port)
        return ports

    def read(self, frame: bytes) -> Probe | None:
        """The probe in a frame; None if it is a forgery."""
        probe = self._codec.read(frame)
        self.heard += probe is not None
        return probe

    def on_probe(self, hop: Hop, probe: Probe, now_s: float) -> Iterator[Verdict]:
        """A probe has crossed a link."""
        return self._apply(self.monitor.arrived(hop, now_s - probe.sent_ns / 1e9, now_s))

    def on_port(self, switch: str, port: Any, now_s: float, *, removed: bool = False) -> Iterator[Verdict]:
        """A switch has described a port."""
        live = port_is_live(port) and not removed
        return self._apply(self.monitor.port(switch, port.port_no, live, now_s))

    def on_counters(self, switch: str, message: Any, now_s: float) -> Iterator[Verdict]:
        """A switch has told what its ports have carried."""
        for counters in port_counters(message):
            self._note_load(switch, counters, now_s)
            yield from self._apply(
                self.monitor.counters(switch, counters.port, counters.sent_packets, counters.received_packets, now_s)
            )

    def _send(self, datapath: Datapath, port: int, now_s: float) -> None:
        frame = self._codec.frame(Probe(datapath.id, port, round(now_s * 1e9)))
        send_frame(datapath, CONTROLLER_PORT, frame, (Output(port),))
        self.sent += 1

    def _apply(self, verdicts: Iterator[Verdict]) -> Iterator[Verdict]:
        for verdict in verdicts:
            state = self._topology.state(verdict.edge)
            if state is not None:
                self._topology.update(replace(state, up=verdict.up))
            yield verdict

    def _note_load(self, switch: str, counters: PortCounters, now_s: float) -> None:
        edge = self._topology.edge_at(switch, counters.port)
        before = self._counted.get((switch, counters.port))
        if edge is None or (before is not None and now_s - before[0] < 0.5):
            return
        self._counted[switch, counters.port] = now_s, counters
        if before is None or edge[:2] != (switch, counters.port):
            return  # one end tells of both directions
        then_s, old = before
        sent, received = counters.sent_bytes - old.sent_bytes, counters.received_bytes - old.received_bytes
        state = self._topology.state(edge)
        load_bps = max(sent, received, 0) * 8 / (now_s - then_s)
        smooth_bps = _SMOOTHING * load_bps + (1 - _SMOOTHING) * state.load_bps
        self._topology.update(replace(state, load_bps=smooth_bps))


def topology_of(network: Network) -> Topology:
    """The links as described, all of them up."""
    return Topology((switch.name for switch in network.switches), map(state_of, network.links))


def edge_of(link: Link) -> Edge:
    """A described link as the topology has it."""
    return edge_between((link.a.switch, link.a.port), (link.b.switch, link.b.port))


def state_of(link: Link) -> LinkState:
    """What a description tells of a link."""
    return LinkState(edge_of(link), link.capacity_bps, None if link.delay_us is None else link.delay_us / 1e6)
