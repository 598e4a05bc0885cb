"""What happens to links at set times: without it a failure or a slow hour could be measured only by a hand on the keys.

An event is handed to its link's emulator before the start, with the time at which it is due; the emulator executes it
by its own clock, however busy this process is then.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mininet.topo import Topo

from flightpath.errors import UsageError
from flightpath.suggestions import did_you_mean
from flightpath.units import parse_duration
from topologies.links.emulated_link import DIRECTIONS, Direction, EmulatedLink
from topologies.links.spec import LinkSpec, link_fields
from topologies.links.texts import read_pairs

EVENT_FORMS = '"WHEN LINK WHAT", for example "10s h1-s1 bandwidth=10Mbit delay=5ms", "20s h1-s1 down", "25s h1-s1 up"'
_BLACK_HOLE = "blackhole"
_STATES = {"on": True, "off": False}

Ends = tuple[tuple[str, str], tuple[str, str]]
"""Node and interface at end a of a link, and at its end b."""


@dataclass(frozen=True)
class LinkEvent:
    """One thing that happens to one link.

    Attributes:
        at_s: when, in seconds since the start.
        link: `h1-s1`, or `h1->s1` for one direction; where several links join two nodes, `h1-eth1` (an interface).
        carrier: False cuts the cable, True mends it.
        black_hole: True lets packets vanish, False ends that.
        changes: keys and values of `topologies.links.spec.link_fields`; what is not named stays as it is then.
    """

    at_s: float
    link: str
    carrier: bool | None = None
    black_hole: bool | None = None
    changes: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.at_s < float("inf"):
            raise UsageError(f"event: {self.at_s} s is no time after the start")
        if self.carrier is not None and "->" in self.link:
            raise UsageError(f"event: {self.link} is one direction, but a cable is cut in both", "use blackhole=on")
        if "mtu_bytes" in self.fields:
            raise UsageError("event: the mtu cannot change while the link is up")

    @classmethod
    def parse(cls, text: str) -> "LinkEvent":
        """An event from `10s h1-s1 bandwidth=10Mbit delay=5ms`, `20s h1-s1 down`, `30s h1->s1 blackhole=on`.

        Raises:
            UsageError: shows the accepted forms.
        """
        when, link, what = [*text.split(maxsplit=2), "", "", ""][:3]
        if not what:
            raise UsageError(f"event: cannot read {text!r}", f"accepted form: {EVENT_FORMS}")
        at_s = round(parse_duration(when, "event"), 9)
        if what in ("up", "down"):
            return cls(at_s, link, carrier=what == "up")
        pairs = read_pairs(what)
        black_hole = pairs.pop(_BLACK_HOLE, None)
        if black_hole not in (None, *_STATES):
            raise UsageError(f"{_BLACK_HOLE}: cannot read {black_hole!r}", "accepted forms: on, off")
        return cls(at_s, link, None, None if black_hole is None else _STATES[black_hole], tuple(pairs.items()))

    @property
    def fields(self) -> dict[str, Any]:
        """The changes as `EmulatedLink.change` takes them."""
        return link_fields(dict(self.changes))

    def apply(self, link: EmulatedLink, directions: Sequence[Direction], at_ns: int | None = None) -> None:
        """Hands the event to the link it names; `at_ns` as in EmulatedLink, None is now."""
        if self.carrier is not None:
            link.set_carrier(self.carrier, at_ns=at_ns)
        if self.changes:
            link.change(*directions, at_ns=at_ns, **self.fields)
        if self.black_hole is not None:
            link.set_black_hole(self.black_hole, *directions, at_ns=at_ns)

    def __str__(self) -> str:
        when = f"{self.at_s:.9f}".rstrip("0").rstrip(".")  # to the nanosecond: a stored plan is repeated exactly
        return " ".join([f"{when}s", self.link, *self._what()])

    def _what(self) -> Iterator[str]:
        if self.carrier is not None:
            yield "up" if self.carrier else "down"
        yield from (f"{key}={value}" for key, value in self.changes)
        if self.black_hole is not None:
            yield f"{_BLACK_HOLE}={'on' if self.black_hole else 'off'}"


def schedule(events: Iterable[LinkEvent], links: Sequence[EmulatedLink], start_ns: int) -> None:
    """Hands every event to its link; later ones build on earlier ones of the same link.

    Args:
        events: in any order.
        links: all links of the network.
        start_ns: what the events' times count from, on CLOCK_MONOTONIC (`time.monotonic_ns()`).

    Raises:
        UsageError: an event names no link, or makes no specification; none has been handed over then.
    """
    ordered = sorted(events, key=lambda event: event.at_s)
    ends = [ends_of(link) for link in links]
    _rehearse(ordered, ends, [_Rehearsal(link.a_to_b, link.b_to_a) for link in links])
    for event in ordered:
        number, directions = find(event.link, ends)
        event.apply(links[number], directions, start_ns + round(event.at_s * 1e9))


def check(events: Iterable[LinkEvent], topology: Topo) -> None:
    """Raises the UsageError that `schedule` would raise, before the network is started."""
    infos = [info for _a, _b, info in topology.links(sort=True, withInfo=True)]
    ends = [tuple((info[f"node{i}"], f"{info[f'node{i}']}-eth{info[f'port{i}']}") for i in (1, 2)) for info in infos]
    _rehearse(sorted(events, key=lambda event: event.at_s), ends, list(map(_rehearsal_of, infos)))


def ends_of(link: EmulatedLink) -> Ends:
    """The names by which people call a link's ends."""
    return (link.intf1.node.name, link.intf1.name), (link.intf2.node.name, link.intf2.name)


