"""A cluster as a machine: each cell is a task of Dask, which a worker measures, and its record comes back."""

import contextlib
import queue
import secrets
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from distributed import Client, Future, KilledWorker
from pydantic import ValidationError

from flightpath.clock import Clock
from flightpath.command_line import end_like_ctrl_c, exit_code_of
from flightpath.errors import FlightpathError, MeasurementFailed, MissingCapability
from flightpath.identity import identity
from flightpath.overrides import override
from results.exchange.progress import CellProgress
from results.records import CellResult, Verdict
from results.store.ownership import give_to_caller, make_folder
from scenarios.framework.cluster import task
from scenarios.framework.cluster.about import difference
from scenarios.framework.cluster.key import security
from scenarios.framework.cluster.task import Outcome
from scenarios.framework.guest_exchange import Request, plan_in, result_in
from scenarios.framework.guests import request_for
from scenarios.framework.machine import Machine, Measured, PlannedCell, RunContext
from scenarios.framework.plan import Plan
from scenarios.framework.scenario import Scenario

MOST_MACHINES = 3
"""On which a cell is measured while its result is unusable."""

_CONNECT_S, _WORKER_S, _LOOK_S = 15, 20, 1.0
_WAITING_PER_THREAD = 2
_MOST_KILLED = 10
"""Workers that may end while they have a cell, before the cell is given up."""


class Cluster(Machine):
    """The workers of a Dask scheduler.

    Args:
        address: of the scheduler, with TLS.
        key: the file of the cluster's key.
    """

    name = "cluster"
    tries_again = True

    def __init__(self, address: str, key: Path) -> None:
        self._address, self._key = address, key
        self._workers: dict[str, dict[str, Any]] = {}

    @override
    def facts(self) -> Mapping[str, Any]:
        machines = {about["machine"]: about for about in self._workers.values()}
        return {"workers": sorted(machines.values(), key=lambda about: about["host"])}

    @override
    def prepare(self, scenario: Scenario, plan: Plan, *, shorten: bool) -> Plan:
        with self._connected() as client:
            self._await_worker(client)
            request = request_for(scenario, plan, shorten=shorten)
            future = client.submit(*_call(request, ""), pure=False, **self._where(client, plan))
            return plan_in(_answered(future))

    @override
    def run(self, main: Callable[[], int], keep: Sequence[Path]) -> int:
        end_like_ctrl_c()
        return exit_code_of(main)

    @override
    def measure(self, run: RunContext, cells: Sequence[PlannedCell]) -> AbstractContextManager[Iterator[Measured]]:
        return closing(self._measure_all(run, cells))

    def _measure_all(self, run: RunContext, cells: Sequence[PlannedCell]) -> Iterator[Measured]:
        topic, told = f"flightpath-{secrets.token_hex(8)}", queue.SimpleQueue()
        with self._connected() as client:
            client.subscribe_topic(topic, lambda event: told.put(event[1]))
            sent = _Sent(client, told, topic)
            turns = _turns(run.plan)
            waiting = deque(_Cell(planned, turns[planned.order]) for planned in cells)
            while waiting or sent.cells:
                self._require_scheduler(client)
                self._examine(client)
                while (
                    waiting
                    and self._usable(client)
                    and len(sent.cells) < _WAITING_PER_THREAD * sum(client.nthreads().values())
                ):
                    cell = waiting.popleft()
                    sent.send(run, cell, self._where(client, run.plan, cell))
                for future in sent.ended(run):
                    self._require_scheduler(client)
                    cell = sent.cells.pop(future)
                    if (result := self._judged(run, cell, future)) is None:
                        waiting.append(cell)
                    else:
                        yield Measured(cell.planned, result)

    def _judged(self, run: RunContext, cell: "_Cell", future: Future) -> CellResult | MeasurementFailed | None:
        """The result of a cell; None: it is to be measured on another worker."""
        try:
            outcome = _outcome(future)
        except KilledWorker:
            cell.killed += 1
            return (
                None
                if cell.killed < _MOST_KILLED
                else MeasurementFailed(f"{cell.killed} workers ended while they had it")
            )
        except MeasurementFailed as error:
            return error
        if outcome.refused:  # it joined after the others were asked
            return None
        try:
            result = result_in(_checked(outcome))
        except MeasurementFailed as error:
            return error
        cell.tried.add(outcome.worker["machine"])
        found = {
            **result.certificate.found,
            **_whose(outcome),
            **({"earlier_attempts": cell.attempts[:]} if cell.attempts else {}),
        }
        if (
            result.certificate.verdict is Verdict.UNUSABLE
            and len(cell.tried) < MOST_MACHINES
            and self._others(cell.tried)
        ):
            cell.attempts.append({**_whose(outcome), "reasons": list(result.certificate.reasons)})
            run.progress.postponed(cell.planned.cell.label, f"unusable on {outcome.worker['host']}")
            return None
        _keep(outcome.files, run.artifacts)
        return CellResult(cell.planned.cell, result.measurement, replace(result.certificate, found=found))

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Client]:
        try:
            client = Client(self._address, security=security(self._key), timeout=_CONNECT_S, set_as_default=False)
        except (OSError, TimeoutError) as error:
            raise MissingCapability(
                f"no scheduler answers at {self._address}: {error}",
                "start one with `flightpath cluster scheduler`, with the same key",
            ) from error
        with client:
            yield client

    def _await_worker(self, client: Client) -> None:
        deadline = time.monotonic() + _WORKER_S
        while not self._usable(client):
            self._examine(client)
            if time.monotonic() > deadline:
                raise MissingCapability(
                    f"the scheduler at {self._address} has no worker that can measure",
                    "start some with `flightpath worker`, with this version and commit of Flightpath",
                )
            time.sleep(_LOOK_S / 10)

    def _require_scheduler(self, client: Client) -> None:
        if client.status != "running":
            raise MeasurementFailed(
                f"the scheduler at {self._address} is gone",
                "the finished cells are kept; measure the rest with --resume",
            )

    def _examine(self, client: Client) -> None:
        """Asks new workers what they are."""
        new = [address for address in client.nthreads() if address not in self._workers]
        if new:
            for address, about in client.run(task.about, workers=new, on_error="ignore").items():
                self._workers[address] = about
                if why := difference(about):
                    print(f"a worker is not used: {why}", file=sys.stderr)

    def _usable(self, client: Client) -> list[str]:
        known = [(address, self._workers.get(address)) for address in client.nthreads()]
        return [address for address, about in known if about and not difference(about)]

    def _others(self, tried: set[str]) -> bool:
        return any(about["machine"] not in tried for about in self._workers.values())

    def _where(self, client: Client, plan: Plan, cell: "_Cell | None" = None) -> dict[str, Any]:
        """Which workers a cell may go to, and what it takes of one.

        On the real clock the repetitions of a point go round the machines, and the points begin at different ones, so
        that a slow machine does not become a point's fault. Only if these workers are gone may others take it.
        """
        usable = self._usable(client)
        is_real = plan.settings["clock"] == Clock.REAL
        machines = sorted({self._machine(address) for address in usable} - (cell.tried if cell else set()))
        if is_real and cell and machines:
            machines = [machines[cell.turn % len(machines)]]
        chosen = [address for address in usable if self._machine(address) in machines]
        kind = "exclusive" if is_real else "virtual"
        return {"workers": chosen or usable, "allow_other_workers": True, "resources": {kind: 1}}

    def _machine(self, address: str) -> str:
        return self._workers[address]["machine"]


