"""A cluster as a machine: each cell is a task of Dask, which a worker measures, and its record comes back."""

import contextlib
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from distributed import Client, KilledWorker

from execution.cluster import task
from execution.cluster.sending import Sent, SentCell, keep, outcome_of, submit
from execution.cluster.task import Outcome
from execution.cluster.workers import SENT_PER_PLACE, Workers, await_worker, connected, turns
from execution.executor import Executor, Measured, PlannedCell, RunContext
from execution.guest_executors import plan_check
from execution.guest_side import check_plan, measure_cell
from experiments.plan import Plan
from experiments.scenario import Scenario
from flightpath.calls import Returns
from flightpath.errors import MeasurementFailed, MissingCapability
from flightpath.overrides import override
from flightpath.units import counted
from results.records import CellResult, Verdict

MAX_MACHINES = 3
"""Maximum number of machines to try for an unusable cell."""

_MAX_KILLED = 10


class ClusterExecutor(Executor):
    """The workers of a Dask scheduler."""

    name = "cluster"
    tries_again = True

    def __init__(self, address: str, key: Path) -> None:
        self._address, self._key, self._page = address, key, ""
        self.workers = Workers()

    @override
    def facts(self) -> Mapping[str, Any]:
        return {"workers": self.workers.machines(), "dask_page": self._page}

    @override
    def prepare(self, scenario: Scenario, plan: Plan, *, shorten: bool) -> Plan:
        with connected(self._address, self._key) as client:
            await_worker(client, self._address, self.workers, plan)
            self._say_who(client, plan)
            while True:
                wanted = plan_check(scenario, plan, shorten=shorten)
                (future,) = submit(client, task.check, [wanted], self.workers.where(plan))
                outcome = outcome_of(future)
                if outcome.refused:
                    raise MissingCapability(outcome.refused)
                try:
                    return Plan.from_json(outcome.value(Returns.of(check_plan)))
                except MissingCapability as error:
                    self._leave_out(outcome, error, plan)

    @override
    def measure_all(self, run: RunContext, cells: Sequence[PlannedCell]) -> Generator[Measured]:
        turn = turns(run.plan)
        waiting = deque(SentCell(planned, turn[planned.order]) for planned in cells)
        with connected(self._address, self._key) as client:
            sent = Sent(client, run, self.workers)
            while waiting or sent.cells:
                with self._scheduler(client):
                    self.workers.look(client)
                    self._send(sent, run.plan, waiting)
                    ended = list(sent.ended())
                for cell, outcome in ended:
                    result = self._judged(run, cell, outcome)
                    if result is None:
                        waiting.append(cell)
                    else:
                        yield Measured(cell.planned, result)

    def _send(self, sent: Sent, plan: Plan, waiting: deque[SentCell]) -> None:
        """Sends as many cells as the workers take, and a few for them to go on with."""
        room = SENT_PER_PLACE * self.workers.places(plan) - len(sent.cells)
        cells = [waiting.popleft() for _ in range(min(room, len(waiting)))]
        alike: dict[tuple[int | None, frozenset[str]], list[SentCell]] = defaultdict(list)
        for cell in cells:
            alike[cell.turn, frozenset(cell.tried)].append(cell)
        for (turn, tried), of in alike.items():
            sent.send(of, self.workers.where(plan, turn, tried))

    def _judged(
        self, run: RunContext, cell: SentCell, outcome_of_it: Callable[[], Outcome]
    ) -> CellResult | MeasurementFailed | None:
        """Returns the result of a cell, or why it has none; None: it is to be measured on another worker."""
        try:
            outcome = outcome_of_it()
            if outcome.refused:  # the worker has joined after the others were asked
                return None
            try:
                return self._result(run, cell, outcome)
            except MissingCapability as error:
                self._leave_out(outcome, error, run.plan)
                return None
        except KilledWorker as error:
            cell.killed += 1
            return (
                None if cell.killed < _MAX_KILLED else MeasurementFailed(f"its workers ended again and again: {error}")
            )
        except MeasurementFailed as error:
            return error

    def _result(self, run: RunContext, cell: SentCell, outcome: Outcome) -> CellResult | None:
        result = outcome.value(Returns.of(measure_cell))
        cell.tried.add(outcome.worker["machine"])
        whose = {"worker": {name: outcome.worker[name] for name in ("host", "machine")}}
        is_unusable = result.certificate.verdict is Verdict.UNUSABLE
        if is_unusable and len(cell.tried) < MAX_MACHINES and self.workers.has_other(cell.tried, run.plan):
            cell.attempts.append({**whose, "reasons": list(result.certificate.reasons)})
            run.progress.postponed(cell.planned.cell.label, f"unusable on {outcome.worker['host']}")
            return None
        keep(outcome.files, run.artifacts)
        left_out = {"files_left_out": outcome.left_out} if outcome.left_out else {}
        earlier = {"earlier_attempts": cell.attempts} if cell.attempts else {}
        found = {**result.certificate.found, **whose, **left_out, **earlier}
        return CellResult(cell.planned.cell, result.measurement, replace(result.certificate, found=found))

    def _leave_out(self, outcome: Outcome, error: MissingCapability, plan: Plan) -> None:
        """Goes on with the other machines; raises the error if there are none."""
        self.workers.leave_out(outcome.worker, str(error))
        if not self.workers.usable(plan):
            raise error

    def _say_who(self, client: Client, plan: Plan) -> None:
        usable, machines = self.workers.usable(plan), self.workers.machines()
        self._page = f"http://127.0.0.1:{client.scheduler_info(n_workers=0)['services'].get('dashboard')}/status"
        print(
            f"{counted(len(usable), 'worker')} on {counted(len(machines), 'machine')}; "
            f"Dask's page, on the scheduler's machine: {self._page}",
            file=sys.stderr,
        )

    @contextlib.contextmanager
    def _scheduler(self, client: Client) -> Iterator[None]:
        """Talks to the scheduler; raises MeasurementFailed if it is gone."""
        gone = MeasurementFailed(
            f"the scheduler at {self._address} is gone", "the finished cells are kept; measure the rest with --resume"
        )
        try:
            yield
        except OSError as error:
            raise gone from error
        if client.status != "running":
            raise gone
