"""Moves flows off links that die, and back: without it a verdict on a link would change nothing for those on it."""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from controllers.forwarding.link_monitor import Verdict
from controllers.metrics import Metrics
from controllers.network.paths import Edge
from controllers.packets.segments import FlowKey
from controllers.subflows.flows import Flows
from controllers.subflows.placements import Placement

_REMEMBERED = 100


@dataclass(frozen=True)
class Move:
    """What a verdict on a link has moved.

    Attributes:
        link: its ends.
        cause: see `controllers.forwarding.link_monitor.Verdict`.
        moved, stayed: flows that got another path, and that did not (there is none).
        decided_s, done_s: the verdict, and the last switch's confirmation, on CLOCK_MONOTONIC.
    """

    link: str
    cause: str
    moved: int
    stayed: int
    decided_s: float
    done_s: float


class Rerouting:
    """Gives flows other paths when links go and come.

    Args:
        flows: all of them.
        metrics: what is counted.
        say: tells people.

    Attributes:
        moves: the latest.
    """

    def __init__(self, flows: Flows, metrics: Metrics, say: Callable[[str], None]) -> None:
        self.moves: deque[Move] = deque(maxlen=_REMEMBERED)
        self._flows = flows
        self._metrics = metrics
        self._say = say
        self._displaced: set[FlowKey] = set()

    def follow(self, verdict: Verdict) -> None:
        """A link is down: what is on it goes elsewhere; or it is back: what was on it, or shares a link, may return."""
        decided_s = time.monotonic()
        affected = list(self._returning() if verdict.up else self._leaving(verdict.edge))
        placements = self._place_anew(affected, decided_s)
        moved, stayed, link = len(placements), len(affected) - len(placements), name_of(verdict.edge)

        def done(_ok: bool) -> None:
            done_s = time.monotonic()
            self.moves.append(Move(link, verdict.cause, moved, stayed, decided_s, done_s))
            self._metrics.move_s.observe(done_s - decided_s)

        self._metrics.reroutes.labels(verdict.cause).inc()
        self._metrics.moved_flows.inc(moved)
        state = "up" if verdict.up else "down"
        self._say(f"link {link} {state} ({verdict.cause}): {moved} flows moved, {stayed} stay")
        self._flows.placements.write(placements, done)

    def _leaving(self, edge: Edge) -> tuple[FlowKey, ...]:
        flows = self._flows.placements.flows_on(edge)
        self._displaced.update(flows)
        return flows

    def _returning(self) -> Iterator[FlowKey]:
        displaced, self._displaced = self._displaced, set()
        yield from (flow for flow in displaced if flow in self._flows.placements.by_flow)
        yield from (flow for flow in self._sharing() if flow not in displaced)

    def _sharing(self) -> Iterator[FlowKey]:
        """Subflows that share a link with another one of their connection: one of each such pair."""
        for connection in self._flows.table.connections():
            crossed: Counter[Edge] = Counter()
            for subflow in connection.subflows:
                edges = self._flows.placements.edges_of(subflow.flow)
                if any(crossed[edge] for edge in edges):
                    yield subflow.flow
                crossed.update(edges)

    def _place_anew(self, flows: Iterable[FlowKey], now_s: float) -> list[Placement]:
        """Chooses paths anew; flows that have no other than now stay."""
        moved = []
        for flow in flows:
            before = self._flows.placements.by_flow[flow]
            source, target = before.forth.source, before.forth.target
            path = self._flows.choose(self._flows.table.find(flow), source.switch, target.switch, now_s)
            if path is not None and path != before.forth.path:
                moved.append(self._flows.place(flow, path, source, target, before.cookie, now_s))
        return moved


def name_of(edge: Edge) -> str:
    """A link's ends, for people."""
    return f"{edge.switch}:{edge.port}-{edge.other_switch}:{edge.other_port}"