def _turns(plan: Plan) -> dict[int, int]:
    """For each cell's number in the plan, its turn among the machines."""
    points: dict[str, int] = {}
    return {
        order: points.setdefault(repr(sorted(cell.parameters.items())), len(points)) + cell.repetition
        for order, cell in enumerate(plan.cells())
    }


@dataclass
class _Cell:
    """A cell, and what became of it so far.

    Attributes:
        turn: its number among the machines' turns.
        tried: machines that have measured it.
        attempts: what they found, where it was unusable.
        killed: how many workers ended while they had it.
    """

    planned: PlannedCell
    turn: int
    tried: set[str] = field(default_factory=set)
    attempts: list[dict[str, Any]] = field(default_factory=list)
    killed: int = 0


class _Sent:
    """The cells that workers have, or that wait for one."""

    def __init__(self, client: Client, told: queue.SimpleQueue, topic: str) -> None:
        self.cells: dict[Future, _Cell] = {}
        self._client, self._told, self._topic = client, told, topic

    def send(self, run: RunContext, cell: _Cell, where: Mapping[str, Any]) -> None:
        """Makes a cell a task."""
        request = request_for(run.scenario, run.plan, order=cell.planned.order)
        future = self._client.submit(*_call(request, self._topic), pure=False, **where)
        self.cells[future] = cell
        future.add_done_callback(self._told.put)

    def ended(self, run: RunContext) -> Iterator[Future]:
        """The tasks that end within a second; shows what workers tell meanwhile."""
        with contextlib.suppress(queue.Empty):
            told = self._told.get(timeout=_LOOK_S)
            while True:
                if isinstance(told, Future):
                    yield told
                else:
                    _show(told, run)
                told = self._told.get_nowait()


def _call(request: Request, topic: str) -> tuple[Any, ...]:
    return task.fulfil, request.model_dump_json(), identity(), topic


def _show(told: Mapping[str, str], run: RunContext) -> None:
    if "begins" in told:
        run.progress.begin(told["begins"])
        return
    with contextlib.suppress(ValidationError, FlightpathError):
        progress = CellProgress.model_validate_json(told["progress"])
        run.progress.update(progress.cell, progress.fraction, progress.doing)
        run.report(progress.model_copy(update={"told_at": datetime.now(UTC).isoformat()}))


def _outcome(future: Future) -> Outcome:
    """What a worker made of a request.

    Raises:
        MeasurementFailed: the scheduler is gone, or the worker failed.
        KilledWorker: several workers ended while they had it.
    """
    try:
        return Outcome.model_validate(future.result())
    except KilledWorker:
        raise
    except Exception as error:  # whatever a worker raised, and what Dask raises when its scheduler is gone
        raise MeasurementFailed(f"the cluster failed: {type(error).__name__}: {error}") from error


def _checked(outcome: Outcome) -> Any:
    """The answer of a worker; raises the error that it tells."""
    if outcome.answer.error is not None:
        raise outcome.answer.error.error()
    return outcome.answer


def _answered(future: Future) -> Any:
    outcome = _outcome(future)
    if outcome.refused:
        raise MissingCapability(outcome.refused)
    return _checked(outcome)


def _whose(outcome: Outcome) -> dict[str, Any]:
    left_out = {"files_left_out": outcome.left_out} if outcome.left_out else {}
    return {"worker": {name: outcome.worker[name] for name in ("host", "machine")}, **left_out}


def _keep(files: Mapping[str, bytes], folder: Path) -> None:
    for name, content in files.items():
        target = (folder / name).resolve()
        if not target.is_relative_to(folder.resolve()):
            raise MeasurementFailed(f"a worker sent a file for {name!r}, which is not in the run's folder")
        make_folder(target.parent)
        target.write_bytes(content)
        give_to_caller(target)
