"""Cells as tasks: what is sent to workers, what they tell meanwhile, and what comes back."""

import contextlib
import queue
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from distributed import Client, Future, KilledWorker
from pydantic import ValidationError

from flightpath.errors import FlightpathError, MeasurementFailed
from flightpath.identity import identity
from results.exchange.progress import CellProgress
from results.store.ownership import give_to_caller, make_folder
from scenarios.framework.cluster import task
from scenarios.framework.cluster.task import Outcome
from scenarios.framework.guest_exchange import Answer, Request
from scenarios.framework.guests import request_for
from scenarios.framework.machine import PlannedCell, RunContext

_LOOK_S = 1.0


@dataclass
class SentCell:
    """A cell, and what became of it so far.

    Attributes:
        turn: its number among the machines' turns.
        tried: machines that have measured it.
        attempts: what they found, where it was unusable.
        killed: how often workers ended while they had it.
    """

    planned: PlannedCell
    turn: int
    tried: set[str] = field(default_factory=set)
    attempts: list[dict[str, Any]] = field(default_factory=list)
    killed: int = 0


class Sent:
    """The cells of a run that workers have, or that wait for one."""

    def __init__(self, client: Client, run: RunContext) -> None:
        self.cells: dict[Future, SentCell] = {}
        self._client, self._run, self._topic = client, run, f"flightpath-{secrets.token_hex(8)}"
        self._told: queue.SimpleQueue[Future | Mapping[str, str]] = queue.SimpleQueue()
        client.subscribe_topic(self._topic, lambda event: self._told.put(event[1]))

    def send(self, cell: SentCell, where: Mapping[str, Any]) -> None:
        """Makes a cell a task."""
        request = request_for(self._run.scenario, self._run.plan, order=cell.planned.order)
        future = submit(self._client, request, where, self._topic)
        self.cells[future] = cell
        future.add_done_callback(self._told.put)

    def ended(self) -> Iterator[Future]:
        """The tasks that end within a second; shows what workers tell meanwhile."""
        with contextlib.suppress(queue.Empty):
            told = self._told.get(timeout=_LOOK_S)
            while True:
                if isinstance(told, Future):
                    yield told
                else:
                    _show(told, self._run)
                told = self._told.get_nowait()


def submit(client: Client, request: Request, where: Mapping[str, Any], topic: str = "") -> Future:
    """Sends a request to a worker; what it tells of the cell comes under the topic."""
    return client.submit(task.fulfil, request.model_dump_json(), identity(), topic, pure=False, **where)


def outcome_of(future: Future) -> Outcome:
    """What a worker made of a request.

    Raises:
        MeasurementFailed: the worker failed, or the scheduler is gone.
        KilledWorker: several workers ended while they had it.
    """
    try:
        return Outcome.model_validate(future.result())
    except KilledWorker:
        raise
    except Exception as error:  # whatever a worker raised, and what Dask raises when its scheduler is gone
        raise MeasurementFailed(f"the cluster failed: {type(error).__name__}: {error}") from error


def answer_in(outcome: Outcome) -> Answer:
    """The answer of a worker.

    Raises:
        FlightpathError: what the worker reported.
    """
    if outcome.answer.error is not None:
        raise outcome.answer.error.error()
    return outcome.answer


def keep(files: Mapping[str, bytes], folder: Path) -> None:
    """Writes the files of a cell into the run's folder.

    Raises:
        MeasurementFailed: one does not belong there.
    """
    for name, content in files.items():
        target = (folder / name).resolve()
        if not target.is_relative_to(folder.resolve()):
            raise MeasurementFailed(f"a worker sent a file for {name!r}, which is not in the run's folder")
        make_folder(target.parent)
        target.write_bytes(content)
        give_to_caller(target)


def _show(told: Mapping[str, str], run: RunContext) -> None:
    if "begins" in told:
        run.progress.begin(told["begins"])
        return
    with contextlib.suppress(ValidationError, FlightpathError):
        progress = CellProgress.model_validate_json(told["progress"])
        run.progress.update(progress.cell, progress.fraction, progress.doing)
        run.report(progress.model_copy(update={"told_at": datetime.now(UTC).isoformat()}))  # its own date is another
