"""Stored runs of the parts of the reproduction record, with measurements that tests choose."""

from collections.abc import Callable, Mapping
from typing import Any

from flightpath.identity import identity
from results.records import Cell, CellResult, Certificate, Measurement, Metric, RunStatus, Verdict
from results.store.store import Store
from scenarios.reproduction.part import Part

SMALL = Part("dtn_mss", "netpreflight", "--repeat 3 --only loss=0", cell_s=35)
"""12 cells, of which one claim is about; the other needs loss."""

CHEAPEST = Part("dtn_window", "netpreflight", "--only window_kib=8 --only tool=iperf3 --seconds 1 --repeat 2", cell_s=5)
"""Two cells that are measured within seconds."""

HERE = {**identity(), "host": "desk", "cores": 2, "memory_bytes": 8 * 2**30, "system": "Debian 12", "kernel": "6.1"}


def stored_run(
    store: Store,
    part: Part = SMALL,
    *,
    goodput: Callable[[Cell], float] = lambda cell: 400e6,
    cells: int | None = None,
    status: RunStatus | None = RunStatus.DONE,
    plan: Mapping[str, Any] | None = None,
    environment: Mapping[str, Any] = HERE,
    verdict: Verdict = Verdict.FAITHFUL,
) -> str:
    """A run of a part with its first so many cells, or all; it is still running if no status is given.

    The goodput in bit/s is by default the same in all cells: neither streams nor segments matter.
    """
    run_id = store.begin_run(part.scenario.name, plan or part.plan().as_json(), environment, ["python"])
    for order, cell in enumerate(part.plan().cells()[:cells]):
        # Repetitions that differ a little, so that there is an interval.
        value = goodput(cell) * (1 + 1e-4 * cell.repetition)
        certificate = Certificate(verdict, (), {"clock": str(part.clock)})
        store.record(run_id, CellResult(cell, Measurement({"goodput": Metric(value, "bit/s")}), certificate), order)
    if status is not None:
        store.finish_run(run_id, status)
    return run_id