def find(name: str, ends: Sequence[Ends]) -> tuple[int, tuple[Direction, ...]]:
    """The link that a name means, by its place in `ends`, and the directions.

    Raises:
        UsageError: none or several have this name; with names that fit.
    """
    names = [_names(of_link) for of_link in ends]
    found = [(number, named[name]) for number, named in enumerate(names) if name in named]
    if len(found) == 1:
        return found[0]
    if found:
        interfaces = ", ".join(ends[number][0][1] for number, _ in found)
        raise UsageError(f"{len(found)} links are called {name}", f"name one by its interface: {interfaces}")
    links = ", ".join(sorted({f"{a[0]}-{b[0]}" for a, b in ends}))
    known = [each for named in names for each in named]
    raise UsageError(f"there is no link {name!r}", did_you_mean(name, known, f"links: {links}"))


def _names(ends: Ends) -> dict[str, tuple[Direction, ...]]:
    """Every name of a link, with the directions that it means."""
    a, b = ends
    names: dict[str, tuple[Direction, ...]] = {a[1]: DIRECTIONS, b[1]: DIRECTIONS}
    for here in a:
        for there in b:
            names |= {f"{here}-{there}": DIRECTIONS, f"{there}-{here}": DIRECTIONS}
            names |= {f"{here}->{there}": ("a_to_b",), f"{there}->{here}": ("b_to_a",)}
    return names


class _Rehearsal(EmulatedLink):
    """Takes events without a wire, so that nonsense is refused before the first event is handed over."""

    def __init__(self, a_to_b: LinkSpec, b_to_a: LinkSpec) -> None:
        self.a_to_b, self.b_to_a = a_to_b, b_to_a

    def apply(self, direction: Direction, spec: LinkSpec, at_ns: int | None = None) -> None:
        """Nothing: the specification could be made, that is all."""

    def set_carrier(self, up: bool, at_ns: int | None = None) -> None:
        """Nothing."""

    def set_black_hole(self, on: bool, *directions: Direction, at_ns: int | None = None) -> None:
        """Nothing."""


def _rehearsal_of(info: dict[str, Any]) -> _Rehearsal:
    spec = info.get("spec") or LinkSpec()
    return _Rehearsal(info.get("a_to_b") or spec, info.get("b_to_a") or spec)


def _rehearse(ordered: Iterable[LinkEvent], ends: Sequence[Ends], links: Sequence[_Rehearsal]) -> None:
    for event in ordered:
        try:
            number, directions = find(event.link, ends)
            event.apply(links[number], directions)
        except UsageError as error:
            raise UsageError(f"event {str(event)!r}: {error.args[0]}", error.hint) from error
