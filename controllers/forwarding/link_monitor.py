"""Decides which links carry frames, from probes, port states and port counters.

A link is down when a switch reports its port down, or when it has become a black hole. A probe is sent over each link
every `period_s`. If one is late, the link is suspect: it is probed four times as often, and the counters of its ports
are read. It is dead if these probes do not arrive either and, according to the counters, frames have entered it since
and none has left it. How many must have entered depends on the share of frames that it loses while it is alive: that
many in a row would be lost by chance once in a million times. So a long queue, lost frames, or a controller or switch
that is too busy for probes do not make a link look dead. A dead link is detected within little more than two periods,
mostly before TCP's first retransmission; one that used to lose frames a little later.

If very many links are suspect at once, the controller or a switch is too busy, and what is done about suspects would
keep it so. Then only those that have been silent longest are looked at.

Nothing here does any I/O: observations and times come in, changes come out.
"""

import math
from collections.abc import Collection, Container, Iterable, Iterator
from dataclasses import dataclass, field

from controllers.network.paths import Edge, Hop

URGENCY = 4
"""Factor by which a suspect link is probed more often than others."""

_LATE_PERIODS = 1.25
_TRAVEL_DECAY = 0.7
"""Decay of the longest travel time with each further probe."""

_MIN_SENT = 2
"""Minimum number of frames that have entered a link before it matters that none has left it."""

_CHANCE = 1e-6
"""Probability with which a link that is alive loses as many frames in a row as make it look dead."""

_ASSUMED_LOST, _ASSUMED_SENT = 0.1, 100
"""Frames that a link is assumed to have lost, and to have sent, beside those that are counted."""

_REMEMBERED_FRAMES = 2000
"""Number of frames after which half of what a link has carried and lost is forgotten, since it may change."""

_FIRST_TRAVEL_S = 1.0
"""Maximum travel time of the first probe; for later ones, earlier travel times are known."""


@dataclass(frozen=True)
class ProbePlan:
    """The parameters of probing.

    Args:
        period_s: time between two probes over a link; 0 sends none.
        urgent: number of further probes when one is late, `URGENCY` times as often, before the link counts as dead.
        returning: number that must arrive in a row, in both directions, before a dead link counts as up again.
        max_per_s: probes per second in all, but for further ones; if there are too many links for that, the period
            becomes longer.
    """

    period_s: float = 0.1
    urgent: int = 3
    returning: int = 10
    max_per_s: float = 1000.0

    def period_for(self, directions: int) -> float:
        return max(self.period_s, directions / self.max_per_s)

    @property
    def max_suspects(self) -> int:
        """Maximum number of directions to look at, at a time: no less than can be probed without a longer period."""
        return math.ceil(self.period_s * self.max_per_s)


@dataclass
class _Losses:
    """Counts what enters and what leaves one direction of a link while it is alive.

    Frames under way count as lost, until they arrive.
    """

    entered: float = 0.0
    left: float = 0.0
    _entered_before: int | None = None
    _left_before: int | None = None

    def note_entered(self, frames: int) -> None:
        if self._entered_before is not None:
            self.entered += max(frames - self._entered_before, 0)  # a switch that restarts counts from 0 again
        self._entered_before = frames
        if self.entered > _REMEMBERED_FRAMES:
            self.entered, self.left = self.entered / 2, self.left / 2

    def note_left(self, frames: int) -> None:
        if self._left_before is not None:
            self.left += max(frames - self._left_before, 0)
        self._left_before = frames

    def pause(self) -> None:
        """Leaves out what happens until the next readings."""
        self._entered_before = self._left_before = None

    @property
    def longest_row(self) -> int:
        """Returns the number of frames that are lost in a row by chance as rarely as `_CHANCE` says."""
        lost = max(self.entered - self.left, 0.0) + _ASSUMED_LOST
        return math.ceil(math.log(_CHANCE) / math.log(lost / (self.entered + _ASSUMED_SENT)))


