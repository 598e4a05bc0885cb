"""The progress of each part: the cells in the store, and the next step."""

import json
from dataclasses import dataclass, replace
from enum import StrEnum

from pydantic import ValidationError

from experiments.plan import Plan
from results.records import RunRecord, RunStatus
from results.store.store import Store
from scenarios.reproduction.measuring_code import is_same_program
from scenarios.reproduction.part import Part


class Next(StrEnum):
    """The next step for a part."""

    MEASURE = "measure"
    RESUME = "resume"
    NOTHING = "complete"


@dataclass(frozen=True)
class State:
    """A part and the newest run of its plan in the store, if there is one; `cells` counts the cells of that run."""

    part: Part
    planned: int
    record: RunRecord | None = None
    cells: int = 0
    next: Next = Next.MEASURE


def state_of(part: Part, store: Store | None, *, same_program: bool = True) -> State:
    """Returns the state of a part by the newest run of its plan, by default measured by the same program."""
    plan = part.plan()
    state = State(part, len(plan.cells()))
    if store is None:
        return state
    for record in reversed(store.runs(part.scenario.name)):
        stored = _plan_of(record)
        if stored is None or not _matches(plan, stored):
            continue
        if same_program and not is_same_program(record.environment, part.scenario.name):
            continue
        cells = sum(store.cell_counts([record.run_id]).get(record.run_id, {}).values())
        following = Next.NOTHING if record.status is RunStatus.DONE else Next.RESUME
        return replace(state, planned=len(stored.cells()), record=record, cells=cells, next=following)
    return state


def _plan_of(record: RunRecord) -> Plan | None:
    try:
        return Plan.from_json(record.plan)
    except ValidationError:
        return None


def _matches(requested: Plan, stored: Plan) -> bool:
    """Tells whether a stored plan is the requested one, except for algorithms that the machine did not have."""
    name = "congestion_control"
    had = stored.axes.get(name, ())
    if had and set(had) < set(requested.axes.get(name, ())):
        requested = replace(requested, axes={**requested.axes, name: had})
    return _text(requested) == _text(stored)


def _text(plan: Plan) -> str:
    return json.dumps(plan.as_json(), sort_keys=True)
