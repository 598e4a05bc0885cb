"""Tasks of a worker: check a plan, or measure one of its cells, in a guest or in a process of its own.

Requests and answers are those of `execution.guest_side`; files come as bytes.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from distributed import get_worker
from pydantic import BaseModel

from execution.cluster import turns
from execution.cluster.machine import difference, this_machine
from execution.executor import LocalExecutor, PlannedCell, RunContext
from execution.guest_executors import GuestExecutor, UmlExecutor
from execution.guest_side import CellRequest, PlanCheck, check_plan, measure_cell
from execution.guests.guest import Guest
from execution.guests.process import ProcessGuest
from execution.guests.shared_folder import shared_folder
from execution.uml import kernel
from experiments.plan import Plan
from experiments.scenario import Scenario
from flightpath.calls import Answer, Returns
from flightpath.clock import Clock
from flightpath.errors import MeasurementFailed
from flightpath.overrides import override
from results.exchange.progress import CellProgress
from results.records import CellResult

_Value = TypeVar("_Value")

MAX_FILE_BYTES = 256 << 20
"""Limit of one cell's files; what is above stays on the worker's machine, and is gone with the cell."""


class Outcome(BaseModel):
    """The outcome of a request on a worker.

    Attributes:
        refused: reason why it did not try; empty if it did.
        worker: facts from `this_machine`.
        files: worth keeping, by their paths in the run's folder.
        left_out: paths of files that were too large.
    """

    worker: dict[str, Any]
    refused: str = ""
    answer: Answer | None = None
    files: dict[str, bytes] = {}
    left_out: list[str] = []

    def value(self, returns: Returns[_Value]) -> _Value:
        """Returns the value of the answer.

        Raises:
            FlightpathError: what the worker reported.
            MeasurementFailed: the answer is malformed.
        """
        return returns.value(self.answer or Answer())


def about() -> dict[str, Any]:
    """Returns the facts about the worker's machine."""
    return this_machine()


def check(request: str, expected: Mapping[str, str], topic: str) -> dict[str, Any]:
    """Checks a plan (`PlanCheck` as JSON); arguments and result are those of `measure`."""
    wanted = PlanCheck.model_validate_json(request)

    def checked(executor: GuestExecutor, scenario: Scenario, plan: Plan, _folder: Path) -> dict[str, Any]:
        return executor.prepare(scenario, plan, shorten=wanted.shorten).as_json()

    return _fulfilled(wanted, expected, Returns.of(check_plan), checked, DaskProgress(topic))


def measure(request: str, expected: Mapping[str, str], topic: str) -> dict[str, Any]:
    """Measures a cell; returns an `Outcome` as Python values.

    Args:
        request: a `CellRequest` as JSON.
        expected: version and commit of Flightpath that the cell is for.
        topic: topic of Dask's events for the cell's progress.
    """
    wanted, progress = CellRequest.model_validate_json(request), DaskProgress(topic)

    def measured(executor: GuestExecutor, scenario: Scenario, plan: Plan, folder: Path) -> CellResult:
        run = RunContext(scenario, plan, folder, progress, progress.report, progress.check)
        with executor.measure(run, [PlannedCell(0, wanted.cell())]) as results:
            _, result = next(results)
        if isinstance(result, MeasurementFailed):
            raise result
        return result

    return _fulfilled(wanted, expected, Returns.of(measure_cell), measured, progress)


def _fulfilled(
    wanted: PlanCheck,
    expected: Mapping[str, str],
    returns: Returns[_Value],
    function: Callable[[GuestExecutor, Scenario, Plan, Path], _Value],
    progress: "DaskProgress",
) -> dict[str, Any]:
    """Calls a function when it is this worker's turn, with the executor of the plan and a folder for files."""
    worker = this_machine()
    if refused := difference(worker, expected):
        return Outcome(worker=worker, refused=refused).model_dump()

    def compute() -> _Value:
        scenario, plan = wanted.experiment(), Plan.from_json(wanted.plan)
        processors, check = sorted(os.sched_getaffinity(0)), progress.check
        alone = plan.clock is Clock.REAL
        with turns.turn(alone=alone, check=check), turns.processor(processors, check) as processor:
            is_here = plan.executor == LocalExecutor.name
            executor = ProcessExecutor() if is_here else UmlExecutor(kernel.find(), plan.clock, processors=[processor])
            return function(executor, scenario, plan, folder)

    with shared_folder() as folder:
        answer = returns.answer(compute)
        files, left_out = _files(folder)
    return Outcome(worker=worker, answer=answer, files=files, left_out=left_out).model_dump()


class DaskProgress:
    """Reports how far a cell is, over Dask's events, and ends a cell that nobody wants any more."""

    def __init__(self, topic: str) -> None:
        self._worker, self._key, self._topic = get_worker(), get_worker().get_current_task(), topic

    def begin(self, label: str) -> None:
        """Reports that a cell begins."""
        self._worker.log_event(self._topic, {"begins": label})

    def update(self, label: str, fraction: float, doing: str) -> None:
        """Does nothing: `report` says more."""

    def postponed(self, label: str, why: str) -> None:
        """Does nothing: a worker measures a cell once."""

    def report(self, progress: CellProgress) -> None:
        """Reports the progress of a cell."""
        self._worker.log_event(self._topic, {"progress": progress.model_dump_json()})

    def check(self) -> None:
        """Raises MeasurementFailed if the cell was cancelled."""
        task = self._worker.state.tasks.get(self._key)
        if task is None or task.state == "cancelled":
            raise MeasurementFailed("nobody waits for this cell any more")


class ProcessExecutor(GuestExecutor):
    """This machine's own kernel, in a process that is started for the cell, because a sandbox needs one of its own."""

    name = LocalExecutor.name

    @override
    def guest(self, argv: Sequence[str], writable: Path | None, slot: int, seed: int) -> Guest:
        return ProcessGuest(argv)


def _files(folder: Path) -> tuple[dict[str, bytes], list[str]]:
    kept, left_out, total = {}, [], 0
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()):
        name = str(path.relative_to(folder))
        total += path.stat().st_size
        if total > MAX_FILE_BYTES:
            left_out.append(name)
        else:
            kept[name] = path.read_bytes()
    return kept, left_out
