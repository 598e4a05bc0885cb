"""Sends probes over links, and keeps the state and load of the links in the topology up to date."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from controllers.forwarding.link_monitor import URGENCY, LinkChange, LinkMonitor, ProbePlan
from controllers.forwarding.link_probes import Probe, ProbeCodec
from controllers.network.paths import Hop, Topology
from controllers.openflow.library import Datapath
from controllers.openflow.messages import (
    CONTROLLER_PORT,
    PortCounters,
    is_port_up,
    parse_port_counters,
    request_port_counters,
    send_frame,
)
from controllers.openflow.rules import Output

_SMOOTHING = 0.5
"""The weight of the newest reading in a link's load; the previous load has the rest."""

_MIN_LOAD_PERIOD_S = 0.5


class LinkWatch:
    """Watches the links of a topology.

    Args:
        topology: its link states are kept up to date.

    Attributes:
        sent, received: probes so far.
    """

    def __init__(self, topology: Topology, plan: ProbePlan, now_s: float) -> None:
        self.monitor = LinkMonitor(plan)
        self.sent = 0
        self.received = 0
        self._topology = topology
        self._is_probing = plan.period_s > 0
        self._codec = ProbeCodec()
        self._ticks = 0
        self._counters: dict[tuple[str, int], tuple[float, PortCounters]] = {}
        self.refresh(now_s)

    def refresh(self, now_s: float) -> None:
        """Watches the links that the topology has now."""
        self.monitor.watch(self._topology.links, now_s)

    @property
    def tick_s(self) -> float:
        """The time between two calls of `probe`."""
        return self.monitor.tick_s if self._is_probing else 3600.0

    def probe(self, datapaths: Mapping[str, Datapath], ports: Mapping[str, Iterable[int]], now_s: float) -> None:
        """Sends the probes that are due, and requests the counters of links that have fallen silent.

        Args:
            ports: for each switch, the ports that send probes.
        """
        if not self._is_probing:
            return
        self._ticks += 1
        suspects = self.monitor.tick(datapaths, now_s)
        urgent = {(hop.switch, hop.port) for hop in suspects}
        for name, datapath in datapaths.items():
            for port in ports.get(name, ()):
                if self._ticks % URGENCY == 0 or (name, port) in urgent:
                    self._send(datapath, port, now_s)
        for name in {end for hop in suspects for end in (hop.switch, hop.next_switch)}:
            request_port_counters(datapaths[name])

    def link_ports(self) -> dict[str, list[int]]:
        """For each switch, the ports that lead to another switch."""
        ports: dict[str, list[int]] = {}
        for hop in self.monitor.hops:
            ports.setdefault(hop.switch, []).append(hop.port)
        return ports

    def decode(self, frame: bytes) -> Probe | None:
        """The probe in a frame; None if it is forged."""
        probe = self._codec.decode(frame)
        self.received += probe is not None
        return probe

    def on_probe(self, hop: Hop, probe: Probe, now_s: float) -> Iterator[LinkChange]:
        """Notes that a probe has crossed a link."""
        return self._apply(self.monitor.on_probe(hop, now_s - probe.sent_ns / 1e9, now_s))

    def on_port(self, switch: str, port: Any, now_s: float, *, removed: bool = False) -> Iterator[LinkChange]:
        """Notes the description of a port, as the switch sends it."""
        return self._apply(self.monitor.on_port(switch, port.port_no, is_port_up(port) and not removed, now_s))

    def on_counters(self, switch: str, message: Any, now_s: float) -> Iterator[LinkChange]:
        """Notes the counters of a switch's ports."""
        for it in parse_port_counters(message):
            self._update_load(switch, it, now_s)
            yield from self._apply(
                self.monitor.on_counters(switch, it.port, it.sent_packets, it.received_packets, now_s)
            )

    def _send(self, datapath: Datapath, port: int, now_s: float) -> None:
        frame = self._codec.encode(Probe(datapath.id, port, round(now_s * 1e9)))
        send_frame(datapath, CONTROLLER_PORT, frame, (Output(port),))
        self.sent += 1

    def _apply(self, changes: Iterator[LinkChange]) -> Iterator[LinkChange]:
        for change in changes:
            state = self._topology.state(change.edge)
            if state is not None:
                self._topology.update(replace(state, up=change.up))
            yield change

    def _update_load(self, switch: str, counters: PortCounters, now_s: float) -> None:
        """Updates a link's load from the counters at its first end, which count both directions."""
        end = (switch, counters.port)
        edge = self._topology.edge_at(*end)
        then_s, before = self._counters.get(end, (None, None))
        if edge is None or edge[:2] != end or (then_s is not None and now_s - then_s < _MIN_LOAD_PERIOD_S):
            return
        self._counters[end] = now_s, counters
        if before is None:
            return
        sent, received = counters.sent_bytes - before.sent_bytes, counters.received_bytes - before.received_bytes
        state = self._topology.state(edge)
        load_bps = max(sent, received, 0) * 8 / (now_s - then_s)
        smooth_bps = _SMOOTHING * load_bps + (1 - _SMOOTHING) * state.load_bps
        self._topology.update(replace(state, load_bps=smooth_bps))
