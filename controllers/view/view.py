"""What the controller knows, as plain data: without it nobody could see which subflow is on which path."""

import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from controllers.discovery.port_guard import PortGuard
from controllers.discovery.state_recovery import Takeover
from controllers.forwarding.link_watch import LinkWatch
from controllers.metrics import Reading
from controllers.network.description import Network
from controllers.network.paths import Topology
from controllers.openflow.writes import Writer
from controllers.subflows.connections import Connection, Subflow
from controllers.subflows.flows import Flows
from controllers.subflows.rerouting import Move


@dataclass(frozen=True)
class Known:
    """The parts of a controller that know something.

    Args:
        policy: the name.
        network: what there is, whether it works or not.
        connected: names of the switches that are connected.
        flows, topology, takeover, writer, watch, guards: see their classes.
        moves: what failures have moved.
    """

    policy: str
    network: Network
    connected: Collection[str]
    flows: Flows
    topology: Topology
    takeover: Takeover
    writer: Writer
    watch: LinkWatch
    guards: Collection[PortGuard]
    moves: Collection[Move]


def connections(known: Known) -> dict[str, Any]:
    """All connections with their subflows and paths."""
    return {
        "policy": known.policy,
        "connections": [_connection(known, it) for it in known.flows.table.connections()],
        "counters": vars(known.flows.table.counters),
        "syns": {str(outcome): number for outcome, number in known.flows.outcomes.items()},
        "restored": known.takeover.restored,
    }


def topology(known: Known) -> dict[str, Any]:
    """Switches, hosts and links; of each link its load and the flows on it."""
    return {
        "switches": [
            {"name": switch.name, "dpid": switch.dpid, "connected": switch.name in known.connected}
            for switch in known.network.switches
        ],
        "hosts": [
            {
                "name": host.name,
                "interfaces": [
                    {"name": it.name, "mac": it.mac, "addresses": it.addresses, "switch": it.switch, "port": it.port}
                    for it in host.interfaces
                ],
            }
            for host in known.network.hosts
        ],
        "links": [
            {
                "switch": edge.switch,
                "port": edge.port,
                "other_switch": edge.other_switch,
                "other_port": edge.other_port,
                "up": state.up,
                "load_bps": round(state.load_bps),
                "capacity_bps": state.capacity_bps,
                "flows": len(known.flows.placements.flows_on(edge)),
            }
            for _, _, edge, state in sorted(known.topology.graph.edges(keys=True, data="state"), key=lambda it: it[2])
        ],
        "moves": [
            {
                "link": move.link,
                "cause": move.cause,
                "moved": move.moved,
                "stayed": move.stayed,
                "decided_s": move.decided_s,
                "done_s": move.done_s,
            }
            for move in known.moves
        ],
    }


def health(known: Known) -> dict[str, Any]:
    """Whether all switches are there, and the controller has taken up what they had."""
    missing = [switch.name for switch in known.network.switches if switch.name not in known.connected]
    links_down = sum(not state.up for _, _, state in known.topology.graph.edges(data="state"))
    ready = known.takeover.complete and not missing
    return {"ready": ready, "missing_switches": missing, "links_down": links_down}


def readings(known: Known) -> Iterator[Reading]:
    """What others than `controllers.metrics` count."""
    table = known.flows.table
    quietened = sum(guard.quietened for guard in known.guards)
    by_protocol = {"tcp": 0, "mptcp": 0}
    subflows = 0
    for connection in table.connections():
        by_protocol[connection.protocol] += 1
        subflows += len(connection.subflows)
    for protocol, number in by_protocol.items():
        yield "gauge", "connections", "Connections now", number, {"protocol": protocol}
    yield "gauge", "subflows", "TCP flows now, subflows of MPTCP among them", subflows, {}
    yield "gauge", "paths", "Paths with a label now", len(known.flows.placements.paths), {}
    yield "gauge", "links_down", "Links that carry nothing", health(known)["links_down"], {}
    for outcome, number in known.flows.outcomes.items():
        yield "counter", "syns", "SYNs, by what became of them", number, {"outcome": str(outcome)}
    for event, number in vars(table.counters).items():
        yield "counter", "connection_events", "What happened to connections", number, {"event": event}
    yield "counter", "rules_written", "Rules of flows and paths sent to switches", known.writer.sent, {}
    yield "counter", "rules_refused", "Rules of flows and paths that a switch refused", known.writer.refused, {}
    yield "counter", "probes_sent", "Probes sent over links", known.watch.sent, {}
    yield "counter", "probes_heard", "Probes that came back", known.watch.heard, {}
    yield "counter", "ports_quietened", "Ports that were not listened to for a while", quietened, {}


def _connection(known: Known, connection: Connection) -> dict[str, Any]:
    return {
        "id": connection.id,
        "protocol": connection.protocol,
        "token": None if connection.token is None else f"{connection.token:08x}",
        "age_s": round(time.monotonic() - connection.opened_s, 3),
        "subflows": [_subflow(known, subflow) for subflow in connection.subflows],
    }


def _subflow(known: Known, subflow: Subflow) -> dict[str, Any]:
    placement = known.flows.placements.by_flow.get(subflow.flow)
    direction = placement.forth if placement else None
    return {
        "source": subflow.flow.source,
        "source_port": subflow.flow.source_port,
        "destination": subflow.flow.destination,
        "destination_port": subflow.flow.destination_port,
        "state": str(subflow.state),
        "backup": subflow.backup,
        "joined": subflow.joined,
        "from": direction.source.name if direction else None,
        "to": direction.target.name if direction else None,
        "switches": direction.path.switches if direction else None,
        "ports": [hop.port for hop in direction.path.hops] if direction else None,
        "label": direction.label if direction else None,
    }
