"""Many runs with a few of their metrics, without the rest of their cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Row, exists, select
from sqlalchemy.orm import Session

from results.records import RunRecord, Verdict
from results.store.query import RunQuery
from results.store.rows import readable_records, stored_verdict
from results.store.schema import CellRow, MetricRow, RunRow

PastValue = Row[str, str, float, str, str]
"""One metric of a cell: run_id, key (the cell's parameters), value, unit and verdict."""


@dataclass(frozen=True)
class PastCell:
    """A cell with its certificate and those of the requested metrics that it has, in the store's units."""

    repetition: int
    verdict: Verdict
    reasons: tuple[str, ...]
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class PastRun:
    """A run and its cells, in the order of measurement."""

    record: RunRecord
    cells: tuple[PastCell, ...]


def past_runs(session: Session, metrics: Sequence[str], query: RunQuery) -> list[PastRun]:
    """Reads runs with the named metrics of their cells, oldest first."""
    records = readable_records(session.scalars(query.select(RunRow)))
    of_runs = CellRow.run_id.in_(query.select(RunRow.run_id).scalar_subquery())
    values: dict[int, dict[str, float]] = {}
    metric_columns = select(MetricRow.cell_id, MetricRow.name, MetricRow.value).join_from(MetricRow, CellRow)
    for cell_id, name, value in session.execute(metric_columns.where(of_runs, MetricRow.name.in_(metrics))):
        if isinstance(value, float):  # SQLite takes anything
            values.setdefault(cell_id, {})[name] = value
    cells: dict[str, list[PastCell]] = {}
    columns = select(CellRow.run_id, CellRow.cell_id, CellRow.repetition, CellRow.verdict, CellRow.reasons)
    for run_id, cell_id, repetition, verdict, reasons in session.execute(
        columns.where(of_runs).order_by(CellRow.order, CellRow.cell_id)
    ):
        texts = tuple(map(str, reasons)) if isinstance(reasons, list) else ()
        cell = PastCell(repetition, stored_verdict(verdict), texts, values.get(cell_id, {}))
        cells.setdefault(run_id, []).append(cell)
    return [PastRun(record, tuple(cells.get(record.run_id, ()))) for record in reversed(records)]


def past_values(session: Session, metric: str, query: RunQuery) -> Sequence[PastValue]:
    """Reads one metric of each cell of some runs, in the order of measurement."""
    columns = select(CellRow.run_id, CellRow.key, MetricRow.value, MetricRow.unit, CellRow.verdict)
    statement = (
        columns.join(MetricRow, MetricRow.cell_id == CellRow.cell_id)
        .where(CellRow.run_id.in_(query.select(RunRow.run_id).scalar_subquery()), MetricRow.name == metric)
        .order_by(CellRow.order, CellRow.cell_id)
    )
    return session.execute(statement).all()


def latest_metrics(session: Session, scenario: str) -> tuple[RunRecord | None, list[str]]:
    """Returns a scenario's last run that has cells, and the metrics of its first cell in the order of recording."""
    has_cells = exists().where(CellRow.run_id == RunRow.run_id)
    record = next(
        iter(readable_records(session.scalars(RunQuery(scenario, last=1).select(RunRow).where(has_cells)))), None
    )
    if record is None:
        return None, []
    cell = select(CellRow.cell_id).where(CellRow.run_id == record.run_id).limit(1).scalar_subquery()
    names = select(MetricRow.name).where(MetricRow.cell_id == cell).order_by(MetricRow.metric_id)
    return record, list(session.scalars(names))
