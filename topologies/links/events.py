"""Link events: changes, cuts and black holes at given times of a run.

Each event is passed to its link's emulator before the start, with its due time. The emulator executes it by its own
clock, however busy this process is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mininet.topo import Topo

from flightpath.errors import UsageError
from flightpath.suggestions import did_you_mean
from flightpath.units import parse_duration
from topologies.links.changes import DIRECTIONS, ChangeableLink, Direction, DryRunLink
from topologies.links.emulated_link import EmulatedLink
from topologies.links.fields import parse_switch, parse_whole
from topologies.links.spec import FIELDS, LinkSpec, link_fields
from topologies.links.tables import Table, read_table
from topologies.links.texts import read_pairs

EVENT_FORMS = (
    '"WHEN LINK WHAT", for example "10s h1-s1 bandwidth=10Mbit delay=5ms", "20s h1-s1 down", "25s h1-s1 up", '
    '"0s h1-s1 table=leo.csv repeat=4"'
)
_BLACK_HOLE = "blackhole"
EVENT_KEYS = (*(field.key for name, field in FIELDS.items() if name != "mtu_bytes"), _BLACK_HOLE)
"""Keys that an event can change, besides the carrier."""

_Reports = Mapping[Direction, Mapping[str, Any]]

Ends = tuple[tuple[str, str], tuple[str, str]]
"""Names of node and interface at a link's end a, and at its end b."""


@dataclass(frozen=True)
class LinkEvent:
    """A change of one link.

    Attributes:
        at_s: time in seconds since the start.
        link: `h1-s1`, or `h1->s1` for one direction; where several links join two nodes, `h1-eth1` (an interface).
        carrier: False cuts the cable, True reconnects it, None changes nothing.
        black_hole: True drops all packets, False ends that, None changes nothing.
        changes: keys and values of `topologies.links.spec.link_fields`.
    """

    at_s: float
    link: str
    carrier: bool | None = None
    black_hole: bool | None = None
    changes: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.at_s < float("inf"):
            raise UsageError(f"event: {self.at_s} s is not a time after the start")
        if self.carrier is not None and "->" in self.link:
            raise UsageError(f"event: {self.link} is one direction, but a cable is cut in both", "use blackhole=on")
        if "mtu_bytes" in self.fields:
            raise UsageError("event: the mtu cannot change while the link is up")

    @classmethod
    def parse(cls, text: str) -> "LinkEvent":
        """Reads `10s h1-s1 bandwidth=10Mbit delay=5ms`, `20s h1-s1 down` or `30s h1->s1 blackhole=on`."""
        when, link, what = [*text.split(maxsplit=2), "", "", ""][:3]
        if not what:
            raise UsageError(f"event: cannot read {text!r}", f"accepted form: {EVENT_FORMS}")
        at_s = round(parse_duration(when, "event"), 9)
        if what in ("up", "down"):
            return cls(at_s, link, carrier=what == "up")
        pairs = read_pairs(what)
        black_hole = pairs.pop(_BLACK_HOLE, None)
        is_black = None if black_hole is None else parse_switch(black_hole, _BLACK_HOLE)
        return cls(at_s, link, black_hole=is_black, changes=tuple(pairs.items()))

    @property
    def fields(self) -> dict[str, Any]:
        """Changes as `ChangeableLink.change` takes them."""
        return link_fields(dict(self.changes))

    def apply(self, link: ChangeableLink, directions: Sequence[Direction], at_ns: int | None = None) -> None:
        """Makes the change at a time on CLOCK_MONOTONIC; by default now."""
        if self.carrier is not None:
            link.set_carrier(self.carrier, at_ns=at_ns)
        if self.changes:
            link.change(*directions, at_ns=at_ns, **self.fields)
        if self.black_hole is not None:
            link.set_black_hole(self.black_hole, *directions, at_ns=at_ns)

    def __str__(self) -> str:
        when = f"{self.at_s:.9f}".rstrip("0").rstrip(".")  # to the nanosecond: a stored plan is repeated exactly
        carrier = [] if self.carrier is None else ["up" if self.carrier else "down"]
        changes = [f"{key}={value}" for key, value in self.changes]
        black_hole = [] if self.black_hole is None else [f"{_BLACK_HOLE}={'on' if self.black_hole else 'off'}"]
        return " ".join([f"{when}s", self.link, *carrier, *changes, *black_hole])


def parse_events(texts: Iterable[str]) -> list[LinkEvent]:
    """Reads events; `5s h1-s1 table=FILE` and `5s h1-s1 table=FILE repeat=4` stand for an event for each row."""
    return [event for text in texts for event in _parse_one(text)]


def normalised(text: str) -> str:
    """Returns a valid event as it is stored: with units, and the absolute path of a table."""
    if not _is_table(text):
        return str(LinkEvent.parse(text))
    parse_events([text])
    when, link, table, repeat = _table_words(text)
    return f"{when} {link} table={table.path} repeat={repeat}"


def _is_table(text: str) -> bool:
    return any(word.startswith("table=") for word in text.split()[2:])


def _table_words(text: str) -> tuple[str, str, Table, int]:
    when, link, what = text.split(maxsplit=2)
    pairs = read_pairs(what)
    table, repeat = read_table(Path(pairs.pop("table"))), parse_whole(pairs.pop("repeat", "1"), "repeat")
    if pairs:
        raise UsageError(
            f"event: {', '.join(pairs)} beside a table", "give the table a column, or make it another event"
        )
    if repeat < 1:
        raise UsageError(f"repeat: {repeat} is not 1 or more")
    return when, link, table, repeat


