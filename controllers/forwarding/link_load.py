"""The load of links, from the byte counters of their ports."""

from dataclasses import replace

from controllers.network.paths import Topology
from controllers.openflow.messages import PortCounters

_SMOOTHING = 0.5
"""The weight of the newest reading in a link's load; the previous load has the rest."""

_MIN_PERIOD_S = 0.5


class LinkLoads:
    """Keeps the loads in a topology up to date."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._readings: dict[tuple[str, int], tuple[float, PortCounters]] = {}

    def update(self, switch: str, counters: PortCounters, now_s: float) -> None:
        """Takes the counters of a port. Those at a link's first end count both directions."""
        end = (switch, counters.port)
        edge = self._topology.edge_at(*end)
        then_s, before = self._readings.get(end, (None, None))
        if edge is None or edge[:2] != end or (then_s is not None and now_s - then_s < _MIN_PERIOD_S):
            return
        self._readings[end] = now_s, counters
        if before is None:
            return
        sent, received = counters.sent_bytes - before.sent_bytes, counters.received_bytes - before.received_bytes
        state = self._topology.state(edge)
        load_bps = max(sent, received, 0) * 8 / (now_s - then_s)
        smooth_bps = _SMOOTHING * load_bps + (1 - _SMOOTHING) * state.load_bps
        self._topology.update(replace(state, load_bps=smooth_bps))
