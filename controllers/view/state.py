"""The state of a controller as plain data: connections, topology and health for JSON, and numbers for metrics."""

import time
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from controllers.forwarding.link_probes import Prober
from controllers.metrics import counter, gauge
from controllers.openflow.switches import Switches
from controllers.openflow.writes import Writer
from controllers.resilience.flood_guard import FloodGuard
from controllers.resilience.state_recovery import StateRecovery
from controllers.subflows.connection_records import Connection, Subflow
from controllers.subflows.flows import Flows
from controllers.subflows.rerouting import Move


@dataclass(frozen=True, eq=False)
class ControllerState(Collector):
    """The parts of a controller that the view shows."""

    switches: Switches
    flows: Flows
    recovery: StateRecovery
    writer: Writer
    prober: Prober
    guards: Collection[FloodGuard]
    moves: Collection[Move]

    def connections_json(self) -> dict[str, Any]:
        """Returns all connections with their subflows and paths."""
        return {
            "policy": self.flows.policy.name,
            "connections": [self._connection(it) for it in self.flows.table.connections()],
            "counters": asdict(self.flows.table.counters),
            "syns": self.flows.outcomes,
            "restored": self.recovery.restored,
        }

    def topology_json(self) -> dict[str, Any]:
        """Switches, hosts and links, each link with its load and its number of flows, and the latest moves."""
        flows_on = self.flows.placements.flows_on
        return {
            "switches": [
                {**asdict(it), "connected": it.name in self.switches.by_name} for it in self.switches.network.switches
            ],
            "hosts": [asdict(host) for host in self.switches.network.hosts],
            "links": [
                {
                    **state.edge._asdict(),
                    "up": state.up,
                    "load_bps": round(state.load_bps),
                    "capacity_bps": state.capacity_bps,
                    "flows": len(flows_on(state.edge)),
                }
                for state in self.flows.topology.states
            ],
            "moves": [asdict(move) for move in self.moves],
        }

    def health_json(self) -> dict[str, Any]:
        """Returns whether all switches are connected, and the state that they had before has been recovered."""
        names = (switch.name for switch in self.switches.network.switches)
        missing = [name for name in names if name not in self.switches.by_name]
        ready = self.recovery.is_complete and not missing
        return {"ready": ready, "missing_switches": missing, "links_down": self._links_down()}

    def collect(self) -> Iterator[Metric]:
        """Yields the metrics that are not counted by `controllers.metrics.Metrics` itself, for its registry."""
        connections = self.flows.table.connections()
        by_protocol = {"tcp": 0, "mptcp": 0, **Counter(it.protocol for it in connections)}
        subflows = sum(len(it.subflows) for it in connections)
        outcomes = {str(outcome): count for outcome, count in self.flows.outcomes.items()}
        events, muted = asdict(self.flows.table.counters), sum(guard.muted for guard in self.guards)
        yield gauge("connections", "Connections now", by_protocol, "protocol")
        yield gauge("subflows", "TCP flows now, subflows of MPTCP among them", subflows)
        yield gauge("paths", "Paths with a label now", len(self.flows.placements.paths))
        yield gauge("links_down", "Links that carry no frames", self._links_down())
        yield counter("syns", "SYNs by outcome", outcomes, "outcome")
        yield counter("connection_events", "What happened to connections", events, "event")
        yield counter("rules_written", "Rules of flows and paths sent to switches", self.writer.sent)
        yield counter("rules_refused", "Rules of flows and paths that a switch refused", self.writer.refused)
        yield counter("probes_sent", "Probes sent over links", self.prober.sent)
        yield counter("probes_heard", "Probes that came back", self.prober.received)
        yield counter("ports_quietened", "Ports that were ignored for a while", muted)

    def _links_down(self) -> int:
        return sum(not state.up for state in self.flows.topology.states)

    def _connection(self, connection: Connection) -> dict[str, Any]:
        return {
            "id": connection.id,
            "protocol": connection.protocol,
            "token": None if connection.token is None else f"{connection.token:08x}",
            "age_s": round(time.monotonic() - connection.opened_s, 3),
            "subflows": [self._subflow(subflow) for subflow in connection.subflows],
        }

    def _subflow(self, subflow: Subflow) -> dict[str, Any]:
        placement = self.flows.placements.by_flow.get(subflow.flow)
        direction = placement.forward if placement else None
        return {
            **asdict(subflow.flow),
            "state": subflow.state,
            "backup": subflow.backup,
            "joined": subflow.joined,
            "from": direction.source.name if direction else None,
            "to": direction.target.name if direction else None,
            "switches": direction.path.switches if direction else None,
            "ports": [hop.port for hop in direction.path.hops] if direction else None,
            "label": direction.label if direction else None,
        }
