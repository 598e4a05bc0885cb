"""What each page of the dashboard shows: without it the templates would have nothing to show."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request

from flightpath.errors import UsageError
from results.comparison.compare import compare_runs, compare_with_history
from results.comparison.differences import differences
from results.dashboard.trends import metrics_of, trends
from results.exchange.live import told
from results.pages.page import run_content
from results.records import CellResult, RunRecord, RunStatus, Verdict
from results.store.filters import RunFilter, machine
from results.store.listing import listed, pages, worst
from results.store.store import Store
from results.summary import certificates
from results.summary.overview import planned_cells, status_words

PER_PAGE = 100
MOST_COMPARED, HISTORY_COMPARED, MOST_HISTORY = 6, 10, 200
_FILTERS = ("scenario", "status", "verdict", "machine", "since", "until", "where")


def runs(store: Store, request: Request) -> dict[str, Any]:
    """The list of runs, newest first, a page of it."""
    asked = {name: request.query_params.get(name, "").strip() for name in _FILTERS}
    wanted = RunFilter.parse({**asked, "where": asked["where"].split()})
    number = _number(request.query_params.get("page"), 1, 10**6)
    found = listed(store, wanted, PER_PAGE, number)
    last = pages(found.found, PER_PAGE)
    return {
        "page": "runs",
        "asked": asked,
        "scenarios": store.scenarios(),
        "machines": store.machines(),
        "statuses": list(map(str, RunStatus)),
        "verdicts": list(map(str, Verdict)),
        "found": found.found,
        "number": min(number, last),
        "last": last,
        "running": any(record.status is RunStatus.RUNNING for record, _ in found.runs),
        "rows": [_run_row(record, counts) for record, counts in reversed(found.runs)],
    }


def run(store: Store, request: Request) -> dict[str, Any]:
    """One run as far as it has come."""
    record = store.run(request.path_params["run"])
    cells = store.cells(record.run_id)
    return {
        "page": "run",
        **run_content(record, cells, whole=False),
        "claims": store.claims(record.run_id),
        "running": record.status is RunStatus.RUNNING,
        "done": len(cells),
        "planned": planned_cells(record.plan),
        "left": _left(record, len(cells)),
        "live": told(store, record.run_id, record.status),
        "latest": _latest(cells),
        "question": str(record.plan.get("question", "")),
    }


def state(store: Store, run_id: str) -> dict[str, Any]:
    """What tells whether a run's page is still true."""
    record = store.run(run_id)
    return {
        "status": str(record.status),
        "cells": sum(store.cell_counts([record.run_id]).get(record.run_id, {}).values()),
        "told": live.told_at if (live := told(store, record.run_id, record.status)) else "",
    }


def history(store: Store, request: Request) -> dict[str, Any]:
    """A metric of a scenario, run after run, point by point."""
    scenarios, latest = store.scenarios(), store.latest()
    scenario = request.query_params.get("scenario") or (latest.scenario if latest else "")
    if scenario and scenario not in scenarios:
        raise UsageError(f"there is no run of {scenario!r} in this store")
    names = metrics_of(store, scenario) if scenario else []
    metric = request.query_params.get("metric") or (names[0] if names else "")
    where = request.query_params.get("machine", "")
    return {
        "page": "history",
        "scenarios": scenarios,
        "scenario": scenario,
        "metrics": names if metric in names or not metric else [*names, metric],
        "metric": metric,
        "machines": store.machines(),
        "machine": where,
        "trends": trends(store, scenario, metric, where, MOST_HISTORY) if metric else [],
        "most": MOST_HISTORY,
    }


def compare(store: Store, request: Request) -> dict[str, Any]:
    """Some runs beside the first of them, or one beside its history."""
    named = list(dict.fromkeys(store.resolve(run) for run in request.query_params.getlist("run") if run))
    content = {"page": "compare", "runs": [], "compared": [], "differences": [], "against_history": False}
    if not named:
        return {**content, "choices": [_run_row(record, {}) for record in reversed(store.runs(last=PER_PAGE))]}
    if len(named) > MOST_COMPARED:
        raise UsageError(f"{len(named)} runs side by side are too many to see", f"choose up to {MOST_COMPARED}")
    records = sorted((store.run(run) for run in named), key=lambda record: record.started_at)
    if len(named) == 1:
        records = [*store.finished_before(records[0], HISTORY_COMPARED), *records]
        if len(records) == 1:
            raise UsageError(
                "there is no finished run of this scenario before it", "choose another one to compare it with"
            )
    sides = [(record, store.cells(record.run_id, series=False)) for record in records]
    if len(named) == 1:
        found = [compare_with_history(sides[:-1], sides[-1])]
    else:
        found = [compare_runs(sides[0], side) for side in sides[1:]]
    return {
        **content,
        "runs": [_run_row(record, {}) for record, _ in sides],
        "compared": found,
        "differences": differences(sides),
        "against_history": len(named) == 1,
    }


def _run_row(record: RunRecord, counts: Mapping[Verdict, int]) -> dict[str, Any]:
    return {
        "run_id": record.run_id,
        "scenario": record.scenario,
        "form": str(record.plan.get("form", "-")),
        "machine": machine(record),
        "started": f"{record.started_at.astimezone(UTC):%Y-%m-%d %H:%M}",
        "status": status_words(record),
        "running": record.status is RunStatus.RUNNING,
        "cells": sum(counts.values()),
        "planned": planned_cells(record.plan),
        "verdict": str(worst(counts) or "-"),
    }


def _latest(cells: Sequence[CellResult]) -> dict[str, Any] | None:
    if not cells:
        return None
    cell = cells[-1]
    idle = cell.certificate.found.get("idle_cpu_percent")
    course = (
        certificates.course(idle) if isinstance(idle, list) and all(isinstance(n, (int, float)) for n in idle) else ""
    )
    return {"label": cell.cell.label, "series": list(cell.measurement.series.items()), "course": course}


def _left(record: RunRecord, done: int) -> str:
    """How long a running run will take, if the cells that are left take as long as those that are done."""
    planned = planned_cells(record.plan)
    if record.status is not RunStatus.RUNNING or not planned or not 0 < done < planned:
        return ""
    seconds = (datetime.now(UTC) - record.started_at).total_seconds() / done * (planned - done)
    return f"about {seconds / 60:.0f} min left" if seconds >= 90 else f"about {max(1, seconds):.0f} s left"


def _number(text: str | None, least: int, most: int) -> int:
    return (
        min(most, max(least, int(text))) if text and text.isascii() and text.isdecimal() and len(text) < 10 else least
    )
