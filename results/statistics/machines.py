"""Differences between the machines of a cluster, which must not be attributed to a protocol."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from results.records import CellResult
from results.statistics.blocks import machine_blocks, machine_of
from results.statistics.effects import holm
from results.statistics.estimates import group, usable

SIGNIFICANT = 0.01
_MAX_METRICS = 5
"""Number of metrics that are compared: the first of a scenario are the most important."""


@dataclass(frozen=True)
class MachineDifference:
    """A machine whose values differ from those of the others at the same points.

    Attributes:
        factor: ratio of its values to those of all machines.
        p: probability of so large a difference by chance, corrected for the number of metrics (Holm).
    """

    metric: str
    host: str
    factor: float
    p: float


def machine_difference(cells: Sequence[CellResult]) -> MachineDifference | None:
    """Returns the largest significant difference between machines; None if there is none.

    Also None if no point was measured on two machines (`machine_blocks`).
    """
    counted = [cell for cell in usable(cells) if machine_of(cell)]
    hosts = {machine_of(cell): str(cell.certificate.found["worker"].get("host")) for cell in counted}
    if len(hosts) < 2:
        return None
    points = list(group(counted).values())
    names = list(dict.fromkeys(name for cell in counted for name in cell.measurement.metrics))[:_MAX_METRICS]
    blocks = {name: block for name in names if (block := machine_blocks(points, name)) is not None}
    corrected = holm([block.p for block in blocks.values()])
    differing = [
        MachineDifference(name, hosts[machine], math.exp(effect), p)
        for (name, block), p in zip(blocks.items(), corrected, strict=True)
        if p < SIGNIFICANT
        for machine, effect in block.effects.items()
    ]
    return max(differing, key=lambda each: abs(math.log(each.factor)), default=None)
