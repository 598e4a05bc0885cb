"""Parsers for links that users write on one line: in `mn`, its command line, events and options."""

import re
from collections.abc import Mapping, Sequence

from flightpath.errors import UsageError
from topologies.links.fields import parse_switch
from topologies.links.spec import LinkSpec

LinkText = LinkSpec | str | None
"""Link as topologies take it; None leaves it to whoever starts the network (`mn --link relay,bw=10`)."""

_LINK_FORMS = "KEY=VALUE ..., for example bandwidth=10Mbit delay=5ms"
_SHORT = ("bandwidth", "delay", "queue", "loss")
_BARE_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
_MININET_UNITS = {"bw": "Mbit", "loss": "%"}


def read_pairs(text: str) -> dict[str, str]:
    """Reads `bandwidth=10Mbit delay=5ms` into pairs for `topologies.links.spec.link_fields`."""
    pairs: dict[str, str] = {}
    for word in text.split():
        key, equals, value = word.partition("=")
        if not (key and equals and value):
            raise UsageError(f"link: cannot read {word!r}", f"accepted form: {_LINK_FORMS}")
        if key in pairs:
            raise UsageError(f"link: {key} is given twice")
        pairs[key] = value
    return mininet_units(pairs)


def mininet_units(settings: Mapping[str, object]) -> dict[str, str]:
    """Adds units to Mininet's bare numbers: `bw` is in Mbit/s, `loss` in %, `max_queue_size` in packets.

    All other quantities need a unit, to exclude misunderstandings.
    """
    texts = {key: str(value) for key, value in settings.items()}
    for key, unit in _MININET_UNITS.items():
        if key in texts and _BARE_NUMBER.fullmatch(texts[key]):
            texts[key] += unit
    if "max_queue_size" in texts:
        texts["queue"] = f"{texts.pop('max_queue_size')}p"
    return texts


def link_spec(given: LinkText) -> LinkSpec | None:
    """Returns the specification of a link; None stays None."""
    return LinkSpec.parse(**read_pairs(given)) if isinstance(given, str) else given


def short_link(text: str, field: str = "--link") -> LinkSpec:
    """Reads the short form of a link, `100Mbit,20ms,1bdp`: bandwidth, one-way delay, optionally queue and loss."""
    words = [word.strip() for word in text.split(",")]
    if not 2 <= len(words) <= len(_SHORT):
        raise UsageError(
            f"{field}: cannot read {text!r}", "accepted form: BANDWIDTH,DELAY[,QUEUE[,LOSS]]: 100Mbit,20ms,1bdp"
        )
    return LinkSpec.parse(**{"queue": "1bdp", **dict(zip(_SHORT, words, strict=False))})


def link_specs(name: str, given: LinkText | Sequence[LinkText], count: int) -> list[LinkSpec | None]:
    """Returns the specifications of `count` links, given one for all or one for each; `;` separates texts."""
    if isinstance(given, str):
        given = [part.strip() for part in given.split(";")]
    links = [given] if given is None or isinstance(given, LinkSpec) else list(given)
    if len(links) not in (1, count):
        raise UsageError(f"{name}: {len(links)} links for {count} paths", "give one for all, or one for each")
    specs = [link_spec(link) for link in links]
    return specs * (count if len(specs) == 1 else 1)


def flag(name: str, given: bool | int | str) -> bool:
    """Reads a boolean as `mn` passes it: `switched=0`, `mptcp=on`; a UsageError names an invalid one."""
    return parse_switch(str(given), name)


def whole(name: str, given: int | str, low: int, high: int) -> int:
    """Reads a whole number from `low` to `high`; a UsageError names an invalid parameter and the bounds."""
    if isinstance(given, bool) or not str(given).isdecimal() or not low <= int(given) <= high:
        raise UsageError(f"{name}: {given!r} is not a whole number from {low} to {high}")
    return int(given)
