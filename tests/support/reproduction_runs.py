"""Stored runs of the parts of the reproduction record, with measurements that tests choose."""

from collections.abc import Callable, Mapping
from typing import Any

from flightpath.clock import Clock
from flightpath.identity import identity
from results.records import Cell, CellResult, Certificate, Measurement, Metric, ParameterValue, RunStatus, Verdict
from results.store.store import Store
from scenarios.reproduction.parts import Part

SMALL = Part("dtn_mss", "netpreflight", "--repeat 3 --only loss=0", cell_s=35)
"""12 cells, of which one claim is about; the other needs loss."""

CHEAPEST = Part("dtn_window", "netpreflight", "--only window_kib=8 --only tool=iperf3 --seconds 1 --repeat 4", cell_s=5)
"""Four cells that are measured within seconds."""

HERE = {**identity(), "host": "desk", "cores": 2, "memory_bytes": 8 * 2**30, "system": "Debian 12", "kernel": "6.1"}

Goodput = Callable[[Mapping[str, ParameterValue]], float]
"""In bit/s, by the parameters of a cell."""


def alike(parameters: Mapping[str, ParameterValue]) -> float:
    """Neither streams nor segments matter, as the second claim of `dtn_mss` has it."""
    return 400e6


def stored_run(
    store: Store,
    part: Part = SMALL,
    *,
    goodput: Goodput = alike,
    cells: int | None = None,
    status: RunStatus | None = RunStatus.DONE,
    plan: Mapping[str, Any] | None = None,
    environment: Mapping[str, Any] = HERE,
) -> str:
    """A run of a part with its first so many cells, or all; it is still running if no status is given."""
    run_id = store.begin_run(part.scenario.name, plan or part.plan().as_json(), environment, ["python"])
    for order, cell in enumerate(part.plan().cells()[:cells]):
        store.record(run_id, _measured(cell, goodput, part.clock), order)
    if status is not None:
        store.finish_run(run_id, status)
    return run_id


def _measured(cell: Cell, goodput: Goodput, clock: Clock) -> CellResult:
    # Repetitions that differ a little, so that there is an interval.
    value = goodput(cell.parameters) * (1 + 1e-4 * cell.repetition)
    certificate = Certificate(Verdict.FAITHFUL, (), {"clock": str(clock)})
    return CellResult(cell, Measurement({"goodput": Metric(value, "bit/s")}), certificate)
