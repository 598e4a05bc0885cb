"""Translation of the options of Mininet's shaped link (`TCLink`) into our specifications."""

import re
from collections.abc import Mapping
from typing import Any

from flightpath.errors import UsageError
from topologies.links.spec import LINK_KEYS, LinkSpec
from topologies.links.texts import mininet_units

HOW_MININET_SHAPES = frozenset(("use_htb", "use_hfsc", "use_tbf", "gro", "disable_gro", "txo", "rxo"))
"""Options of TCLink that choose how it shapes; our links are exact in any case."""

_NOT_EMULATED = {
    "enable_ecn": "random early detection",
    "enable_red": "random early detection",
    "speedup": "another rate at the switch's end",
}
_TC_ONLY = {*HOW_MININET_SHAPES, *_NOT_EMULATED, "latency_ms", "max_queue_size"}
_TIMES = ("delay", "jitter")
_TC_TIME = re.compile(r"(?P<number>[0-9.]+) *(?P<unit>s|ms|us)?(ec|ecs)?")


def take_shape(params: dict[str, Any]) -> dict[str, Any]:
    """Removes the options that shape packets from the parameters of a link or an interface, and returns them."""
    keys = [key for key in params if key in _TC_ONLY or key in LINK_KEYS]
    return {key: value for key in keys if (value := params.pop(key)) is not None}


def link_spec(shape: Mapping[str, Any]) -> LinkSpec:
    """Returns the specification for TCLink's options.

    Raises:
        UsageError: our links lack an option, or a value is invalid.
    """
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
