"""Tells which links carry frames: without it flows would stay on a link that has died without a word.

A link is down when a switch says so of its port, or when it has become a black hole: probes that are sent over it every
`period_s` stay out `missing` times in a row, and nothing else has come out of it either. The second condition is
asked of the switch (its port's counter) and keeps a long queue, lost probes or a busy controller from looking like a
dead link. A link comes back when `returning` probes in a row have arrived in both directions, so that one which comes
and goes moves flows once.

Pure: times come in, verdicts go out.
"""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field

from controllers.paths import Edge, Hop


@dataclass(frozen=True)
class ProbePlan:
    """How links are watched.

    Args:
        period_s: between two probes over a link; 0 sends none.
        missing: so many must stay out in a row for a link to be dead.
        returning: so many must arrive in a row for it to live again.
        most_per_s: probes per second in all; where there are so many links, the period is longer.
    """

    period_s: float = 0.1
    missing: int = 3
    returning: int = 10
    most_per_s: float = 1000.0

    def period_for(self, directions: int) -> float:
        """The period with so many directions of links to watch."""
        return max(self.period_s, directions / self.most_per_s)


@dataclass
class _Direction:
    """What is known of one direction of a link.

    Attributes:
        heard_s: when the last probe arrived, or when it was known otherwise that frames do.
        streak: probes that have arrived in a row since it died.
        counted: frames out of it, at the first question after it fell silent; None: not asked.
        dead: the verdict.
    """

    heard_s: float
    streak: int = 0
    counted: int | None = None
    dead: bool = False


@dataclass
class _Watched:
    """A link: the directions, and the ends whose port is down."""

    directions: dict[Hop, _Direction]
    ports_down: set[tuple[str, int]] = field(default_factory=set)
    up: bool = True

    @property
    def is_up(self) -> bool:
        return not self.ports_down and not any(way.dead for way in self.directions.values())

    @property
    def cause(self) -> str:
        return "port down" if self.ports_down else "black hole"


@dataclass(frozen=True)
class Verdict:
    """A link that is up or down from now on.

    Args:
        edge: the link.
        up: whether it carries frames.
        cause: `port down`, `black hole` or `back`.
    """

    edge: Edge
    up: bool
    cause: str


class LinkMonitor:
    """Watches links.

    Args:
        plan: how.
    """

    def __init__(self, plan: ProbePlan) -> None:
        self._plan = plan
        self._links: dict[Edge, _Watched] = {}
        self._ends: dict[tuple[str, int], Edge] = {}
        self._ticked_s: float | None = None

    @property
    def hops(self) -> Iterator[Hop]:
        """Every direction of every link."""
        return (hop for link in self._links.values() for hop in link.directions)

    @property
    def period_s(self) -> float:
        """Between two rounds of probes."""
        return self._plan.period_for(2 * len(self._links))

    def watch(self, edges: Iterable[Edge], now_s: float) -> None:
        """From now on these links, and no others; a new one counts as up."""
        wanted = set(edges)
        for edge in set(self._links) - wanted:
            del self._links[edge]
        for edge in sorted(wanted - set(self._links)):
            hop = Hop(*edge)
            self._links[edge] = _Watched({hop: _Direction(now_s), hop.reversed(): _Direction(now_s)})
        self._ends = {end: edge for edge in self._links for end in (edge[:2], edge[2:])}

    def arrived(self, switch: str, port: int, next_switch: str, next_port: int, now_s: float) -> Iterator[Verdict]:
        """A probe sent out of a port has come in at another."""
        hop = Hop(switch, port, next_switch, next_port)
        link = self._links.get(hop.edge)
        if link is None:
            return
        way = link.directions[hop]
        in_time = now_s - way.heard_s < 2.5 * self.period_s
        way.heard_s, way.counted = now_s, None
        if way.dead:
            way.streak = way.streak + 1 if in_time else 1
            if way.streak >= self._plan.returning:
                way.dead = False
                yield from self._judge(hop.edge)

    def port(self, switch: str, port: int, live: bool, now_s: float) -> Iterator[Verdict]:
        """A switch says of a port whether its cable is whole."""
        edge = self._ends.get((switch, port))
        if edge is None:
            return
        link = self._links[edge]
        if live:
            link.ports_down.discard((switch, port))
            for way in link.directions.values():
                way.heard_s = now_s  # nothing could arrive while it was down
        else:
            link.ports_down.add((switch, port))
        yield from self._judge(edge)

    def tick(self, connected: Container[str], now_s: float) -> frozenset[str]:
        """To be called every period.

        Args:
            connected: the switches that can be asked; of a link between others nothing is learnt.
            now_s: the time.

        Returns:
            The switches whose port counters are needed now, see `counters`.
        """
        late_s = 0.0 if self._ticked_s is None else now_s - self._ticked_s - self.period_s
        self._ticked_s = now_s
        asked = set()
        for link in self._links.values():
            for hop, way in link.directions.items():
                if late_s > self.period_s:
                    way.heard_s = min(now_s, way.heard_s + late_s)  # we were busy: nothing was sent, or heard
                if hop.switch not in connected or hop.next_switch not in connected:
                    way.heard_s, way.counted = now_s, None
                elif not way.dead and self._silent(way, now_s, self._plan.missing - 1):
                    asked.add(hop.next_switch)
        return frozenset(asked)

    def counters(self, switch: str, port: int, received_packets: int, now_s: float) -> Iterator[Verdict]:
        """So many frames have come in at a port, as its switch says now."""
        edge = self._ends.get((switch, port))
        if edge is None:
            return
        hop, way = next(it for it in self._links[edge].directions.items() if it[0][2:] == (switch, port))
        if way.dead or not self._silent(way, now_s, self._plan.missing - 1):
            return
        if way.counted is None:
            way.counted = received_packets
        elif received_packets > way.counted:
            way.heard_s, way.counted = now_s, None
        elif self._silent(way, now_s, self._plan.missing):
            way.dead, way.streak, way.counted = True, 0, None
            yield from self._judge(hop.edge)

    def is_up(self, edge: Edge) -> bool:
        """The present verdict; of a link that is not watched, that it is up."""
        return self._links[edge].up if edge in self._links else True

    def _silent(self, way: _Direction, now_s: float, periods: float) -> bool:
        """Whether more than so many probes have stayed out; half a period is for their way."""
        return now_s - way.heard_s > (periods + 0.5) * self.period_s

    def _judge(self, edge: Edge) -> Iterator[Verdict]:
        link = self._links[edge]
        if link.is_up != link.up:
            link.up = link.is_up
            yield Verdict(edge, link.up, "back" if link.up else link.cause)