@dataclass
class _Direction:
    """The state of one direction of a link.

    Attributes:
        alive_s: time of the last frame that it is known to have carried.
        travel_s: travel time of recent probes; None: none has arrived yet.
        streak: number of probes that have arrived in a row since it died.
        received: frames that had left it when it became suspect; None: not known yet.
        received_s: time by which these were counted.
        sent: frames that had entered it some time after `received_s`; None: not known yet.
        fed_s: time by which enough more frames had entered it; None: they have not.
        losses: what it carries and loses while it is alive.
    """

    alive_s: float
    travel_s: float | None = None
    streak: int = 0
    received: int | None = None
    received_s: float = float("inf")
    sent: int | None = None
    fed_s: float | None = None
    dead: bool = False
    losses: _Losses = field(default_factory=_Losses)

    def mark_alive(self, now_s: float) -> None:
        self.alive_s = now_s
        self.sent = self.received = self.fed_s = None
        self.received_s = float("inf")


@dataclass
class _WatchedLink:
    """Both directions of a link, and those of its ends whose port is down."""

    directions: dict[Hop, _Direction]
    ports_down: set[tuple[str, int]] = field(default_factory=set)
    reported_up: bool = True

    @property
    def cause(self) -> str:
        if self.ports_down:
            return "port down"
        return "black hole" if any(direction.dead for direction in self.directions.values()) else "back"


@dataclass(frozen=True)
class LinkChange:
    """A link that has gone down or come back; the cause is `port down`, `black hole` or `back`."""

    edge: Edge
    up: bool
    cause: str


