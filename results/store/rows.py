"""Conversion of records to rows of the tables, and back."""

import contextlib
import functools
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any, TypeVar

from sqlalchemy import Row, Select, inspect, select
from sqlalchemy.orm import Session

from flightpath.errors import MeasurementFailed
from results.records import (
    Cell,
    CellResult,
    Certificate,
    Claim,
    ClaimVerdict,
    Measurement,
    Metric,
    ParameterValue,
    RunRecord,
    RunStatus,
    Series,
    Verdict,
)
from results.store.backend import StoreFailed
from results.store.run_id import checked_run_id
from results.store.schema import CellRow, ClaimRow, DocumentRow, MetricRow, RunRow, SeriesRow, UnreadableValue

StoredRun = RunRow | Row[*tuple[Any, ...]]
"""Row of a run: an object, or all columns of the table."""

_Query = TypeVar("_Query", bound=Select[*tuple[Any, ...]])


def cell_row(run_id: str, result: CellResult, order: int, started_at: datetime | None) -> CellRow:
    """Returns a measured cell as a row, with its metrics and series."""
    cell, measured, certificate = result.cell, result.measurement, result.certificate
    return CellRow(
        run_id=run_id,
        key=_key(cell.parameters),
        parameters=json_values(cell.parameters, f"a parameter of cell {cell.label}"),
        repetition=cell.repetition,
        order=order,
        started_at=started_at.isoformat() if started_at else None,
        ended_at=datetime.now(UTC).isoformat(),
        facts=json_values(measured.metadata, f"the metadata of cell {cell.label}"),
        verdict=certificate.verdict,
        reasons=list(certificate.reasons),
        found=json_values(certificate.found, f"the certificate of cell {cell.label}"),
        metrics=[_metric_row(name, metric, cell) for name, metric in measured.metrics.items()],
        series=[
            SeriesRow(name=name, unit=series.unit, times=series.times_s, values=series.values)
            for name, series in measured.series.items()
        ],
    )


def _metric_row(name: str, metric: Metric, cell: Cell) -> MetricRow:
    value, low, high = (None if n is None else float(n) for n in (metric.value, metric.low, metric.high))
    if not all(number is None or math.isfinite(number) for number in (value, low, high)):
        # SQLite turns NaN into NULL; a probe without a value must omit the metric, or fail.
        raise MeasurementFailed(f"metric {name!r} of cell {cell.label} is not a finite number: {metric}")
    return MetricRow(name=name, value=value, unit=metric.unit, low=low, high=high)


def cell_results(session: Session, run_id: str, *, series: bool = True) -> list[tuple[CellRow, CellResult]]:
    """Reads the cells of a run, in the order of measurement, each with its row.

    Metrics and series are read as bare columns: objects would take longer than everything else together.
    """
    rows = session.scalars(
        select(CellRow).where(CellRow.run_id == run_id).order_by(CellRow.order, CellRow.cell_id)
    ).all()
    metrics: dict[int, dict[str, Metric]] = {}
    metric_query = select(
        MetricRow.cell_id, MetricRow.name, MetricRow.value, MetricRow.unit, MetricRow.low, MetricRow.high
    )
    in_order = _of_run(metric_query, MetricRow, run_id).order_by(MetricRow.metric_id)
    series_of_cells: dict[int, dict[str, Series]] = {}
    series_query = select(SeriesRow.cell_id, SeriesRow.name, SeriesRow.unit, SeriesRow.times, SeriesRow.values)
    stored = session.execute(_of_run(series_query, SeriesRow, run_id).order_by(SeriesRow.series_id)) if series else ()
    with _readable(run_id):
        for cell_id, name, value, unit, low, high in session.execute(in_order):
            _require({str: (name, unit), float: (value,), float | None: (low, high)})
            if not all(math.isfinite(number) for number in (value, low, high) if number is not None):
                raise ValueError("a metric is not finite")
            metrics.setdefault(cell_id, {})[name] = Metric(value, unit, low, high)
        for cell_id, name, unit, times, values in stored:
            _require({str: (name, unit)})
            series_of_cells.setdefault(cell_id, {})[name] = Series(unit, times, values)
        return [(row, _result(row, metrics.get(row.cell_id, {}), series_of_cells.get(row.cell_id, {}))) for row in rows]


def _result(row: CellRow, metrics: Mapping[str, Metric], series: Mapping[str, Series]) -> CellResult:
    _require({dict: (row.parameters, row.facts, row.found), list: (row.reasons,), int: (row.repetition, row.order)})
    _require({str: row.reasons, str | int | float: row.parameters.values()})
    return CellResult(
        Cell(row.parameters, row.repetition),
        Measurement(metrics, series, row.facts),
        Certificate(stored_verdict(row.verdict), tuple(row.reasons), row.found),
    )


