"""Line charts of a metric over many runs, in SVG coordinates."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from string import ascii_lowercase
from typing import Any

from results.comparison.differences import differences
from results.records import RunRecord, Verdict
from results.statistics.estimates import Estimate, mean
from results.store.history import PastValue, latest_metrics, past_values
from results.store.query import RunQuery
from results.store.rows import stored_verdict
from results.store.store import Store
from results.summary.numbers import interval_text, scale, short
from results.summary.runs import headlines, machine

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 720, 210, 64, 22, 10


def metrics_of(store: Store, scenario: str) -> list[str]:
    """Returns the metrics of a scenario's last run that has cells, its headlines first."""
    with store.reading() as session:
        record, names = latest_metrics(session, scenario)
    first = [name for name in headlines(record) or () if name in names] if record else []
    return [*first, *(name for name in names if name not in first)]


def trends(store: Store, scenario: str, metric: str, host: str, last: int) -> list[dict[str, Any]]:
    """Draws a metric of a scenario's `last` runs, a chart for each point; an empty `host` stands for all machines."""
    query = RunQuery(scenario, last=last, machine=host or None)
    records = {record.run_id: record for record in store.find(query)}
    with store.reading() as session:
        values = past_values(session, metric, query)
    by_point: dict[str, dict[str, list[PastValue]]] = {}
    for value in values:
        if record := records.get(value.run_id):
            by_point.setdefault(_point(record, value), {}).setdefault(value.run_id, []).append(value)
    drawn = (
        _trend(point, [(records[run_id], by_run[run_id]) for run_id in records if run_id in by_run])
        for point, by_run in sorted(by_point.items())
    )
    return [trend for trend in drawn if trend]


def _point(record: RunRecord, value: PastValue) -> str:
    words = [f"{name}={parameter}" for name, parameter in json.loads(value.key).items()]
    host = record.plan.get("host")
    return " ".join([host, *words] if isinstance(host, str) else words) or "all"


def _trend(point: str, runs: Sequence[tuple[RunRecord, Sequence[PastValue]]]) -> dict[str, Any] | None:
    """Returns the chart of one point, with the runs from left to right; `ticks` are heights with labels.

    Runs of different plans are on lines of their own, which have letters.
    """
    unit = runs[-1][1][-1].unit
    estimates = [
        (record, verdict, e) for record, values in runs for verdict, e in [_estimate(values, unit)] if e is not None
    ]
    bounds = [b for _, _, e in estimates for b in (e.value, e.low, e.high) if b is not None]
    if not bounds or not all(math.isfinite(b) for b in bounds):
        return None
    factor, shown_unit = scale(bounds, unit)
    low, high = min(0.0, *bounds), max(0.0, *bounds)
    span = (high - low) or 1.0
    if not math.isfinite(span * factor):
        return None

    def height(value: float) -> float:
        return round(_HEIGHT - _BOTTOM - (value - low) / span * (_HEIGHT - _BOTTOM - _TOP), 1)

    plans = _plans([record for record, _, _ in estimates])
    step = (_WIDTH - _LEFT - 28) / max(1, len(estimates) - 1)
    dots = [
        {
            "run_id": record.run_id,
            "plan": plans[_conditions(record)][0],
            "started": f"{record.started_at:%Y-%m-%d %H:%M}",
            "machine": machine(record),
            "text": interval_text(e.value, e.low, e.high, factor),
            "verdict": verdict,
            "x": round(_LEFT + 10 + index * step, 1),
            "y": height(e.value),
            "low": None if e.low is None else height(e.low),
            "high": None if e.high is None else height(e.high),
        }
        for index, (record, verdict, e) in enumerate(estimates)
    ]
    return {
        "point": point,
        "unit": shown_unit,
        "dots": dots,
        "lines": [_line(letter, [dot for dot in dots if dot["plan"] == letter]) for letter, _ in plans.values()],
        "plans": list(plans.values()) if len(plans) > 1 else [],
        "ticks": [(height(low + span * share), short((low + span * share) * factor)) for share in (0, 0.5, 1)],
        "width": _WIDTH,
        "height": _HEIGHT,
        "left": _LEFT,
    }


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


def _line(letter: str, dots: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    usable = [dot for dot in dots if dot["verdict"] is not Verdict.UNUSABLE]
    points = " ".join(f"{dot['x']},{dot['y']}" for dot in usable)
    return {"letter": letter, "points": points, "x": dots[-1]["x"], "y": dots[-1]["y"]}


def _estimate(values: Sequence[PastValue], unit: str) -> tuple[Verdict, Estimate | None]:
    """Returns the worst verdict and the mean of the usable values, or of all if none is usable."""
    used = [value for value in values if value.verdict != Verdict.UNUSABLE] or values
    numbers = [value.value for value in used if value.unit == unit]
    try:
        return Verdict.worst([stored_verdict(value.verdict) for value in used]), mean(numbers) if numbers else None
    except ArithmeticError:
        return Verdict.UNUSABLE, None