class LinkMonitor:
    """Watches links."""

    def __init__(self, plan: ProbePlan) -> None:
        self._plan = plan
        self._links: dict[Edge, _WatchedLink] = {}
        self._ends: dict[tuple[str, int], Edge] = {}
        self._wanted: set[str] = set()
        self._deferred: frozenset[Hop] = frozenset()

    def ends(self) -> Collection[tuple[str, int]]:
        """Returns the ports at both ends of every link."""
        return self._ends

    @property
    def period_s(self) -> float:
        return self._plan.period_for(2 * len(self._links))

    @property
    def tick_s(self) -> float:
        return self.period_s / URGENCY

    def watch(self, edges: Iterable[Edge], now_s: float) -> None:
        """Watches these links from now on, and no others; a new one counts as up."""
        wanted = set(edges)
        for edge in set(self._links) - wanted:
            del self._links[edge]
        for edge in sorted(wanted - set(self._links)):
            hop = Hop(*edge)
            self._links[edge] = _WatchedLink({hop: _Direction(now_s), hop.reversed(): _Direction(now_s)})
        self._ends = {end: edge for edge in self._links for end in (edge[:2], edge[2:])}

    def on_probe(self, hop: Hop, travel_s: float, now_s: float) -> Iterator[LinkChange]:
        """Notes that a probe has crossed a link, and how long it took."""
        link = self._links.get(hop.edge)
        if link is None:
            return
        direction = link.directions[hop]
        is_in_row = now_s - direction.alive_s < 2.5 * self.period_s
        direction.mark_alive(now_s)
        direction.travel_s = max(travel_s, _TRAVEL_DECAY * (direction.travel_s or 0.0))
        if direction.dead:
            direction.streak = direction.streak + 1 if is_in_row else 1
            if direction.streak >= self._plan.returning:
                direction.dead = False
                yield from self._changes(hop.edge)

    def on_port(self, switch: str, port: int, up: bool, now_s: float) -> Iterator[LinkChange]:
        edge = self._ends.get((switch, port))
        if edge is None:
            return
        link = self._links[edge]
        if up:
            link.ports_down.discard((switch, port))
            for direction in link.directions.values():
                direction.alive_s = now_s  # nothing could arrive while the port was down
        else:
            link.ports_down.add((switch, port))
        yield from self._changes(edge)

    def tick(self, connected: Container[str], now_s: float) -> frozenset[Hop]:
        """Looks for links that have fallen silent. To be called every `tick_s`.

        Args:
            connected: the switches that report; links to others count as alive.

        Returns:
            Suspect directions, at most `ProbePlan.max_suspects`: probe them now, and give the counters of their ends
            to `on_counters`.
        """
        suspects: list[tuple[float, Hop]] = []
        for link in self._links.values():
            for hop, direction in link.directions.items():
                if hop.switch not in connected or hop.next_switch not in connected:
                    direction.mark_alive(now_s)
                elif self._is_suspect(direction, now_s):
                    suspects.append((direction.alive_s, hop))
        suspects.sort()
        hops = [hop for _, hop in suspects]
        self._deferred = frozenset(hops[self._plan.max_suspects :])
        return frozenset(hops[: self._plan.max_suspects])

    def on_counters(
        self, switch: str, port: int, sent: int, received: int, now_s: float, *, requested_s: float
    ) -> Iterator[LinkChange]:
        """Notes how many frames a port has sent and received, as its switch reports it.

        Args:
            requested_s: send time of the request. The counters were read at some time between then and `now_s`: a busy
                switch answers late, and a busy controller reads the answer late. So only what was requested after
                another report had come is certain to be newer.
        """
        edge = self._ends.get((switch, port))
        if edge is None:
            return
        for hop, direction in self._links[edge].directions.items():
            enters = hop[:2] == (switch, port)
            if direction.dead:
                continue
            if not self._is_suspect(direction, now_s):
                if enters:
                    direction.losses.note_entered(sent)
                else:
                    direction.losses.note_left(received)
            elif hop not in self._deferred:
                if enters:
                    self._note_sent(direction, sent, now_s, requested_s)
                else:
                    if direction.received is None:
                        self._wanted.add(hop.switch)
                    self._note_received(direction, received, now_s, requested_s)
        yield from self._changes(edge)

    def pop_wanted(self) -> frozenset[str]:
        """Returns the switches whose counters to request now: those to which suspect links begin to be compared."""
        wanted, self._wanted = frozenset(self._wanted), set()
        return wanted

    def _is_suspect(self, direction: _Direction, now_s: float) -> bool:
        return not direction.dead and now_s - direction.alive_s > _LATE_PERIODS * self.period_s

    @staticmethod
    def _note_sent(direction: _Direction, sent: int, now_s: float, requested_s: float) -> None:
        if requested_s < direction.received_s:
            return  # what has entered the link by then may be among the frames that had left it
        if direction.sent is None:
            direction.sent = sent
        elif direction.fed_s is None and sent - direction.sent >= max(_MIN_SENT, direction.losses.longest_row):
            direction.fed_s = now_s

    def _note_received(self, direction: _Direction, received: int, now_s: float, requested_s: float) -> None:
        if direction.received is None:
            direction.received, direction.received_s = received, now_s
        elif received > direction.received:
            direction.mark_alive(now_s)
        elif direction.fed_s is not None and requested_s - direction.fed_s >= (direction.travel_s or 0.0):
            direction.dead, direction.streak = now_s - direction.alive_s > self._silence_limit_s(direction), 0
            if direction.dead:
                direction.losses.pause()

    def _silence_limit_s(self, direction: _Direction) -> float:
        """Returns the maximum time for which nothing leaves a link that is alive."""
        travel_s = _FIRST_TRAVEL_S if direction.travel_s is None else direction.travel_s
        return _LATE_PERIODS * self.period_s + self._plan.urgent * self.tick_s + travel_s

    def _changes(self, edge: Edge) -> Iterator[LinkChange]:
        link = self._links[edge]
        cause = link.cause
        if link.reported_up != (cause == "back"):
            link.reported_up = not link.reported_up
            yield LinkChange(edge, link.reported_up, cause)
