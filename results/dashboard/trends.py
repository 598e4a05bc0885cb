"""A metric from run to run as drawings: without it a slow decline would be seen in no single run."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select

from results.records import Verdict
from results.statistics.estimates import Estimate, mean
from results.store.filters import machine
from results.store.history import Choice
from results.store.rows import run_record
from results.store.schema import CellRow, MetricRow, RunRow
from results.store.store import Store
from results.summary.overview import headlines, scale, short

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 720, 210, 64, 22, 10


@dataclass(frozen=True)
class Dot:
    """One run's mean in a drawing, with its interval and the words for whoever points at it."""

    run_id: str
    started: str
    machine: str
    text: str
    verdict: str
    x: float
    y: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Trend:
    """One point of a scenario over its runs, oldest first; `ticks` are labels of the vertical axis by their place."""

    point: str
    unit: str
    dots: Sequence[Dot]
    line: str
    ticks: Sequence[tuple[float, str]]
    width: int = _WIDTH
    height: int = _HEIGHT
    left: int = _LEFT


def metrics_of(store: Store, scenario: str) -> list[str]:
    """The metrics of a scenario's last run that has any, its headlines first."""
    with store.reading() as session:
        newest = (
            select(RunRow)
            .where(RunRow.scenario == scenario, RunRow.run_id.in_(select(CellRow.run_id)))
            .order_by(RunRow.started_at.desc())
            .limit(1)
        )
        row = session.scalar(newest)
        if row is None:
            return []
        cell = select(CellRow.cell_id).where(CellRow.run_id == row.run_id).limit(1).scalar_subquery()
        names = session.scalars(
            select(MetricRow.name).where(MetricRow.cell_id == cell).order_by(MetricRow.metric_id)
        ).all()
        first = [name for name in headlines(run_record(row)) or () if name in names]
    return [*first, *(name for name in names if name not in first)]


def trends(store: Store, scenario: str, metric: str, on: str, most: int) -> list[Trend]:
    """A metric of the last runs of a scenario, for each point that they measured.

    Args:
        store: where they are.
        scenario: whose runs.
        metric: its name.
        on: only those of this machine; of all if empty.
        most: how many runs at most.
    """
    choice = Choice(scenario=scenario, last=most, machine=on or None)
    records = store.choose(choice)
    figures: dict[str, dict[str, list[tuple[float, str, str]]]] = {}
    with store.reading() as session:
        chosen = choice.of(select(RunRow.run_id)).scalar_subquery()
        query = (
            select(CellRow.run_id, CellRow.key, CellRow.verdict, MetricRow.value, MetricRow.unit)
            .join(MetricRow, MetricRow.cell_id == CellRow.cell_id)
            .where(CellRow.run_id.in_(chosen), MetricRow.name == metric)
            .order_by(CellRow.order, CellRow.cell_id)
        )
        for run_id, key, verdict, value, unit in session.execute(query):
            figures.setdefault(key, {}).setdefault(run_id, []).append((value, verdict, unit))
    by_point: dict[str, list[tuple[object, list[tuple[float, str, str]]]]] = {}
    for key, of_runs in figures.items():
        for record in records:
            if record.run_id in of_runs:
                host = record.plan.get("host")
                point = f"{host} {_words(key)}".strip() if isinstance(host, str) else _words(key)
                by_point.setdefault(point or "all", []).append((record, of_runs[record.run_id]))
    return [trend for point, members in sorted(by_point.items()) if (trend := _trend(point, members))]


def _words(key: str) -> str:
    return " ".join(f"{name}={value}" for name, value in json.loads(key).items())


def _trend(point: str, members: Sequence[tuple]) -> Trend | None:
    unit = members[-1][1][-1][2]
    estimates = [(record, verdict, e) for record, cells in members for verdict, e in [_estimate(cells, unit)] if e]
    bounds = [b for _, _, e in estimates for b in (e.value, e.low, e.high) if b is not None]
    if not bounds or not all(math.isfinite(b) for b in bounds):
        return None
    factor, shown_unit = scale(bounds, unit)
    low, high = min(0.0, *bounds), max(0.0, *bounds)
    span = (high - low) or 1.0
    if not math.isfinite(span * factor):
        return None

    def place(value: float) -> float:
        return round(_HEIGHT - _BOTTOM - (value - low) / span * (_HEIGHT - _BOTTOM - _TOP), 1)

    step = (_WIDTH - _LEFT - 20) / max(1, len(estimates) - 1)
    dots = [
        Dot(
            record.run_id,
            f"{record.started_at:%Y-%m-%d %H:%M}",
            machine(record),
            _text(e, factor),
            verdict,
            round(_LEFT + 10 + index * step, 1),
            place(e.value),
            None if e.low is None else place(e.low),
            None if e.high is None else place(e.high),
        )
        for index, (record, verdict, e) in enumerate(estimates)
    ]
    believed = [dot for dot in dots if dot.verdict != Verdict.UNUSABLE]
    line = " ".join(f"{dot.x},{dot.y}" for dot in believed)
    ticks = [(place(low + span * share), short((low + span * share) * factor)) for share in (0, 0.5, 1)]
    return Trend(point, shown_unit, dots, line, ticks)


def _estimate(cells: Sequence[tuple[float, str, str]], unit: str) -> tuple[str, Estimate | None]:
    """The mean of the cells that may be believed, or of all if none may, and the worst verdict among them."""
    used = [cell for cell in cells if cell[1] != Verdict.UNUSABLE] or list(cells)
    values = [value for value, _, own in used if own == unit]
    try:
        return str(Verdict.worst([Verdict(verdict) for _, verdict, _ in used])), mean(values) if values else None
    except ArithmeticError:
        return str(Verdict.UNUSABLE), None


def _text(estimate: Estimate, factor: float) -> str:
    text = short(estimate.value * factor)
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} ({short(estimate.low * factor)} to {short(estimate.high * factor)})"
