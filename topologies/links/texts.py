"""Links as people write them on one line: without it `mn`, its CLI and events would each have a dialect."""

import re
from collections.abc import Mapping, Sequence

from flightpath.errors import UsageError
from topologies.links.spec import LinkSpec

LinkText = LinkSpec | str | None
"""A link as a topology takes it: None leaves it to whoever starts the network (`mn --link relay,bw=10`)."""

_LINK_FORMS = "KEY=VALUE ..., for example bandwidth=10Mbit delay=5ms"
_SHORT = ("bandwidth", "delay", "queue", "loss")
_BARE_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
_MININET_UNITS = {"bw": "Mbit", "loss": "%"}
_FLAGS = {"on": True, "yes": True, "true": True, "1": True, "off": False, "no": False, "false": False, "0": False}


def read_pairs(text: str) -> dict[str, str]:
    """The words of `bandwidth=10Mbit delay=5ms`, ready for `topologies.links.spec.link_fields`.

    Raises:
        UsageError: a word is no KEY=VALUE, or a key stands there twice.
    """
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
    """Settings of a link with Mininet's bare numbers spelt out: `bw` in Mbit/s, `loss` in %, queue in packets.

    Whoever comes from Mininet writes `bw=10`; every other quantity needs its unit, so that none can be mistaken.
    """
    texts = {key: str(value) for key, value in settings.items()}
    for key, unit in _MININET_UNITS.items():
        if key in texts and _BARE_NUMBER.fullmatch(texts[key]):
            texts[key] += unit
    if "max_queue_size" in texts:
        texts["queue"] = f"{texts.pop('max_queue_size')}p"
    return texts


def link_spec(given: LinkText) -> LinkSpec | None:
    """A specification from what a topology was given."""
    return LinkSpec.parse(**read_pairs(given)) if isinstance(given, str) else given


def short_link(text: str, field: str = "--link") -> LinkSpec:
    """A path in short: `100Mbit,20ms,1bdp`: bandwidth, delay one way, and if given queue (1bdp) and loss.

    Raises:
        UsageError: shows the accepted forms.
    """
    words = [word.strip() for word in text.split(",")]
    if not 2 <= len(words) <= len(_SHORT):
        raise UsageError(
            f"{field}: cannot read {text!r}", "accepted form: BANDWIDTH,DELAY[,QUEUE[,LOSS]]: 100Mbit,20ms,1bdp"
        )
    return LinkSpec.parse(**{"queue": "1bdp", **dict(zip(_SHORT, words, strict=False))})


def link_specs(name: str, given: LinkText | Sequence[LinkText], count: int) -> list[LinkSpec | None]:
    """One specification for each of `count` links, from one for all or from as many; texts are parted by `;`.

    Raises:
        UsageError: another number, or a text that makes no sense.
    """
    if isinstance(given, str):
        given = [part.strip() for part in given.split(";")]
    links = [given] if given is None or isinstance(given, LinkSpec) else list(given)
    if len(links) not in (1, count):
        raise UsageError(f"{name}: {len(links)} links for {count} paths", "give one for all, or one for each")
    specs = [link_spec(link) for link in links]
    return specs * (count if len(specs) == 1 else 1)


def flag(name: str, given: bool | int | str) -> bool:
    """A yes or no, also as `mn` hands it over (`switched=0`, `mptcp=on`).

    Raises:
        UsageError: names the parameter and the accepted forms.
    """
    text = str(given).lower()
    if text not in _FLAGS:
        raise UsageError(f"{name}: cannot read {given!r}", "accepted forms: on, off")
    return _FLAGS[text]


def whole(name: str, given: int | str, low: int, high: int) -> int:
    """A whole number between two others.

    Raises:
        UsageError: names the parameter and the bounds.
    """
    if isinstance(given, bool) or not str(given).isdecimal() or not low <= int(given) <= high:
        raise UsageError(f"{name}: {given!r} is not a whole number from {low} to {high}")
    return int(given)
