"""Variables of the dashboard's templates, page by page."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from markupsafe import Markup
from starlette.requests import Request

from flightpath.errors import UsageError
from results.comparison.compare import compare_runs, compare_with_history
from results.comparison.differences import differences
from results.dashboard.trends import metrics_of, trends
from results.exchange.progress import latest_progress, live_networks
from results.figures.network import live_network
from results.pages.content import MAX_WITH_SERIES, run_content, series_rows
from results.pages.explored import means_chart, over_time, series_chart
from results.records import CellResult, RunRecord, RunStatus, Series, Verdict
from results.store.filters import RunFilter
from results.store.lab_checks import by_lab, by_student, lab_checks
from results.store.run_list import find_runs, pages, with_actual_status, worst
from results.store.store import Store
from results.summary.claims import claims_table, finding
from results.summary.means import metric_names
from results.summary.runs import form, headlines, machine, planned_cells, status_text

PER_PAGE = 100
MAX_COMPARED, HISTORY_COMPARED, MAX_HISTORY = 6, 10, 200
Answer = Callable[[str, Sequence[CellResult]], Sequence[str]]
"""Function that states a run's result in sentences (`results.commands.scenarios.answer_of`)."""

_FILTERS = ("scenario", "status", "verdict", "machine", "since", "until", "where")


def runs(store: Store, request: Request) -> dict[str, Any]:
    """Shows a page of the list of runs, newest first."""
    filters = {name: request.query_params.get(name, "").strip() for name in _FILTERS}
    wanted = RunFilter.parse({**filters, "where": filters["where"].split()})
    text = request.query_params.get("page", "")
    number = max(1, int(text)) if text.isascii() and text.isdecimal() and len(text) < 8 else 1
    listed = find_runs(store, wanted, PER_PAGE, number)
    last = pages(listed.total, PER_PAGE)
    return {
        "page": "runs",
        "filters": filters,
        "scenarios": store.scenarios(),
        "machines": store.machines(),
        "statuses": list(map(str, RunStatus)),
        "verdicts": list(map(str, Verdict)),
        "total": listed.total,
        "number": min(number, last),
        "last": last,
        "running": any(record.status is RunStatus.RUNNING for record, _ in listed.runs),
        "rows": [_run_row(record, counts) for record, counts in reversed(listed.runs)],
    }


def run(store: Store, request: Request, answer: Answer) -> dict[str, Any]:
    record = with_actual_status(store, store.run(request.path_params["run"]))
    cells, claims = store.cells(record.run_id), store.claims(record.run_id)
    progress = latest_progress(store, record.run_id, record.status)
    return {
        "page": "run",
        **run_content(record, cells, whole=False),
        "claims": claims_table(claims),
        "finding": finding(answer(record.scenario, cells) if cells else (), claims),
        "figures": [],
        "sources": json.dumps([_series_address(record, len(cells))]) if cells else "",
        "running": record.status is RunStatus.RUNNING,
        "done": len(cells),
        "planned": planned_cells(record.plan),
        "left": _time_left(record, len(cells)),
        "progress": progress,
        "network": live_network(progress.links) if progress else None,
        "now": _over_time(progress.series) if progress else None,
        "latest": {"label": cells[-1].cell.label, **_over_time(cells[-1].measurement.series)} if cells else None,
        "by_worker": cells_by_worker(cells),
        "dask_page": _local_page(record.environment.get("dask_page")),
        "question": str(record.plan.get("question", "")),
    }


def series(store: Store, run_id: str) -> str:
    """Returns the series of a run's first cells, as JSON."""
    record = store.run(run_id)
    return over_time([(record, store.cells(record.run_id)[:MAX_WITH_SERIES])], linked=True)


def _series_address(record: RunRecord, cells: int) -> str:
    """Returns the address of the series of a run, which is another one when there are more cells."""
    return f"/runs/{quote(record.run_id, safe='')}/series?cells={cells}"


def _over_time(series: Mapping[str, Series]) -> dict[str, Any]:
    chart = series_chart(series)
    return {"chart": Markup(chart.json) if chart else "", "rows": series_rows(series)}


def networks(store: Store, _request: Request) -> dict[str, Any]:
    """Shows the networks of `flightpath mn` that run now."""
    return {
        "page": "networks",
        "networks": [
            {"report": each, "drawing": live_network(each.links, each.hosts), "now": _over_time(each.series)}
            for each in live_networks(store.folder)
        ],
    }


def _local_page(address: object) -> str:
    """Returns the address of a page on this machine's loopback; empty if a shared database holds anything else."""
    try:
        parts = urlsplit(str(address))
        is_local = (parts.scheme, parts.netloc) == ("http", f"127.0.0.1:{parts.port}")
    except ValueError:
        return ""
    return urlunsplit(parts) if is_local else ""


