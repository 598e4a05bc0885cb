"""Translation of the options of Mininet's shaped link (`TCLink`) into our specifications."""

import re
from collections.abc import Mapping
from inspect import signature
from typing import Any

from mininet.link import Intf, Link
from mininet.log import warn

from flightpath.errors import UsageError
from flightpath.suggestions import nearest
from topologies.links.spec import LINK_KEYS, LinkSpec
from topologies.links.texts import mininet_units

HOW_MININET_SHAPES = frozenset(("use_htb", "use_hfsc", "use_tbf", "gro", "disable_gro", "txo", "rxo"))
"""Options of TCLink that choose how it shapes; our links are exact in any case."""

_NOT_EMULATED = {
    "enable_ecn": "random early detection",
    "enable_red": "random early detection",
    "speedup": "another rate at the switch's end",
}
_ONLY_HERE = ("cls", "spec", "a_to_b", "b_to_a", "seed", "wait")
_OF_INTERFACES = (*signature(Intf.__init__).parameters, *signature(Intf.config).parameters)
_OTHERS = frozenset((*signature(Link.__init__).parameters, *_OF_INTERFACES, *_ONLY_HERE))
_TC_ONLY = {*HOW_MININET_SHAPES, *_NOT_EMULATED, "latency_ms", "max_queue_size"}
TC_KEYS = LINK_KEYS | _TC_ONLY
"""Names of all options of a shaped link, Mininet's and ours."""

_TIMES = ("delay", "jitter")
_TC_TIME = re.compile(r"(?P<number>[0-9.]+) *(?P<unit>s|ms|us)?(ec|ecs)?")


def take_shape(params: dict[str, Any]) -> dict[str, Any]:
    """Removes the options that shape packets from the parameters of a link or an interface, and returns them."""
    keys = [key for key in params if key in TC_KEYS]
    return {key: value for key in keys if (value := params.pop(key)) is not None}


def check_rest(params: Mapping[str, Any]) -> None:
    """Checks what `take_shape` leaves of a link's parameters, which Mininet would ignore without a word."""
    for key in params.keys() - _OTHERS:
        if near := nearest(key, TC_KEYS):
            raise UsageError(f"link: {key!r} is unknown", f"did you mean {near!r}?")
        warn(f"*** link: {key!r} is unknown, and has no effect\n")


def link_spec(shape: Mapping[str, Any]) -> LinkSpec:
    """Returns the specification for TCLink's options."""
    for key, meaning in _NOT_EMULATED.items():
        if shape.get(key):
            raise UsageError(
                f"TCLink: {key} is not emulated ({meaning})",
                'leave it out; queues that mark or drop early are discipline="codel" and "fq_codel", with ecn=True',
            )
    kept = {key: value for key, value in shape.items() if key not in HOW_MININET_SHAPES and key not in _NOT_EMULATED}
    kept.update({key: _time(kept[key]) for key in _TIMES if key in kept})
    if "latency_ms" in kept:
        kept["queue"] = f"{kept.pop('latency_ms')}ms"
    if "jitter" in kept:
        kept.setdefault("distribution", "uniform")  # netem's default
    return LinkSpec.parse(**mininet_units(kept))


def _time(given: object) -> str:
    """Normalises a time of tc(8): `5ms`, `5msec`; a number without a unit is in microseconds."""
    match = _TC_TIME.fullmatch(str(given).strip())
    return f"{match['number']}{match['unit'] or 'us'}" if match else str(given)
