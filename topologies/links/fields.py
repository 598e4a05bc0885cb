"""Fields of a link's specification: how people write them, and what sets them in the relay and in netem."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any

from flightpath.errors import UsageError
from flightpath.suggestions import did_you_mean
from flightpath.units import format_duration, parse_duration, parse_probability

_SWITCHES = {"on": True, "yes": True, "true": True, "1": True, "off": False, "no": False, "false": False, "0": False}


class Effect(IntEnum):
    """What a field does to packets unless it has its default. Each value includes those before it."""

    NONE = 0
    SHAPES = 1  # packets do not pass as they come
    PER_PACKET = 2  # each packet is treated separately
    LOSES = 3  # packets may be missing at the other end, however few there are


@dataclasses.dataclass(frozen=True, kw_only=True)
class LinkField:
    """All that is known of a field. Functions take its value; `describe` and `relay` the whole specification too."""

    default: Any
    keys: Sequence[str]  # what people write for it; the first one also names it in errors
    example: str  # of a value as people write it
    help: str
    parse: Callable[[str, str], Any] = lambda text, key: text
    text: Callable[[Any], str] = str  # a value as text, for errors
    bounds: tuple[float, float] | None = None
    choices: Sequence[str] = ()
    describe: Callable[[Any, Any], str] = lambda value, spec: ""  # in a few words, or not at all
    relay: Callable[[Any, Any], Mapping[str, object]] = lambda value, spec: {}  # keys and values, see `relay --help`
    netem: str = ""  # option of netem(8) that takes the value in percent
    netem_refusal: Callable[[Any], str] = lambda value: ""  # why netem cannot do this value, if it cannot
    netem_fixed: str = ""  # why the field cannot change while a netem link is up
    effect: Effect = Effect.NONE
    drop_cause: str = ""  # in a link's statistics, of packets that are dropped because of this field
    counter: str = ""  # in a link's statistics, of packets to which this field does something else

    @property
    def key(self) -> str:
        """The field's name in errors."""
        return self.keys[0]

    def check(self, value: Any) -> None:
        """Raises UsageError, naming the field, for a value that makes no sense."""
        if self.choices:
            require_known(self.key, value, self.choices)
        if self.bounds and value is not None and not self.bounds[0] <= value <= self.bounds[1]:
            low, high = map(self.text, self.bounds)
            raise UsageError(f"{self.key}: {self.text(value)} is outside {low} to {high}")


def link_field(default: Any, keys: str, example: str, help_text: str, **attributes: Any) -> Any:
    """A dataclass's field with a LinkField as metadata; `keys` are separated by spaces."""
    field = LinkField(default=default, keys=keys.split(), example=example, help=help_text, **attributes)
    return dataclasses.field(default=default, metadata={"link": field})


def probability(key: str, help_text: str, *, words: str, relay: str, **attributes: Any) -> Any:
    """A probability from 0 to 1 of each packet; `words` follow the percentage in a description, `relay` is its key."""
    kind = {"parse": parse_probability, "text": percent, "bounds": (0, 1), "effect": Effect.PER_PACKET}
    kind["describe"] = lambda value, _spec: f"{percent(value)} {words}" if value else ""
    kind["relay"] = lambda value, _spec: {relay: value}
    return link_field(0.0, key, "0.1%", f"probability {help_text}", **{**kind, **attributes})


def duration(key: str, example: str, help_text: str, *, relay: str, **attributes: Any) -> Any:
    """A time in seconds, up to a minute; the relay takes it in nanoseconds."""
    kind = {"parse": parse_duration, "text": format_duration, "bounds": (0, 60), "effect": Effect.SHAPES}
    kind["relay"] = lambda value, _spec: {relay: round(value * 1e9)}
    return link_field(0.0, key, example, help_text, **{**kind, **attributes})


def choice(key: str, choices: Sequence[str], help_text: str, *, relay: str, **attributes: Any) -> Any:
    """One of some words, by default the first."""
    kind = {"choices": choices, "relay": lambda value, _spec: {relay: value}}
    return link_field(choices[0], key, choices[-1], help_text, **kind, **attributes)


def switch(key: str, help_text: str, *, relay: str, **attributes: Any) -> Any:
    """On or off, by default off."""
    kind = {"parse": parse_switch, "relay": lambda value, _spec: {relay: int(value)}}
    return link_field(False, key, "on", help_text, **kind, **attributes)


def parse_switch(text: str, key: str) -> bool:
    """Reads `on` or `off`, or another word for one of them; a UsageError names the key and the accepted forms."""
    if text.lower() not in _SWITCHES:
        raise UsageError(f"{key}: cannot read {text!r}", "accepted forms: on, off")
    return _SWITCHES[text.lower()]


def require_known(key: str, word: str, known: Sequence[str]) -> None:
    """Raises UsageError, with the nearest known word, for a word that is not known."""
    if word not in known:
        raise UsageError(f"{key}: {word!r} is unknown", did_you_mean(word, known))


def percent(share: float) -> str:
    """A share in percent, for example `0.1%`."""
    return f"{share * 100:g}%"
