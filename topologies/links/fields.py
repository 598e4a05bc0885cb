"""Fields of a link's specification: their text forms, and the settings of the relay and of netem that they map to."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any

from flightpath.errors import UsageError
from flightpath.suggestions import did_you_mean
from flightpath.units import format_duration, parse_duration, parse_probability

_SWITCHES = {"on": True, "yes": True, "true": True, "1": True, "off": False, "no": False, "false": False, "0": False}


class Effect(IntEnum):
    """Effect of a field that differs from its default on packets. Each value includes those before it."""

    NONE = 0
    SHAPES = 1  # packets do not pass as they come
    PER_PACKET = 2  # each packet is treated separately
    LOSES = 3  # packets may be lost even on an idle link


@dataclasses.dataclass(frozen=True, kw_only=True)
class LinkField:
    """Description of a field. Functions take its value; `describe` and `relay` also take the whole specification."""

    default: Any
    keys: Sequence[str]  # names that users write; the first one is also used in errors
    example: str  # a value as users write it
    help: str
    parse: Callable[[str, str], Any] = lambda text, key: text
    text: Callable[[Any], str] = str  # formats a value for errors
    bounds: tuple[float, float] | None = None
    choices: Sequence[str] = ()
    describe: Callable[[Any, Any], str] = lambda value, spec: ""  # short description; may be empty
    relay: Callable[[Any, Any], Mapping[str, object]] = lambda value, spec: {}  # keys and values, see `relay --help`
    netem: str = ""  # option of netem(8) that takes the value in percent
    netem_refusal: Callable[[Any], str] = lambda value: ""  # reason why netem cannot emulate the value; empty if it can
    netem_fixed: str = ""  # reason why the field cannot change while a netem link is up
    effect: Effect = Effect.NONE
    drop_cause: str = ""  # cause, in a link's statistics, of packets dropped because of this field
    counter: str = ""  # counter, in a link's statistics, of packets that this field affects otherwise
    disciplines: Sequence[str] = ()  # queue disciplines that have this option; empty: all

    @property
    def key(self) -> str:
        return self.keys[0]

    def check(self, value: Any) -> None:
        """Raises UsageError, naming the field, for an invalid value."""
        if self.choices and value is not None:
            require_known(self.key, value, self.choices)
        if self.bounds and value is not None and not self.bounds[0] <= value <= self.bounds[1]:
            low, high = map(self.text, self.bounds)
            raise UsageError(f"{self.key}: {self.text(value)} is outside {low} to {high}")


def link_field(default: Any, keys: str, example: str, help_text: str, **attributes: Any) -> Any:
    """Makes a dataclass's field with a LinkField as metadata; `keys` are separated by spaces."""
    field = LinkField(default=default, keys=keys.split(), example=example, help=help_text, **attributes)
    return dataclasses.field(default=default, metadata={"link": field})


def probability(key: str, help_text: str, *, words: str, relay: str, **attributes: Any) -> Any:
    """Makes a field for a probability per packet; descriptions put `words` after the percentage; `relay` is its key."""
    kind = {"parse": parse_probability, "text": percent, "bounds": (0, 1), "effect": Effect.PER_PACKET}
    kind["describe"] = lambda value, _spec: f"{percent(value)} {words}" if value else ""
    kind["relay"] = lambda value, _spec: {relay: value}
    return link_field(0.0, key, "0.1%", f"probability {help_text}", **{**kind, **attributes})


def duration(key: str, example: str, help_text: str, *, relay: str, **attributes: Any) -> Any:
    """Makes a field for a time in seconds, by default up to a minute; the relay takes it in nanoseconds."""
    kind = {"parse": parse_duration, "text": format_duration, "bounds": (0, 60), "effect": Effect.SHAPES}
    kind["relay"] = lambda value, _spec: {relay: round(value * 1e9)}
    return link_field(0.0, key, example, help_text, **{**kind, **attributes})


def choice(key: str, choices: Sequence[str], help_text: str, *, relay: str, **attributes: Any) -> Any:
    """Makes a field that takes one of a few words; the first is the default."""
    kind = {"choices": choices, "relay": lambda value, _spec: {relay: value}}
    return link_field(choices[0], key, choices[-1], help_text, **kind, **attributes)


def switch(key: str, help_text: str, *, relay: str, **attributes: Any) -> Any:
    """Makes a field that is on or off; off by default."""
    kind = {"parse": parse_switch, "relay": lambda value, _spec: {relay: int(value)}}
    return link_field(False, key, "on", help_text, **kind, **attributes)


def of_disciplines(disciplines: Sequence[str], key: str, example: str, help_text: str, **attributes: Any) -> Any:
    """Makes a field for an option of some queue disciplines; None is the kernel's default."""
    text = attributes.get("text", str)
    kind = {
        "describe": lambda value, _spec: "" if value is None else f"{key} {text(value)}",
        "relay": lambda value, _spec: {} if value is None else {key: value},
        "disciplines": disciplines,
    }
    return link_field(None, key, example, help_text, **kind, **attributes)


def parse_switch(text: str, key: str) -> bool:
    """Reads `on` or `off`, or another word for one of them; a UsageError names the key and the accepted forms."""
    if text.lower() not in _SWITCHES:
        raise UsageError(f"{key}: cannot read {text!r}", "accepted forms: on, off")
    return _SWITCHES[text.lower()]


def parse_whole(text: str, key: str) -> int:
    """Reads a whole number; a UsageError names the key."""
    if not text.isdecimal():
        raise UsageError(f"{key}: cannot read {text!r}", "accepted form: a whole number")
    return int(text)


def require_known(key: str, word: str, known: Sequence[str]) -> None:
    """Raises UsageError, with the nearest known word, for a word that is not known."""
    if word not in known:
        raise UsageError(f"{key}: {word!r} is unknown", did_you_mean(word, known))


def percent(share: float) -> str:
    """Formats a fraction in percent, for example `0.1%`."""
    return f"{share * 100:g}%"
