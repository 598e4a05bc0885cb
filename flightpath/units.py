"""Parsing and formatting of quantities as people write them: `50Mbit`, `15ms`, `0.1%`, `64KiB`.

Invalid text is a UsageError, which names the field, the text and the accepted forms.
"""

import re
from collections.abc import Mapping

from flightpath.errors import UsageError

_NUMBER_WITH_UNIT = re.compile(r"\s*(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[A-Za-z/%]*)\s*")

# Largest first: formatting takes the first unit that is not larger than the number.
_BITS_PER_SECOND = {"Gbit": 1e9, "Mbit": 1e6, "kbit": 1e3, "bit": 1.0}
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_BYTES = {"PB": 1e15, "TB": 1e12, "GB": 1e9, "MB": 1e6, "kB": 1e3, "B": 1.0}
_MINUTES_AND_MORE = {"d": 86_400.0, "h": 3600.0, "min": 60.0}
_MORE_SECONDS = {**_SECONDS, **_MINUTES_AND_MORE, "m": 60.0}
_MORE_BYTES = {**_BYTES, "PiB": 2**50, "TiB": 2**40, "GiB": 2**30, "MiB": 2**20, "KiB": 2**10}
_SPAN = re.compile(r"(?i)\s*(?:(\d+)\s*d)?\s*(?:(\d+)\s*h)?\s*(?:(\d+)\s*m(?:in)?)?\s*(?:(\d+(?:\.\d+)?)\s*s)?\s*")
_SPAN_SECONDS = (86_400, 3600, 60, 1)
_SPAN_FORMS = "3h20m, 90min, 45s, 2d12h"


def parse_bandwidth(text: str, field: str = "bandwidth") -> int:
    """Parses bits per second: `10Gbit`, `50Mbit`, `2.5kbit` or `1000bit` (1 kbit is 1000 bits)."""
    return round(_parse(text, field, _BITS_PER_SECOND, "10Gbit, 50Mbit, 800kbit, 1000bit", positive=True))


def parse_duration(text: str, field: str = "delay") -> float:
    """Parses seconds: `15ms`, `200us`, `1.5s`, `8m` or `8min`, `2h`, `5d` or a bare `0`."""
    return _parse(text, field, _MORE_SECONDS, "15ms, 200us, 1.5s, 8m (minutes), 2h, 5d, 0")


def parse_probability(text: str, field: str = "loss") -> float:
    """Parses a probability in [0, 1]: `0.1%` or a bare `0`."""
    forms = "0.1%, 2%, 0"
    percent = _parse(text, field, {"%": 1.0}, forms)
    if percent > 100:
        raise UsageError(f"{field}: {text!r} is more than 100%", f"accepted forms: {forms}")
    return percent / 100


def parse_bytes(text: str, field: str = "size") -> int:
    """Parses bytes: `64KiB`, `9kB`, `1500B` or `2TB` (1 kB is 1000 bytes, 1 KiB is 1024)."""
    return round(_parse(text, field, _MORE_BYTES, "1500B, 9kB, 64KiB, 10MB", positive=True))


def parse_span(text: str, field: str = "time") -> float:
    """Parses a longer time into seconds: `3h20m`, `90min`, `45s`, `2d12h`; larger units come first."""
    match = _SPAN.fullmatch(text)
    numbers = match.groups() if match else ()
    if not any(numbers):
        raise UsageError(f"{field}: cannot read {text!r}", f"accepted forms: {_SPAN_FORMS}")
    seconds = sum(float(number or 0) * scale for number, scale in zip(numbers, _SPAN_SECONDS, strict=True))
    if seconds <= 0:
        raise UsageError(f"{field}: {text!r} must be more than zero", f"accepted forms: {_SPAN_FORMS}")
    return seconds


def format_bandwidth(bits_per_second: float) -> str:
    """Formats a bandwidth as `parse_bandwidth` reads it, in the largest unit: `50Mbit`."""
    return _format(bits_per_second, _BITS_PER_SECOND)


def format_rate(bits_per_second: float) -> str:
    """Formats a rate for people: `50 Mbit/s`."""
    return spaced(f"{format_bandwidth(bits_per_second)}/s")


def format_duration(seconds: float) -> str:
    """Formats a duration as `parse_duration` reads it, in the largest unit: `15ms`.

    From a minute on that is the largest one that divides it: `8min`, `90s`.
    """
    if seconds == 0:
        return "0"
    if seconds < 60:
        return _format(seconds, _SECONDS)
    fitting = (unit for unit, scale in _MINUTES_AND_MORE.items() if seconds % scale == 0)
    unit = next(fitting, "s")
    return f"{seconds / _MORE_SECONDS[unit]:.15g}{unit}"


def format_bytes(size: float) -> str:
    """Formats a size for people, in the largest decimal unit: `2 TB`."""
    return spaced(_format(size, _BYTES))


def format_span(seconds: float) -> str:
    """Formats a longer time for people, in its two largest units: `3 h 20 min`, `45 s`, `2 d 12 h`."""
    if seconds < 10:
        return f"{seconds:.2g} s"
    units = ("d", "h", "min", "s")
    for position, scale in enumerate(_SPAN_SECONDS):
        finer = _SPAN_SECONDS[min(position + 1, 3)]
        rounded = round(seconds / finer) * finer
        if rounded >= scale:
            rest = rounded % scale // finer if position < 3 else 0
            return f"{rounded // scale} {units[position]}" + (f" {rest} {units[position + 1]}" if rest else "")
    return "0 s"


def spaced(text: str) -> str:
    """Returns a quantity as people read it, with a space before its unit: `50 ms`."""
    return re.sub(r"(?<=\d)(?=[A-Za-z]+(?:/s)?$)", " ", text)


def counted(count: int, noun: str) -> str:
    """Returns a number with its noun: `1 hop`, `2 hops`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _parse(text: str, field: str, units: Mapping[str, float], forms: str, *, positive: bool = False) -> float:
    """Parses a number into the base unit; accepts a bare `0` unless it must be positive."""
    if not positive and text.strip() == "0":
        return 0.0
    match = _NUMBER_WITH_UNIT.fullmatch(text)
    scale = {unit.lower(): scale for unit, scale in units.items()}.get(match["unit"].lower()) if match else None
    if match is None or scale is None:
        raise UsageError(f"{field}: cannot read {text!r}", f"accepted forms: {forms}")
    value = float(match["number"]) * scale
    if value == float("inf"):
        raise UsageError(f"{field}: {text[:40]!r} is too large", f"accepted forms: {forms}")
    if positive and value <= 0:
        raise UsageError(f"{field}: {text!r} must be more than zero", f"accepted forms: {forms}")
    return value


def _format(value: float, units: Mapping[str, float]) -> str:
    fitting = (unit for unit, scale in units.items() if value >= scale)
    unit = next(fitting, list(units)[-1])
    return f"{value / units[unit]:.4g}{unit}"
