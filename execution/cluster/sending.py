"""Cells as tasks of Dask: sent to workers, followed by their reports, and collected."""

import contextlib
import queue
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from distributed import Client, Future, KilledWorker
from pydantic import ValidationError

from execution.cluster import task
from execution.cluster.machine import own_identity
from execution.cluster.task import Outcome
from execution.cluster.workers import Workers
from execution.executor import PlannedCell, RunContext
from execution.guest_executors import cell_request
from execution.guest_side import PlanCheck
from flightpath.errors import FlightpathError, MeasurementFailed
from results.exchange.progress import CellProgress
from results.store.ownership import give_to_caller, make_folder

_LOOK_S = 1.0
_MANY, _FORGET_S = 20, 30.0
_GATHER_S = 0.2
"""Pause in which more cells may end: their results come in one transfer, and others are sent in one message."""


@dataclass
class SentCell:
    """A cell, and its history on the cluster so far.

    Attributes:
        turn: its turn among the machines, as `workers.turns` says.
        tried: machines that have measured it.
        attempts: reasons for which results were unusable, by machine.
        killed: number of workers that ended while they had it.
    """

    planned: PlannedCell
    turn: int | None
    tried: set[str] = field(default_factory=set)
    attempts: list[dict[str, Any]] = field(default_factory=list)
    killed: int = 0


class Sent:
    """The cells of a run that workers have, or that wait for one."""

    def __init__(self, client: Client, run: RunContext, workers: Workers) -> None:
        self.cells: dict[Future[Any], SentCell] = {}
        self._done: list[Future[Any]] = []
        self._forgotten_s = time.monotonic()
        self._client, self._run, self._workers = client, run, workers
        self._topic = f"flightpath-{secrets.token_hex(8)}"
        self._events: queue.SimpleQueue[Future[Any] | Mapping[str, str]] = queue.SimpleQueue()
        client.subscribe_topic(self._topic, lambda event: self._events.put(event[1]))

    def send(self, cells: Sequence[SentCell], where: Mapping[str, Any]) -> None:
        """Makes cells tasks that may go to the same workers."""
        requests = [cell_request(self._run.scenario, self._run.plan, cell.planned.cell) for cell in cells]
        futures = submit(self._client, task.measure, requests, where, self._topic)
        for cell, future in zip(cells, futures, strict=True):
            self.cells[future] = cell
            future.add_done_callback(self._events.put)

    def ended(self) -> Iterator[tuple[SentCell, Callable[[], Outcome]]]:
        """Yields cells whose tasks end within a second, each with a callable that returns its outcome or raises."""
        futures = list(self._ended())
        # All at once, because each transfer takes a round trip.
        finished = {future.key: future for future in futures if future.status == "finished"}
        results = self._client.gather(finished, errors="skip", direct=self._workers.are_near)
        self._done += futures
        for future in futures:
            yield self.cells.pop(future), partial(outcome_of, future, results.get(future.key))
        if len(futures) < _MANY or time.monotonic() > self._forgotten_s + _FORGET_S:
            self._forget()

    def _forget(self) -> None:
        """Lets the workers forget results; where many cells end, many at once, because that costs as much as sending.

        What a worker has not forgotten is measured again, for nothing, if the worker is killed.
        """
        self._done.clear()
        self._forgotten_s = time.monotonic()

    def _ended(self) -> Iterator[Future[Any]]:
        """Yields ended tasks; shows what workers report meanwhile."""
        with contextlib.suppress(queue.Empty):
            event = self._events.get(timeout=_LOOK_S)
            time.sleep(_GATHER_S)
            while True:
                if isinstance(event, Future):
                    yield event
                else:
                    _show(event, self._run)
                event = self._events.get_nowait()


def submit(
    client: Client,
    function: Callable[..., Mapping[str, Any]],
    requests: Sequence[PlanCheck],
    where: Mapping[str, Any],
    topic: str = "",
) -> list[Future[Any]]:
    """Sends requests to workers, together: one by one they would cost the scheduler far more.

    Args:
        where: the workers that may take them, as Dask understands it.
        topic: topic of the workers' reports of progress.
    """
    texts = [request.model_dump_json() for request in requests]
    return client.map(function, texts, expected=own_identity(), topic=topic, pure=False, **where)


def outcome_of(future: Future[Any], result: Mapping[str, Any] | None = None) -> Outcome:
    """Returns the outcome of a task; `result` is its value if that is here already.

    Raises:
        MeasurementFailed: the worker failed, or the scheduler is gone.
        KilledWorker: several workers ended while they had it.
    """
    try:
        return Outcome.model_validate(future.result() if result is None else result)
    except KilledWorker:
        raise
    except Exception as error:  # whatever a worker raised, and what Dask raises when its scheduler is gone
        raise MeasurementFailed(f"the cluster failed: {type(error).__name__}: {error}") from error


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


def _show(reported: Mapping[str, str], run: RunContext) -> None:
    if "begins" in reported:
        run.progress.begin(reported["begins"])
        return
    with contextlib.suppress(ValidationError, FlightpathError):
        progress = CellProgress.model_validate_json(reported["progress"])
        run.show(progress.cell, progress)
