"""What the controller knows, as plain data: without it nobody could see which subflow is on which path."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from controllers.connections import Connection, Subflow
from controllers.metrics import Reading

if TYPE_CHECKING:
    from controllers.steering_app import SteeringApp


def connections(app: "SteeringApp") -> dict[str, Any]:
    """All connections with their subflows and paths."""
    return {
        "policy": app.settings.policy,
        "connections": [_connection(app, it) for it in app.flows.table.connections()],
        "counters": vars(app.flows.table.counters),
        "syns": {str(outcome): number for outcome, number in app.flows.outcomes.items()},
        "restored": app.takeover.restored,
    }


def topology(app: "SteeringApp") -> dict[str, Any]:
    """Switches, hosts and links; of each link its load and the flows on it."""
    return {
        "switches": [
            {"name": switch.name, "dpid": switch.dpid, "connected": switch.name in app.connected}
            for switch in app.network.switches
        ],
        "hosts": [
            {
                "name": host.name,
                "interfaces": [
                    {"name": it.name, "mac": it.mac, "addresses": it.addresses, "switch": it.switch, "port": it.port}
                    for it in host.interfaces
                ],
            }
            for host in app.network.hosts
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
                "flows": len(app.flows.flows_on(edge)),
            }
            for _, _, edge, state in sorted(app.topology.graph.edges(keys=True, data="state"), key=lambda it: it[2])
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
            for move in app.moves
        ],
    }


def health(app: "SteeringApp") -> dict[str, Any]:
    """Whether all switches are there, and the controller has taken up what they had."""
    missing = [switch.name for switch in app.network.switches if switch.name not in app.connected]
    links_down = sum(not state.up for _, _, state in app.topology.graph.edges(data="state"))
    ready = app.takeover.complete and not missing
    return {"ready": ready, "missing_switches": missing, "links_down": links_down}


def readings(app: "SteeringApp") -> Iterator[Reading]:
    """What others than `controllers.metrics` count."""
    table = app.flows.table
    by_protocol = {"tcp": 0, "mptcp": 0}
    subflows = 0
    for connection in table.connections():
        by_protocol[connection.protocol] += 1
        subflows += len(connection.subflows)
    for protocol, number in by_protocol.items():
        yield "gauge", "connections", "Connections now", number, {"protocol": protocol}
    yield "gauge", "subflows", "TCP flows now, subflows of MPTCP among them", subflows, {}
    yield "gauge", "paths", "Paths with a label now", len(app.flows.paths), {}
    yield "gauge", "links_down", "Links that carry nothing", health(app)["links_down"], {}
    for outcome, number in app.flows.outcomes.items():
        yield "counter", "syns", "SYNs, by what became of them", number, {"outcome": str(outcome)}
    for event, number in vars(table.counters).items():
        yield "counter", "connection_events", "What happened to connections", number, {"event": event}
    yield "counter", "rules_written", "Rules of flows and paths sent to switches", app.writer.sent, {}
    yield "counter", "rules_refused", "Rules of flows and paths that a switch refused", app.writer.refused, {}
    yield "counter", "probes_sent", "Probes sent over links", app.watch.sent, {}
    yield "counter", "probes_heard", "Probes that came back", app.watch.heard, {}
    yield "counter", "ports_quietened", "Ports that were not listened to for a while", app.guard.quietened, {}


def _connection(app: "SteeringApp", connection: Connection) -> dict[str, Any]:
    return {
        "id": connection.id,
        "protocol": connection.protocol,
        "token": None if connection.token is None else f"{connection.token:08x}",
        "age_s": round(time.monotonic() - connection.opened_s, 3),
        "subflows": [_subflow(app, subflow) for subflow in connection.subflows],
    }


def _subflow(app: "SteeringApp", subflow: Subflow) -> dict[str, Any]:
    placement = app.flows.placements.get(subflow.flow)
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