def _require(values: Mapping[Any, Iterable[Any]]) -> None:
    """Raises TypeError if a value is not of its type: SQLite takes any value in any column."""
    for kind, of_kind in values.items():
        for value in of_kind:
            if not isinstance(value, kind):
                raise TypeError(f"{value!r:.80} is of another type")


def _of_run(query: _Query, kind: type[MetricRow] | type[SeriesRow], run_id: str) -> _Query:
    return query.join(CellRow, CellRow.cell_id == kind.cell_id).where(CellRow.run_id == run_id)


class UnreadableRun(StoreFailed):
    """A run's row holds invalid data: another program may have written to a shared database."""


@contextlib.contextmanager
def _readable(run_id: str) -> Iterator[None]:
    """Turns errors of what is stored of a run into `UnreadableRun`, except those that the store explains itself."""
    try:
        yield
    except UnreadableValue:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise UnreadableRun(
            f"run {ascii(run_id)[1:-1]} cannot be read: {error}",
            "Flightpath did not write it so; the other runs can be read",
        ) from error


def folder_name(run_id: str) -> str:
    """Returns the name of a run's folder: its id.

    Raises:
        UnreadableRun: it is not the name of a folder.
    """
    with _readable(run_id):
        return checked_run_id(run_id)


def run_record(row: StoredRun) -> RunRecord:
    """Returns the record of a run from its row.

    Raises:
        UnreadableRun: the row holds invalid data.
    """
    with _readable(row.run_id):
        checked_run_id(row.run_id)
        _require({dict: (row.plan, row.environment), list: (row.command,), str: (row.scenario,)})
        started_at, ended_at = _moment(row.started_at), _moment(row.ended_at) if row.ended_at else None
        command, status = tuple(map(str, row.command)), RunStatus(row.status)
    return RunRecord(row.run_id, row.scenario, row.plan, command, row.environment, started_at, ended_at, status)


def readable_records(rows: Iterable[StoredRun]) -> list[RunRecord]:
    """Returns the records of some rows; leaves out unreadable ones, and reports each on stderr once."""
    records = []
    for row in rows:
        try:
            records.append(run_record(row))
        except UnreadableRun as error:
            _warn_once(f"left out: {error.args[0]}")
    return records


def stored_verdict(text: str) -> Verdict:
    """Returns a verdict from its row; an unknown one is `unusable`."""
    return Verdict(text) if text in set(Verdict) else Verdict.UNUSABLE


@functools.cache
def _warn_once(sentence: str) -> None:
    print(f"warning: {sentence}", file=sys.stderr)


def _moment(text: str) -> datetime:
    """Parses a time, in UTC; raises OverflowError if it does not exist there."""
    return datetime.fromisoformat(text).astimezone(UTC)


def run_claims(session: Session, run_id: str) -> list[Claim]:
    rows = session.scalars(select(ClaimRow).where(ClaimRow.run_id == run_id).order_by(ClaimRow.claim_id))
    claims = []
    with _readable(run_id):
        for row in rows:
            _require({str: (row.claim, row.paper, row.measured, row.why)})
            claims.append(Claim(row.claim, row.paper, row.measured, ClaimVerdict(row.verdict), row.why))
    return claims


def documents(session: Session, run_id: str, name: str | None = None) -> dict[str, str]:
    """Reads the texts that belong to a run, by name: all, or only the named one."""
    if not inspect(session.connection()).has_table(DocumentRow.__tablename__):  # a store of version 1
        return {}
    query = select(DocumentRow.name, DocumentRow.content).where(DocumentRow.run_id == run_id)
    if name is not None:
        query = query.where(DocumentRow.name == name)
    return dict(session.execute(query.order_by(DocumentRow.document_id)).all())


def _key(parameters: Mapping[str, ParameterValue]) -> str:
    """Returns parameters as canonical JSON; 800 and 800.0 are equal."""
    same = {n: int(v) if isinstance(v, float) and v.is_integer() else v for n, v in parameters.items()}
    return json.dumps(same, sort_keys=True)


def json_values(values: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Returns values as JSON values; converts tuples, sets, mappings, paths and numpy's scalars."""
    try:
        return json.loads(json.dumps(dict(values), default=json_default, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise MeasurementFailed(f"{what} cannot be stored as JSON: {error}") from error


def json_default(value: Any) -> Any:
    """Converts mappings, sets, paths and numpy's scalars for `json`; raises TypeError for others."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} {value!r}")
