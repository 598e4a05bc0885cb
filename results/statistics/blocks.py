"""Machines as blocks: the effect of each machine of a cluster on a metric, which is not noise.

A value is modelled as the product of an effect of its point, an effect of its machine, and noise (two-way analysis of
variance of the logarithms).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from flightpath.clock import Clock
from results.records import CellResult


@dataclass(frozen=True)
class Blocks:
    """Effects of the machines on one metric.

    Attributes:
        effects: effect of each machine on the logarithm, by its id; their sum is 0.
        p: probability of such effects if the machines are equal.
        noise_share: fraction of the repetitions' degrees of freedom that is left after the machines' effects.
    """

    effects: Mapping[str, float]
    p: float
    noise_share: float


def machine_of(cell: CellResult) -> str:
    """Returns the id of the cluster machine that measured a cell; empty without one, and in virtual time."""
    worker = cell.certificate.found.get("worker")
    if cell.clock is Clock.VIRTUAL or not isinstance(worker, Mapping):  # an imported record may hold anything
        return ""
    return str(worker.get("machine", ""))


def machine_blocks(points: Iterable[Sequence[CellResult]], metric: str) -> Blocks | None:
    """Estimates the effect of each machine on a metric, from the cells of several points.

    Returns None if that is impossible: there are fewer than two machines, no point was measured on several, or a value
    is not above 0.
    """
    measured = [
        (number, machine_of(cell), cell.measurement.metrics[metric].value)
        for number, cells in enumerate(points)
        for cell in cells
        if metric in cell.measurement.metrics and machine_of(cell)
    ]
    machines = sorted({machine for _, machine, _ in measured})
    if len(machines) < 2 or min(value for _, _, value in measured) <= 0:
        return None
    return _fitted(measured, machines)


def without_machines(points: Iterable[Sequence[CellResult]], metric: str) -> Mapping[int, float]:
    """Returns values adjusted to the mean of all machines, by the `id` of the cell.

    The remaining variation is widened, because the machines' effects were estimated from the same values. Without
    blocks, the values are returned as measured.
    """
    groups = [[cell for cell in cells if metric in cell.measurement.metrics] for cells in points]
    blocks = machine_blocks(groups, metric)
    adjusted: dict[int, float] = {}
    for cells in groups:
        values = [cell.measurement.metrics[metric].value for cell in cells]
        if blocks is not None and all(machine_of(cell) in blocks.effects for cell in cells) and cells:
            effects = [math.exp(blocks.effects[machine_of(cell)]) for cell in cells]
            values = [value / effect for value, effect in zip(values, effects, strict=True)]
            centre = math.fsum(values) / len(values)
            values = [centre + (value - centre) / math.sqrt(blocks.noise_share) for value in values]
        adjusted |= {id(cell): value for cell, value in zip(cells, values, strict=True)}
    return adjusted


def _fitted(measured: Sequence[tuple[int, str, float]], machines: Sequence[str]) -> Blocks | None:
    import numpy as np
    from scipy import special  # as in `estimates`

    numbers = {number: index for index, number in enumerate(dict.fromkeys(number for number, _, _ in measured))}
    logs = np.log([value for _, _, value in measured])
    by_point = np.eye(len(numbers))[[numbers[number] for number, _, _ in measured]]
    # Effects sum to zero: the last machine's is minus the sum of the others'.
    codes = np.vstack([np.eye(len(machines) - 1), -np.ones(len(machines) - 1)])
    both = np.hstack([by_point, codes[[machines.index(machine) for _, machine, _ in measured]]])
    if np.linalg.matrix_rank(both) < both.shape[1]:
        return None  # effects of machines and points cannot be separated
    solution = np.linalg.lstsq(both, logs, rcond=None)[0]
    with_machines = float(((logs - both @ solution) ** 2).sum())
    without = float(((logs - by_point @ np.linalg.lstsq(by_point, logs, rcond=None)[0]) ** 2).sum())
    freedom = len(measured) - both.shape[1]
    if freedom < 1 or with_machines <= 1e-18:
        return None  # the noise is unknown
    ratio = (without - with_machines) / (len(machines) - 1) / (with_machines / freedom)
    first = solution[len(numbers) :]
    effects = dict(zip(machines, map(float, [*first, -first.sum()]), strict=True))
    p = float(special.fdtrc(len(machines) - 1, freedom, max(0.0, ratio)))
    return Blocks(effects, p, freedom / (len(measured) - len(numbers)))
