"""Tells which links carry frames: without it flows would stay on a link that has died without a word.

A link is down when a switch says so of its port, or when it has become a black hole: a probe is sent over it every
`period_s`; one that is late makes it suspect. It is dead if what follows at a quarter of the period stays out too, and
the switches say (their ports' counters) that frames have gone in since, and none has come out: a long queue, lost
probes, or a controller or switch that is too busy for probes, do not look like a dead link then. So the verdict comes
between one and two periods after the link died, and a little, and mostly before TCP's first retransmission (200 ms and
a round trip): if that one was lost too, the next would take twice as long. A link comes back when `returning` probes in
a row have arrived in both directions, so that one which comes and goes moves flows once.

Pure: times come in, verdicts go out.
"""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field

from controllers.network.paths import Edge, Hop

URGENCY = 4
"""So many times as often as others are links probed that may be dead."""

_LATE_PERIODS = 1.25
_FORGOTTEN = 0.7
"""How much of the longest time that a probe took still counts when the next one has come."""

_ENOUGH_SENT = 2
"""So many frames must have gone into a link that is to be dead because none came out."""

_FIRST_TRAVEL_S = 1.0
"""So long the first probe may take; later ones have its time to go by."""


@dataclass(frozen=True)
class ProbePlan:
    """How links are watched.

    Args:
        period_s: between two probes over a link; 0 sends none.
        urgent: so many more are sent when one is late, `URGENCY` times as often; if they stay out too it is dead.
        returning: so many must arrive in a row for it to live again.
        most_per_s: probes per second in all; where there are so many links, the period is longer.
    """

    period_s: float = 0.1
    urgent: int = 3
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
        travel_s: how long probes have taken lately; None: none has arrived yet.
        streak: probes that have arrived in a row since it died.
        sent, received: frames into and out of it, at the first question after it fell silent; None: not told yet.
        fed_s: since when enough frames are known to have gone in meanwhile; None: they are not.
        dead: the verdict.
    """

    heard_s: float
    travel_s: float | None = None
    streak: int = 0
    sent: int | None = None
    received: int | None = None
    fed_s: float | None = None
    dead: bool = False

    def carries(self, now_s: float) -> None:
        """It has just been seen to carry frames."""
        self.heard_s = now_s
        self.sent = self.received = self.fed_s = None


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

    @property
    def hops(self) -> Iterator[Hop]:
        """Every direction of every link."""
        return (hop for link in self._links.values() for hop in link.directions)

    @property
    def period_s(self) -> float:
        """Between two probes over a link."""
        return self._plan.period_for(2 * len(self._links))

    @property
    def tick_s(self) -> float:
        """Between two calls of `tick`."""
        return self.period_s / URGENCY

    def watch(self, edges: Iterable[Edge], now_s: float) -> None:
        """From now on these links, and no others; a new one counts as up."""
        wanted = set(edges)
        for edge in set(self._links) - wanted:
            del self._links[edge]
        for edge in sorted(wanted - set(self._links)):
            hop = Hop(*edge)
            self._links[edge] = _Watched({hop: _Direction(now_s), hop.reversed(): _Direction(now_s)})
        self._ends = {end: edge for edge in self._links for end in (edge[:2], edge[2:])}

    def arrived(self, hop: Hop, travel_s: float, now_s: float) -> Iterator[Verdict]:
        """A probe has crossed a link, and took so long."""
        link = self._links.get(hop.edge)
        if link is None:
            return
        way = link.directions[hop]
        in_time = now_s - way.heard_s < 2.5 * self.period_s
        way.carries(now_s)
        way.travel_s = max(travel_s, _FORGOTTEN * (way.travel_s or 0.0))
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

    def tick(self, connected: Container[str], now_s: float) -> frozenset[Hop]:
        """To be called every `tick_s`.

        Args:
            connected: the switches that can be asked; of a link between others nothing is learnt.
            now_s: the time.

        Returns:
            Suspects: they are to be probed now, and the counters of their ends are needed, see `counters`.
        """
        suspects = set()
        for link in self._links.values():
            for hop, way in link.directions.items():
                if hop.switch not in connected or hop.next_switch not in connected:
                    way.carries(now_s)
                elif self._is_suspect(way, now_s):
                    suspects.add(hop)
        return frozenset(suspects)

    def counters(self, switch: str, port: int, sent: int, received: int, now_s: float) -> Iterator[Verdict]:
        """So many frames have gone out of a port, and come in at it, as its switch says now."""
        edge = self._ends.get((switch, port))
        if edge is None:
            return
        for hop, way in self._links[edge].directions.items():
            if not self._is_suspect(way, now_s):
                continue
            if hop[:2] == (switch, port):
                self._note_sent(way, sent, now_s)
            else:
                self._note_received(way, received, now_s)
        yield from self._judge(edge)

    def is_up(self, edge: Edge) -> bool:
        """The present verdict; of a link that is not watched, that it is up."""
        return self._links[edge].up if edge in self._links else True

    def _is_suspect(self, way: _Direction, now_s: float) -> bool:
        return not way.dead and now_s - way.heard_s > _LATE_PERIODS * self.period_s

    def _note_sent(self, way: _Direction, sent: int, now_s: float) -> None:
        if way.sent is None:
            way.sent = sent
        elif way.fed_s is None and sent - way.sent >= _ENOUGH_SENT:
            way.fed_s = now_s

    def _note_received(self, way: _Direction, received: int, now_s: float) -> None:
        if way.received is None:
            way.received = received
        elif received > way.received:
            way.carries(now_s)
        elif way.fed_s is not None and now_s - way.fed_s >= (way.travel_s or 0.0):
            way.dead, way.streak = now_s - way.heard_s > self._patience_s(way), 0

    def _patience_s(self, way: _Direction) -> float:
        """How long nothing may come out of a link that is alive."""
        travel_s = _FIRST_TRAVEL_S if way.travel_s is None else way.travel_s
        return _LATE_PERIODS * self.period_s + self._plan.urgent * self.tick_s + travel_s

    def _judge(self, edge: Edge) -> Iterator[Verdict]:
        link = self._links[edge]
        if link.is_up != link.up:
            link.up = link.is_up
            yield Verdict(edge, link.up, "back" if link.up else link.cause)
