"""The progress of each part: the cells in the store, and the next step."""

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from experiments.plan import Plan
from flightpath.errors import FlightpathError
from flightpath.identity import git, identity
from flightpath.project import PROJECT
from results.records import RunRecord, RunStatus
from results.store.store import Store
from scenarios.reproduction.parts import Part

_SHARED = (
    *("experiments", "execution", "probes", "topologies", "congestion", "controllers", "services", "native"),
    *("flightpath", "scenarios/command", "scenarios/__main__.py"),
    *(":(exclude)experiments/claims.py", ":(exclude)experiments/judging.py"),
    ":(exclude,glob)scenarios/**/*claims.py",
    ":(exclude,glob)scenarios/**/*figures.py",
)
"""Git pathspecs of what all measurements depend on; pages and the files of claims are excluded."""

_TUNNEL, _TUNNEL_FILES = "topologies.testbed.tunnel", ("native/tunnel", "topologies/testbed/tunnel.py")
"""The tunnel, on which only experiments that import it depend."""


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


def is_same_program(environment: Mapping[str, Any], scenario: str | None, project: Path = PROJECT) -> bool:
    """Tells whether the code that measures an experiment is unchanged since a run of it.

    Changes of texts, tests and pages, and of what only other experiments use, do not count.

    Args:
        environment: of the run.
        scenario: one of ours by its name; None for an experiment file.
        project: the checkout.
    """
    ours, commit = identity(project), environment.get("commit")
    if commit == ours.get("commit"):
        return commit is not None or environment.get("flightpath") == ours["flightpath"]
    if not isinstance(commit, str) or not commit.isalnum():  # unknown, of a modified checkout, or no commit at all
        return False
    try:
        git(project, "diff", "--quiet", commit, "--", *_measuring(scenario, project))
    except FlightpathError:  # there are differences, or the commit is not here
        return False
    return True


def _measuring(scenario: str | None, project: Path) -> list[str]:
    """Returns git's pathspecs of what an experiment's measurements depend on."""
    imported: set[str] = set()
    if scenario is not None:
        _add_imports(f"scenarios.{scenario}", project, imported)
    own = {each.split(".")[1] for each in imported if each.startswith("scenarios.")}
    files = [f"scenarios/{name}{'' if (project / 'scenarios' / name).is_dir() else '.py'}" for name in sorted(own)]
    others = [] if _TUNNEL in imported else [f":(exclude){file}" for file in _TUNNEL_FILES]
    return [*files, *_SHARED, *others]


def _add_imports(module: str, project: Path, imported: set[str]) -> None:
    """Adds a module of `scenarios`, and all modules that it imports from there; of others only those of its own."""
    file = project / f"{module.replace('.', '/')}.py"
    if module in imported:
        return
    imported.add(module)
    if not module.startswith("scenarios.") or not file.is_file():
        return
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import | ast.ImportFrom):
            parent = getattr(node, "module", None)
            for name in (alias.name for alias in node.names):
                _add_imports(f"{parent}.{name}" if parent else name, project, imported)
            if parent:
                _add_imports(parent, project, imported)


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
