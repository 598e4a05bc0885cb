"""Rerouting: moves flows off links that go down, and back when the links return."""

import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from controllers.forwarding.link_monitor import LinkChange
from controllers.metrics import Metrics
from controllers.network.paths import Edge
from controllers.output import announce
from controllers.packets.segments import FlowKey
from controllers.subflows.flows import Flows
from controllers.subflows.placements import Placement

_MAX_MOVES = 100


@dataclass(frozen=True)
class Move:
    """The flows that were moved because a link changed.

    Attributes:
        moved, stayed: flows that got another path, and flows for which there is none.
        decided_s, done_s: when the change was detected, and when the last switch confirmed, on CLOCK_MONOTONIC.
    """

    link: str
    cause: str
    moved: int
    stayed: int
    decided_s: float
    done_s: float


@dataclass
class Rerouting:
    """Gives flows other paths when links go down and come back; `moves` are the latest moves."""

    flows: Flows
    metrics: Metrics
    moves: deque[Move] = field(default_factory=lambda: deque(maxlen=_MAX_MOVES))
    _displaced: set[FlowKey] = field(default_factory=set)

    def on_link_change(self, change: LinkChange) -> None:
        """Moves the flows on a link that is down; if it is back, those that had left it or that share a link."""
        decided_s = time.monotonic()
        affected = list(self._returning() if change.up else self._leaving(change.edge))
        placements = self._place_again(affected, decided_s)
        edge, moved, stayed = change.edge, len(placements), len(affected) - len(placements)
        link = f"{edge.switch}:{edge.port}-{edge.other_switch}:{edge.other_port}"

        def done(_ok: bool) -> None:
            done_s = time.monotonic()
            self.moves.append(Move(link, change.cause, moved, stayed, decided_s, done_s))
            self.metrics.move_s.observe(done_s - decided_s)

        self.metrics.reroutes.labels(change.cause).inc()
        self.metrics.moved_flows.inc(moved)
        state = "up" if change.up else "down"
        announce(f"link {link} {state} ({change.cause}): {moved} flows moved, {stayed} stay")
        self.flows.placements.write(placements, done)

    def _leaving(self, edge: Edge) -> tuple[FlowKey, ...]:
        flows = self.flows.placements.flows_on(edge)
        self._displaced.update(flows)
        return flows

    def _returning(self) -> Iterator[FlowKey]:
        displaced, self._displaced = self._displaced, set()
        yield from (flow for flow in displaced if flow in self.flows.placements.by_flow)
        yield from (flow for flow in self._sharing() if flow not in displaced)

    def _sharing(self) -> Iterator[FlowKey]:
        """Subflows that share a link with another one of their connection: one of each such pair."""
        for connection in self.flows.table.connections():
            crossed: Counter[Edge] = Counter()
            for subflow in connection.subflows:
                edges = self.flows.placements.edges_of(subflow.flow)
                if any(crossed[edge] for edge in edges):
                    yield subflow.flow
                crossed.update(edges)

    def _place_again(self, flows: Iterable[FlowKey], now_s: float) -> list[Placement]:
        """Chooses paths again; returns the new placements of those flows that get another path than before."""
        placements = []
        for flow in flows:
            before = self.flows.placements.by_flow[flow]
            source, target = before.forward.source, before.forward.target
            subflow = self.flows.table.find(flow)
            assert subflow is not None, "each flow that has a path is in the table"
            path = self.flows.choose(subflow, source.switch, target.switch, now_s)
            if path is not None and path != before.forward.path:
                placements.append(self.flows.place(flow, path, source, target, before.cookie, now_s))
        return placements
