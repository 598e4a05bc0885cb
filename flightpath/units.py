"""Quantities as people write them (`50Mbit`, `15ms`, `0.1%`, `64KiB`), read into plain numbers and back."""

import re

from flightpath.errors import UsageError

_NUMBER_WITH_UNIT = re.compile(r"\s*(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[A-Za-z/%]*)\s*")

_BITS_PER_SECOND = {
    "bit": 1,
    "kbit": 10**3,
    "mbit": 10**6,
    "gbit": 10**9,
}
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0}
_BYTES = {
    "b": 1,
    **{"kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "pb": 10**15},
    **{"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40, "pib": 2**50},
}
_SPAN = re.compile(r"\s*(?:(\d+)d)?\s*(?:(\d+)h)?\s*(?:(\d+)m(?:in)?)?\s*(?:(\d+(?:\.\d+)?)s)?\s*", re.IGNORECASE)
_SPAN_SECONDS = (86_400, 3600, 60, 1)


def parse_bandwidth(text: str, field: str = "bandwidth") -> int:
    """Bits per second from `10Gbit`, `50Mbit`, `2.5kbit` or `1000bit` (decimal prefixes, as the field uses them).

    Raises:
        UsageError: names the field, the text and the accepted forms.
    """
    return round(_scaled(text, field, _BITS_PER_SECOND, "10Gbit, 50Mbit, 800kbit, 1000bit", positive=True))


def parse_duration(text: str, field: str = "delay") -> float:
    """Seconds from `15ms`, `200us`, `1.5s` or `2min`; a bare `0` is allowed.

    Raises:
        UsageError: names the field, the text and the accepted forms.
    """
    if text.strip() == "0":
        return 0.0
    return _scaled(text, field, _SECONDS, "15ms, 200us, 1.5s, 2min, 0")


def parse_probability(text: str, field: str = "loss") -> float:
    """A probability in [0, 1] from `0.1%`; a bare `0` is allowed.

    Raises:
        UsageError: names the field, the text and the accepted forms.
    """
    if text.strip() == "0":
        return 0.0
    percent = _scaled(text, field, {"%": 1.0}, "0.1%, 2%, 0")
    if percent > 100:
        raise UsageError(f"{field}: {text!r} is more than 100%", "accepted forms: 0.1%, 2%, 0")
    return percent / 100


def parse_bytes(text: str, field: str = "size") -> int:
    """Bytes from `64KiB`, `9kB`, `1500B`, `2TB` (kB is 1000 bytes, KiB is 1024).

    Raises:
        UsageError: names the field, the text and the accepted forms.
    """
    return round(_scaled(text, field, _BYTES, "1500B, 9kB, 64KiB, 10MB", positive=True))


def parse_span(text: str, field: str = "time") -> float:
    """Seconds from a time that people wait: `3h20m`, `90min`, `45s`, `2d12h`; the units in this order.

    Raises:
        UsageError: names the field, the text and the accepted forms, or says that it must be more than zero.
    """
    match = _SPAN.fullmatch(text)
    numbers = match.groups() if match else ()
    if not any(numbers):
        raise UsageError(f"{field}: cannot read {text!r}", "accepted forms: 3h20m, 90min, 45s, 2d12h")
    seconds = sum(float(number or 0) * scale for number, scale in zip(numbers, _SPAN_SECONDS, strict=True))
    if seconds <= 0:
        raise UsageError(f"{field}: {text!r} must be more than zero", "accepted forms: 3h20m, 90min, 45s, 2d12h")
    return seconds


def format_bandwidth(bits_per_second: float) -> str:
    """The shortest of the forms that `parse_bandwidth` reads, for example `50Mbit`."""
    for unit, scale in (("Gbit", 10**9), ("Mbit", 10**6), ("kbit", 10**3)):
        if bits_per_second >= scale:
            return f"{bits_per_second / scale:.4g}{unit}"
    return f"{bits_per_second:.4g}bit"


def format_rate(bits_per_second: float) -> str:
    """A rate for people to read: `50Mbit/s`."""
    return f"{format_bandwidth(bits_per_second)}/s"


def format_duration(seconds: float) -> str:
    """The shortest of the forms that `parse_duration` reads, for example `15ms`."""
    if seconds == 0:
        return "0"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.4g}{unit}"
    return f"{seconds / 1e-9:.4g}ns"


def format_bytes(size: float) -> str:
    """The shortest of the decimal forms that `parse_bytes` reads, for example `2TB`."""
    for unit, scale in (("PB", 10**15), ("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            return f"{size / scale:.4g}{unit}"
    return f"{size:.4g}B"


def format_span(seconds: float) -> str:
    """A time that people wait, in its two largest units, as `parse_span` reads it: `3h20m`, `45s`, `2d12h`."""
    if seconds < 10:
        return f"{seconds:.2g}s"
    units = ("d", "h", "m", "s")
    for position, scale in enumerate(_SPAN_SECONDS):
        finer = _SPAN_SECONDS[min(position + 1, 3)]
        rounded = round(seconds / finer) * finer
        if rounded >= scale:
            rest = rounded % scale // finer if position < 3 else 0
            return f"{rounded // scale}{units[position]}" + (f"{rest}{units[position + 1]}" if rest else "")
    return "0s"


def _scaled(text: str, field: str, scales: dict[str, float], forms: str, *, positive: bool = False) -> float:
    match = _NUMBER_WITH_UNIT.fullmatch(text)
    scale = scales.get(match["unit"].lower()) if match else None
    if match is None or scale is None:
        raise UsageError(f"{field}: cannot read {text!r}", f"accepted forms: {forms}")
    value = float(match["number"]) * scale
    if positive and value <= 0:
        raise UsageError(f"{field}: {text!r} must be more than zero", f"accepted forms: {forms}")
    return value
