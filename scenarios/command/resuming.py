"""Resuming a run: which run is meant, and whether it may be continued here."""

import platform
from typing import Any

from pydantic import ValidationError

import congestion
from congestion.sources import is_file
from experiments.plan import Plan
from experiments.scenario import Scenario
from flightpath.clock import Clock
from flightpath.errors import UsageError
from results.records import RunRecord
from results.store.location import StoreLocation
from results.store.run_id import LATEST
from results.store.run_lock import RunLock
from results.store.store import Store
from scenarios.command.options import ResumeRequest


def stored_run(scenario: Scenario, request: ResumeRequest, place: StoreLocation) -> tuple[str, Plan]:
    """Returns the id and the plan of the run that is to be resumed."""
    store = Store.open(place, create=False)
    latest = store.latest(scenario.name) if request.run == LATEST else None  # also one without cells
    record = latest or store.run(request.run)
    if record.scenario != scenario.name:
        raise UsageError(f"--resume: {record.run_id} is a run of {record.scenario}, not of {scenario.name}")
    _require_ended(store, record)
    if not request.on_this_machine:
        _require_same_machine(record)
    plan = _plan_of(record)
    if not request.load_algorithms:
        _require_known_algorithms(scenario, plan)
    return record.run_id, plan


def _require_ended(store: Store, record: RunRecord) -> None:
    folder = store.folder / record.run_id
    if not folder.is_dir():
        return
    try:
        lock = RunLock.take(folder)
    except OSError as error:
        raise UsageError(f"--resume: cannot write {folder}: {error.strerror or error}") from error
    if lock is None:
        raise UsageError(f"--resume: {record.run_id} is still being measured", "wait until it has ended, or end it")
    lock.release()


def _require_same_machine(record: RunRecord) -> None:
    began_on: Any = record.environment.get("host", "an unknown machine")
    if began_on != platform.node():
        raise UsageError(
            f"--resume: {record.run_id} was begun on {began_on}, and this is {platform.node()}: one run would mix both",
            "continue it there, or add --on-this-machine",
        )


def _require_known_algorithms(scenario: Scenario, plan: Plan) -> None:
    try:
        named = {
            scenario.algorithm_source(algorithm, plan)
            for cell in plan.cells()
            for algorithm in scenario.algorithms(cell, plan)
        }
    except (LookupError, TypeError, ValueError) as error:
        raise UsageError(f"--resume: the plan is not one of {scenario.name} as installed here: {error!r}") from error
    unknown = sorted(map(str, named - set(congestion.available())))
    if plan.clock is Clock.VIRTUAL:  # its kernel is not this machine's, but a file is compiled here
        unknown = [algorithm for algorithm in unknown if is_file(algorithm)]
    if unknown:
        raise UsageError(
            f"--resume: the stored plan would load congestion controls into the kernel: {', '.join(unknown)}",
            "if you know that plan, add --load-algorithms",
        )


def _plan_of(record: RunRecord) -> Plan:
    try:
        return Plan.from_json(record.plan)
    except ValidationError as error:
        raise UsageError(f"--resume: the plan of {record.run_id} cannot be read: {error.errors()[0]['msg']}") from error
