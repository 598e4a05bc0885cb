"""What is repeated: the plan and the cell of a stored run, and whether both measurements are the same."""

import re
from collections.abc import Sequence

from pydantic import ValidationError

from execution.executor import PlannedCell
from execution.guest_executors import UmlExecutor
from experiments.fidelity.watch import LOAD_BEGAN
from experiments.plan import Plan
from flightpath.clock import Clock
from flightpath.errors import UsageError
from flightpath.suggestions import did_you_mean
from results.records import Cell, CellResult, RunRecord
from results.summary.cell_choice import chosen_cells


def stored_plan(record: RunRecord) -> Plan:
    """Returns the plan of a run in virtual time.

    Raises:
        UsageError: the run cannot be repeated, because it is on the real clock or no experiment of ours.
    """
    try:
        plan = Plan.from_json(record.plan)
    except ValidationError as error:
        raise UsageError(f"{record.run_id} is no experiment that can be repeated: it has no plan") from error
    if plan.clock is Clock.REAL or plan.executor != UmlExecutor.name:
        raise UsageError(
            f"{record.run_id} was measured on the real clock, which no one can stop or repeat",
            f"measure it in virtual time: flightpath run {record.scenario} --clock virtual",
        )
    return plan


def stored_cell(cells: Sequence[CellResult], wanted: str | None, run_id: str) -> CellResult:
    """Finds a cell of a run by its number from 1, or by some of its parameters.

    Raises:
        UsageError: the run has no such cell, or several, or the cell does not say when its load began.
    """
    labels = [result.cell.label for result in cells]
    if not cells:
        raise UsageError(f"{run_id} has no cells", "another run: flightpath results list")
    if wanted is None or re.fullmatch("[0-9]+", wanted):
        number = int(wanted or 1)
        if not 1 <= number <= len(cells):
            raise UsageError(f"{run_id} has no cell {number}", f"it has {len(cells)}: 1 to {len(cells)}")
    found = chosen_cells(cells, (wanted or "1").split())
    if len(found) != 1:
        hint = did_you_mean(wanted or "", labels) if not found else f"one of: {', '.join(r.cell.label for r in found)}"
        raise UsageError(f"{run_id} has {len(found) or 'no'} cells {wanted!r}", hint)
    if LOAD_BEGAN not in found[0].certificate.found:
        raise UsageError(
            f"{run_id} does not say when the load of its cells began: an earlier version measured it",
            "measure it again, then replay that run",
        )
    return found[0]


def planned_cell(plan: Plan, cell: Cell) -> PlannedCell:
    """Finds a stored cell in its plan.

    Raises:
        UsageError: the plan does not have it.
    """
    for order, each in enumerate(plan.cells()):
        if each.label == cell.label:
            return PlannedCell(order, each)
    raise UsageError(f"the plan of this run has no cell {cell.label}")


def difference(stored: CellResult, again: CellResult) -> list[str]:
    """Returns what of two measurements of a cell is not the same, a line each: metrics, and the names of series."""
    old, new = stored.measurement, again.measurement
    lines = []
    for name in sorted(old.metrics.keys() | new.metrics.keys()):
        before, after = old.metrics.get(name), new.metrics.get(name)
        if before != after:
            values = [f"{each.value!r} {each.unit}" if each else "nothing" for each in (before, after)]
            lines.append(f"{name}: {values[0]} is stored, {values[1]} measured now")
    names = sorted(old.series.keys() | new.series.keys())
    lines += [f"{name}: another series" for name in names if old.series.get(name) != new.series.get(name)]
    return lines
