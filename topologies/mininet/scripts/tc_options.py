"""The options of Mininet's shaped link (`TCLink`) as specifications of ours."""

import re
from collections.abc import Mapping
from typing import Any

from flightpath.errors import UsageError
from topologies.links.spec import LINK_KEYS, LinkSpec
from topologies.links.texts import mininet_units

HOW_MININET_SHAPES = frozenset(("use_htb", "use_hfsc", "use_tbf", "gro", "disable_gro", "txo", "rxo"))
"""Options of TCLink that say by which means it shapes: here it is exact in any case."""

_NOT_EMULATED = {
    "enable_ecn": "random early detection",
    "enable_red": "random early detection",
    "speedup": "another rate at the switch's end",
}
_TC_ONLY = {*HOW_MININET_SHAPES, *_NOT_EMULATED, "latency_ms", "max_queue_size"}
_TIMES = ("delay", "jitter")
_TC_TIME = re.compile(r"(?P<number>[0-9.]+) *(?P<unit>s|ms|us)?(ec|ecs)?")


def take_shape(params: dict[str, Any]) -> dict[str, Any]:
    """Takes the options that shape packets out of a link's or an interface's parameters."""
    keys = [key for key in params if key in _TC_ONLY or key in LINK_KEYS]
    return {key: value for key in keys if (value := params.pop(key)) is not None}


def link_spec(shape: Mapping[str, Any]) -> LinkSpec:
    """What TCLink's options ask for.

    Raises:
        UsageError: an option that our links do not have, or a value that makes no sense.
    """
    for key, what in _NOT_EMULATED.items():
        if shape.get(key):
            raise UsageError(
                f"TCLink: {key} is not emulated ({what})",
                'leave it out; queues that mark or drop early are discipline="codel" and "fq_codel", with ecn=True',
            )
    kept = {key: value for key, value in shape.items() if key not in HOW_MININET_SHAPES and key not in _NOT_EMULATED}
    kept.update({key: _time(kept[key]) for key in _TIMES if key in kept})
    if "latency_ms" in kept:
        kept["queue"] = f"{kept.pop('latency_ms')}ms"
    if "jitter" in kept:
        kept.setdefault("distribution", "uniform")  # as netem's, if it is not told
    return LinkSpec.parse(**mininet_units(kept))


def _time(given: object) -> str:
    """A time as tc(8) reads it: `5ms`, `5msec`; a number without a unit is in microseconds."""
    found = _TC_TIME.fullmatch(str(given).strip())
    return f"{found['number']}{found['unit'] or 'us'}" if found else str(given)
