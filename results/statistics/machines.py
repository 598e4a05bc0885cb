"""Whether the machines of a cluster differ: a slow machine must not become a protocol's fault."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from results.records import CellResult
from results.statistics.blocks import machine_blocks, machine_of
from results.statistics.effects import holm
from results.statistics.estimates import group, usable

SIGNIFICANT = 0.01
_MOST_METRICS = 5
"""The first ones of a scenario are the most important."""


@dataclass(frozen=True)
class MachineDifference:
    """A machine that measured otherwise than the others, at the same points.

    Attributes:
        metric: in which that shows most.
        host: the machine's name.
        factor: its values, as a multiple of those of all machines together.
        p: of a difference that is as large by chance, corrected for the number of metrics (Holm).
    """

    metric: str
    host: str
    factor: float
    p: float


def machine_difference(cells: Sequence[CellResult]) -> MachineDifference | None:
    """The largest difference between machines that is significant, if there is one.

    A run in which no point was measured on two machines says nothing (`machine_blocks`).
    """
    counted = [cell for cell in usable(cells) if machine_of(cell)]
    hosts = {machine_of(cell): _host(cell) for cell in counted}
    if len(hosts) < 2:
        return None
    points = list(group(counted).values())
    names = list(dict.fromkeys(name for cell in counted for name in cell.measurement.metrics))[:_MOST_METRICS]
    blocks = {name: found for name in names if (found := machine_blocks(points, name)) is not None}
    corrected = holm([found.p for found in blocks.values()])
    differing = [
        MachineDifference(name, hosts[machine], math.exp(effect), p)
        for (name, found), p in zip(blocks.items(), corrected, strict=True)
        if p < SIGNIFICANT
        for machine, effect in found.effects.items()
    ]
    return max(differing, key=lambda each: abs(math.log(each.factor)), default=None)


def _host(cell: CellResult) -> str:
    return str(cell.certificate.found["worker"].get("host"))
