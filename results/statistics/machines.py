"""Whether the machines of a cluster differ: a slow machine must not become a protocol's fault."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from results.records import CellResult
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

    Values are modelled as the product of what their point and what their machine makes of them, and noise (analysis of
    variance with two factors, of logarithms). A run in which no point was measured on two machines says nothing.
    """
    counted = [cell for cell in usable(cells) if "worker" in cell.certificate.found]
    hosts = {_machine(cell): _host(cell) for cell in counted}
    if len(hosts) < 2:
        return None
    names = list(dict.fromkeys(name for cell in counted for name in cell.measurement.metrics))[:_MOST_METRICS]
    effects = {name: found for name in names if (found := _effects(counted, name)) is not None}
    corrected = holm([p for p, _ in effects.values()])
    differing = [
        MachineDifference(name, hosts[machine], math.exp(effect), p)
        for (name, (_, of)), p in zip(effects.items(), corrected, strict=True)
        if p < SIGNIFICANT
        for machine, effect in of.items()
    ]
    return max(differing, key=lambda each: abs(math.log(each.factor)), default=None)


def _effects(cells: Sequence[CellResult], metric: str) -> tuple[float, Mapping[str, float]] | None:
    """How likely chance is as a reason, and what each machine adds to the logarithm of a metric; None: not known."""
    import numpy as np
    from scipy import special  # as in `estimates`

    measured = [cell for cell in cells if metric in cell.measurement.metrics]
    values = [cell.measurement.metrics[metric].value for cell in measured]
    machines = sorted({_machine(cell) for cell in measured})
    if not values or min(values) <= 0 or len(machines) < 2:
        return None
    point_of = {id(cell): number for number, of in enumerate(group(measured).values()) for cell in of}
    points, machine = [point_of[id(cell)] for cell in measured], [machines.index(_machine(cell)) for cell in measured]
    logs = np.log(values)
    by_point = np.eye(max(points) + 1)[points]
    # Effects sum to zero: the last machine's is minus the sum of the others'.
    codes = np.vstack([np.eye(len(machines) - 1), -np.ones(len(machines) - 1)])[machine]
    both = np.hstack([by_point, codes])
    if np.linalg.matrix_rank(both) < both.shape[1]:
        return None  # which machine and which point cannot be told apart
    found = np.linalg.lstsq(both, logs, rcond=None)[0]
    with_machines = float(((logs - both @ found) ** 2).sum())
    without = float(((logs - by_point @ np.linalg.lstsq(by_point, logs, rcond=None)[0]) ** 2).sum())
    freedom = len(values) - both.shape[1]
    if freedom < 1 or with_machines <= 1e-18:
        return None  # in virtual time repetitions of a seed may be equal to the last bit
    ratio = (without - with_machines) / (len(machines) - 1) / (with_machines / freedom)
    first = found[by_point.shape[1] :]
    effects = dict(zip(machines, [*first, -first.sum()], strict=True))
    return float(special.fdtrc(len(machines) - 1, freedom, max(0.0, ratio))), effects


def _machine(cell: CellResult) -> str:
    return str(cell.certificate.found["worker"].get("machine"))


def _host(cell: CellResult) -> str:
    return str(cell.certificate.found["worker"].get("host"))