def _parse_one(text: str) -> list[LinkEvent]:
    if not _is_table(text):
        return [LinkEvent.parse(text)]
    when, link, table, repeat = _table_words(text)
    begin_s = parse_duration(when, "event")
    return [
        LinkEvent(round(begin_s + at_s, 9), link, changes=tuple(settings.items()))
        for at_s, settings in table.changes(repeat)
    ]


@dataclass(frozen=True)
class Scheduled:
    """An event that has been passed to its link.

    Attributes:
        reports: for each direction, the changed settings that the link's statistics report from then on.
    """

    event: LinkEvent
    link: EmulatedLink
    directions: tuple[Direction, ...]
    due_ns: int
    reports: _Reports


def schedule(events: Iterable[LinkEvent], links: Sequence[EmulatedLink], start_ns: int) -> list[Scheduled]:
    """Passes each event to its link; the events may come in any order, and later ones build on earlier ones.

    Args:
        start_ns: start time on CLOCK_MONOTONIC (`time.monotonic_ns()`).

    Raises:
        UsageError: an event names no link, or makes no valid specification. Then no event is passed on.
    """
    dry_runs, scheduled = [DryRunLink(link.a_to_b, link.b_to_a) for link in links], []
    for event, number, directions in _dry_run(events, [ends_of(link) for link in links], dry_runs):
        link, due_ns = links[number], start_ns + round(event.at_s * 1e9)
        before = {way: getattr(link, way).settings for way in directions}
        event.apply(link, directions, due_ns)
        scheduled.append(Scheduled(event, link, directions, due_ns, _changed(event, link, before)))
    return scheduled


def check(events: Iterable[LinkEvent], topology: Topo) -> None:
    """Raises the UsageError that `schedule` would raise, without starting the network."""
    infos = _infos(topology)
    specs = [(info, info.get("spec") or LinkSpec()) for info in infos]
    links = [DryRunLink(info.get("a_to_b") or spec, info.get("b_to_a") or spec) for info, spec in specs]
    _dry_run(events, planned_ends(topology), links)


def planned_ends(topology: Topo) -> list[Ends]:
    """Returns the ends of a topology's links as `ends_of` does when they are made."""
    return [(planned_end(info, 1), planned_end(info, 2)) for info in _infos(topology)]


def _infos(topology: Topo) -> list[Mapping[str, Any]]:
    return [info for _a, _b, info in topology.links(sort=True, withInfo=True)]


def planned_end(info: Mapping[str, Any], number: int) -> tuple[str, str]:
    """Returns the names of the node and the interface at an end of a topology's link, 1 or 2."""
    node = info[f"node{number}"]
    return node, f"{node}-eth{info[f'port{number}']}"


def ends_of(link: EmulatedLink) -> Ends:
    """Returns the names of a link's ends."""
    return (link.intf1.node.name, link.intf1.name), (link.intf2.node.name, link.intf2.name)


class LinkNames:
    """All names of links (see `LinkEvent.link`), and which links and directions they mean."""

    def __init__(self, ends: Sequence[Ends]) -> None:
        self._ends = ends
        self._meanings: dict[str, list[tuple[int, tuple[Direction, ...]]]] = {}
        for number, link in enumerate(ends):
            for name, directions in _names(link).items():
                self._meanings.setdefault(name, []).append((number, directions))

    def find(self, name: str) -> tuple[int, tuple[Direction, ...]]:
        """Returns the number of the link of this name, and the directions that it means; UsageError if none has it."""
        matches = self._meanings.get(name, [])
        if len(matches) == 1:
            return matches[0]
        if matches:
            interfaces = ", ".join(self._ends[number][0][1] for number, _ in matches)
            raise UsageError(f"{len(matches)} links are called {name}", f"name one by its interface: {interfaces}")
        links = ", ".join(sorted({f"{a[0]}-{b[0]}" for a, b in self._ends}))
        raise UsageError(f"there is no link {name!r}", did_you_mean(name, self._meanings, f"links: {links}"))


def find(name: str, ends: Sequence[Ends]) -> tuple[int, tuple[Direction, ...]]:
    """Finds a link by name; returns its index in `ends`, and the directions that the name means."""
    return LinkNames(ends).find(name)


def _changed(event: LinkEvent, link: EmulatedLink, before: Mapping[Direction, Mapping[str, Any]]) -> _Reports:
    """Returns the changed settings that the link reports for each direction after an event."""
    holes = {} if event.black_hole is None else {_BLACK_HOLE: event.black_hole}
    after = {way: getattr(link, way).settings for way in before}
    return {
        way: {**{key: value for key, value in after[way].items() if before[way].get(key) != value}, **holes}
        for way in before
    }


def _names(ends: Ends) -> dict[str, tuple[Direction, ...]]:
    """Returns all names of a link and of its directions."""
    a, b = ends
    names: dict[str, tuple[Direction, ...]] = {a[1]: DIRECTIONS, b[1]: DIRECTIONS}
    for here in a:
        for there in b:
            names |= {f"{here}-{there}": DIRECTIONS, f"{there}-{here}": DIRECTIONS}
            names |= {f"{here}->{there}": ("a_to_b",), f"{there}->{here}": ("b_to_a",)}
    return names


def _dry_run(
    events: Iterable[LinkEvent], ends: Sequence[Ends], links: Sequence[DryRunLink]
) -> list[tuple[LinkEvent, int, tuple[Direction, ...]]]:
    """Checks the events; returns them ordered by time, each with its link's index and the directions."""
    located, names = [], LinkNames(ends)
    for event in sorted(events, key=lambda event: event.at_s):
        try:
            number, directions = names.find(event.link)
            event.apply(links[number], directions)
        except UsageError as error:
            raise UsageError(f"event {str(event)!r}: {error.args[0]}", error.hint) from error
        located.append((event, number, directions))
    return located
