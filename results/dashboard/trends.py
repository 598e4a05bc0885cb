"""Charts of a metric over many runs, which never join runs of different plans."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from string import ascii_lowercase
from typing import Any

from markupsafe import Markup

from results.comparison.differences import differences
from results.figures.chart import Chart, Kind, Panel, Trace, words_of
from results.figures.charts import looks_of
from results.pages.explored import cells_address
from results.records import RunRecord, Verdict
from results.statistics.estimates import Estimate, mean
from results.store.history import PastValue, latest_metrics, past_values
from results.store.query import RunQuery
from results.store.rows import stored_verdict
from results.store.store import Store
from results.summary.numbers import interval_text, scale
from results.summary.runs import headlines, machine


def metrics_of(store: Store, scenario: str) -> list[str]:
    """Returns the metrics of a scenario's last run that has cells, its headlines first."""
    with store.reading() as session:
        record, names = latest_metrics(session, scenario)
    first = [name for name in headlines(record) or () if name in names] if record else []
    return [*first, *(name for name in names if name not in first)]


def trends(store: Store, metric: str, query: RunQuery) -> list[dict[str, Any]]:
    """Describes a chart of a metric of some runs for each point."""
    records = {record.run_id: record for record in store.find(query)}
    with store.reading() as session:
        values = past_values(session, metric, query)
    by_point: dict[str, dict[str, list[PastValue]]] = {}
    for value in values:
        if record := records.get(value.run_id):
            by_point.setdefault(_point(record, value), {}).setdefault(value.run_id, []).append(value)
    described = (
        _trend(point, metric, [(records[run_id], by_run[run_id]) for run_id in records if run_id in by_run])
        for point, by_run in sorted(by_point.items())
    )
    return [trend for trend in described if trend]


def _point(record: RunRecord, value: PastValue) -> str:
    words = [f"{name}={parameter}" for name, parameter in json.loads(value.key).items()]
    host = record.plan.get("host")
    return " ".join([host, *words] if isinstance(host, str) else words) or "all"


def _trend(point: str, metric: str, runs: Sequence[tuple[RunRecord, Sequence[PastValue]]]) -> dict[str, Any] | None:
    """Returns the chart of one point, with the runs from left to right, and its numbers.

    Runs of different plans are on lines of their own, which have letters.
    """
    unit = runs[-1][1][-1].unit
    words = words_of(json.loads(runs[-1][1][-1].key))
    estimates = [
        (record, verdict, e) for record, values in runs for verdict, e in [_estimate(values, unit)] if e is not None
    ]
    bounds = [b for _, _, e in estimates for b in (e.value, e.low, e.high) if b is not None]
    if not bounds:
        return None
    factor, shown_unit = scale(bounds, unit)
    if not math.isfinite((max(bounds) - min(bounds)) * factor):
        return None
    plans = _plans([record for record, _, _ in estimates])
    dots: list[dict[str, Any]] = [
        {
            "run_id": record.run_id,
            "plan": plans[_conditions(record)][0],
            "started": f"{record.started_at:%Y-%m-%d %H:%M}",
            "machine": machine(record),
            "text": interval_text(e.value, e.low, e.high, factor),
            "verdict": verdict,
            "x": index,
            "reach": [None if bound is None else bound * factor for bound in (e.value, e.low, e.high)],
            "link": cells_address(record.run_id, words),
        }
        for index, (record, verdict, e) in enumerate(estimates)
    ]
    traces = []
    for (letter, _), look in zip(plans.values(), looks_of(range(len(plans))).values(), strict=True):
        for kind in (Kind.MARKED, Kind.CROSSES):
            of_kind = [
                d for d in dots if d["plan"] == letter and (d["verdict"] is Verdict.UNUSABLE) == (kind is Kind.CROSSES)
            ]
            if of_kind:
                traces.append(_trace(f"plan {letter}" if len(plans) > 1 else "mean", look.colour, kind, of_kind))
    panel = Panel("", traces, [(dot["x"], dot["started"]) for dot in dots], y_label=f"{metric} ({shown_unit})")
    return {
        "point": point,
        "unit": shown_unit,
        "dots": dots,
        "plans": list(plans.values()) if len(plans) > 1 else [],
        "chart": Markup(Chart(point, "run, by its start", "", [panel]).json),
    }


def _trace(label: str, colour: str, kind: Kind, dots: Sequence[Mapping[str, Any]]) -> Trace:
    value, low, high = zip(*(dot["reach"] for dot in dots), strict=True)
    notes = [f"{dot['verdict']}, {dot['machine']}" for dot in dots]
    links = [dot["link"] for dot in dots]
    return Trace(label, colour, [dot["x"] for dot in dots], value, kind, low=low, high=high, notes=notes, links=links)


def _plans(records: Sequence[RunRecord]) -> dict[str, tuple[str, str]]:
    """Returns a letter for each plan, and in which settings it differs from the others; no letter for a single one."""
    first = {_conditions(record): replace(record, plan=record.conditions, environment={}) for record in records}
    found = differences([(record, ()) for record in first.values()])
    letters = ascii_lowercase if len(first) > 1 else " "
    return {
        conditions: (
            letters[number % len(letters)] * (1 + number // len(letters)),
            "; ".join(f"{each.name.removeprefix('settings.')}={each.values[number]}" for each in found),
        )
        for number, conditions in enumerate(first)
    }


def _conditions(record: RunRecord) -> str:
    return json.dumps(record.conditions, sort_keys=True, default=str)


def _estimate(values: Sequence[PastValue], unit: str) -> tuple[Verdict, Estimate | None]:
    """Returns the worst verdict and the mean of the usable values, or of all if none is usable."""
    used = [value for value in values if value.verdict != Verdict.UNUSABLE] or values
    numbers = [value.value for value in used if value.unit == unit]
    try:
        return Verdict.worst([stored_verdict(value.verdict) for value in used]), mean(numbers) if numbers else None
    except ArithmeticError:
        return Verdict.UNUSABLE, None
