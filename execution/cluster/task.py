"""What a worker runs: it checks a plan or measures one of its cells, in a lab or in a process of its own.

Requests and answers are JSON, as those of a guest; files come as bytes.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from distributed import get_worker
from pydantic import BaseModel

from execution.cluster import turns
from execution.cluster.about import difference, this_machine
from execution.cluster.process import ProcessGuest
from execution.exchange import Answer, GuestError, Request, answer_with_plan, answer_with_result
from execution.executor import LocalExecutor, PlannedCell, RunContext
from execution.guest_executors import GuestExecutor, UmlExecutor
from execution.guests.guest import Guest
from execution.guests.shared_folder import shared_folder
from execution.uml import kernel
from experiments import catalogue
from experiments.plan import Plan
from flightpath.clock import Clock
from flightpath.errors import FlightpathError, MeasurementFailed
from flightpath.overrides import override
from results.exchange.progress import CellProgress

MOST_FILE_BYTES = 256 << 20
"""Of the files of one cell; what is above stays on the worker's machine, and is gone with the cell."""


class Outcome(BaseModel):
    """What a worker made of a request.

    Attributes:
        refused: why it did not try; empty if it did.
        worker: what `this_machine` says.
        files: worth keeping, by their paths in the run's folder.
        left_out: paths of files that were too large.
    """

    worker: dict[str, Any]
    refused: str = ""
    answer: Answer | None = None
    files: dict[str, bytes] = {}
    left_out: list[str] = []


def about() -> dict[str, Any]:
    """What the worker says of its machine."""
    return this_machine()


def fulfil(request: str, expected: Mapping[str, str], topic: str) -> dict[str, Any]:
    """Answers a request; returns an `Outcome` as Python values.

    Args:
        request: a `Request` as JSON.
        expected: version and commit of Flightpath that the cell is for.
        topic: of Dask's events, for the cell's progress.
    """
    worker = this_machine()
    if worker["identity"] != expected:
        return Outcome(worker=worker, refused=difference(worker)).model_dump()
    asked = Request.model_validate_json(request)
    with shared_folder() as folder:
        try:
            answer = _answer(asked, folder, DaskProgress(topic))
        except FlightpathError as error:
            answer = Answer(error=GuestError.of(error))
        files, left_out = _files(folder)
    return Outcome(worker=worker, answer=answer, files=files, left_out=left_out).model_dump()


def _answer(asked: Request, folder: Path, telling: "DaskProgress") -> Answer:
    scenario, plan = catalogue.find(asked.scenario), Plan.from_json(asked.plan)
    clock = plan.clock
    processors, check = sorted(os.sched_getaffinity(0)), telling.check
    with turns.turn(alone=clock is Clock.REAL, check=check), turns.processor(processors, check) as processor:
        is_here = plan.executor == LocalExecutor.name
        machine = ProcessExecutor() if is_here else UmlExecutor(kernel.find(), clock, processors=[processor])
        if asked.order is None:
            return answer_with_plan(machine.prepare(scenario, plan, shorten=asked.shorten))
        planned = PlannedCell(asked.order, plan.cells()[asked.order])
        run = RunContext(scenario, plan, folder, telling, telling.report, telling.check)
        with machine.measure(run, [planned]) as measured:
            _, result = next(measured)
    if isinstance(result, MeasurementFailed):
        raise result
    return answer_with_result(result)


class DaskProgress:
    """Tells who asked how far a cell is, and ends a cell that nobody wants any more."""

    def __init__(self, topic: str) -> None:
        self._worker, self._key, self._topic = get_worker(), get_worker().get_current_task(), topic

    def begin(self, label: str) -> None:
        """A cell begins."""
        self._worker.log_event(self._topic, {"begins": label})

    def update(self, label: str, fraction: float, doing: str) -> None:
        """A cell goes on; `report` tells more of it."""

    def report(self, progress: CellProgress) -> None:
        """What is told of a cell."""
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
        return ProcessGuest(argv, {}, boot_limit_s=60)


def _files(folder: Path) -> tuple[dict[str, bytes], list[str]]:
    kept, left_out, total = {}, [], 0
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()):
        name = str(path.relative_to(folder))
        total += path.stat().st_size
        if total > MOST_FILE_BYTES:
            left_out.append(name)
        else:
            kept[name] = path.read_bytes()
    return kept, left_out