def cells_by_worker(cells: Sequence[CellResult]) -> dict[str, int]:
    """Counts the cells that each machine of a cluster has measured; empty without a cluster."""
    workers = (cell.certificate.found.get("worker") for cell in cells)
    return dict(sorted(Counter(str(each.get("host")) for each in workers if isinstance(each, Mapping)).items()))


def state(store: Store, run_id: str) -> dict[str, Any]:
    """Returns the state of a run, by which its page notices that it is outdated."""
    record = with_actual_status(store, store.run(run_id))
    progress = latest_progress(store, record.run_id, record.status)
    return {
        "status": str(record.status),
        "cells": sum(store.cell_counts([record.run_id]).get(record.run_id, {}).values()),
        "reported": progress.told_at if progress else "",
    }


def history(store: Store, request: Request) -> dict[str, Any]:
    """Shows a metric of a scenario over its runs, point by point."""
    scenarios, latest = store.scenarios(), store.latest()
    scenario = request.query_params.get("scenario") or (latest.scenario if latest else "")
    if scenario and scenario not in scenarios:
        raise UsageError(f"there is no run of {scenario!r} in this store")
    names = metrics_of(store, scenario) if scenario else []
    metric = request.query_params.get("metric") or (names[0] if names else "")
    host = request.query_params.get("machine", "")
    days = {name: request.query_params.get(name, "").strip() for name in ("since", "until")}
    query = replace(RunFilter.parse({**days, "scenario": scenario}).query, last=MAX_HISTORY, machine=host or None)
    return {
        "page": "history",
        "scenarios": scenarios,
        "scenario": scenario,
        "metrics": names if metric in names or not metric else [*names, metric],
        "metric": metric,
        "machines": store.machines(),
        "machine": host,
        "days": days,
        "trends": trends(store, metric, query) if metric else [],
        "most": MAX_HISTORY,
    }


def compare(store: Store, request: Request) -> dict[str, Any]:
    """Shows the comparison of the earliest of some runs with the others, or of one run with its history."""
    run_ids = list(dict.fromkeys(store.resolve(run) for run in request.query_params.getlist("run") if run))
    if not run_ids:
        choices = [_run_row(record, {}) for record in reversed(store.runs(last=PER_PAGE))]
        return {"page": "compare", "runs": [], "choices": choices}
    if len(run_ids) > MAX_COMPARED:
        raise UsageError(f"{len(run_ids)} runs are too many to compare", f"choose up to {MAX_COMPARED}")
    records = sorted((store.run(run_id) for run_id in run_ids), key=lambda record: record.started_at)
    with_history = len(records) == 1
    if with_history:
        records = [*store.finished_before(records[0], HISTORY_COMPARED), *records]
        if len(records) == 1:
            raise UsageError("no run with the same plan was finished before it", "compare it with another run")
    sides = [(record, store.cells(record.run_id, series=False)) for record in records]
    metrics = headlines(records[-1]) or metric_names(sides[-1][1])
    chart = means_chart(sides, metrics, linked=True)
    return {
        "page": "compare",
        "means": Markup(chart.json) if chart else "",
        "sources": json.dumps([_series_address(record, len(cells)) for record, cells in sides if cells]),
        "runs": [_run_row(record, {}) for record in records],
        "comparisons": [compare_with_history(sides[:-1], sides[-1])]
        if with_history
        else [compare_runs(sides[0], side) for side in sides[1:]],
        "differences": differences(sides),
    }


def lab_class(store: Store, request: Request, *, names: bool) -> dict[str, Any]:
    """Shows a class's progress with the teaching labs; that of each student only with `names`."""
    course = request.query_params.get("course")
    checks = lab_checks(store, course)
    return {
        "page": "class",
        "course": course or "",
        "labs": by_lab(checks),
        "students": by_student(checks) if names else {},
    }


def _run_row(record: RunRecord, counts: Mapping[Verdict, int]) -> dict[str, Any]:
    return {
        "run_id": record.run_id,
        "scenario": record.scenario,
        "form": form(record),
        "machine": machine(record),
        "started": f"{record.started_at.astimezone(UTC):%Y-%m-%d %H:%M}",
        "status": status_text(record),
        "running": record.status is RunStatus.RUNNING,
        "cells": sum(counts.values()),
        "planned": planned_cells(record.plan),
        "verdict": str(worst(counts) or "-"),
    }


def _time_left(record: RunRecord, done: int) -> str:
    """Estimates the time left of a run, from the mean duration of its finished cells."""
    planned = planned_cells(record.plan)
    if record.status is not RunStatus.RUNNING or not planned or not 0 < done < planned:
        return ""
    seconds = (datetime.now(UTC) - record.started_at).total_seconds() / done * (planned - done)
    return f"about {seconds / 60:.0f} min left" if seconds >= 90 else f"about {max(1, seconds):.0f} s left"
