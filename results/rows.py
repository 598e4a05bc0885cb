"""Records as rows of the tables, and back: without this the store could give back less than it was given."""

import json
import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

from flightpath.errors import MeasurementFailed
from results.records import (
    Cell,
    CellResult,
    Certificate,
    Measurement,
    Metric,
    ParameterValue,
    RunRecord,
    RunStatus,
    Series,
    Verdict,
)
from results.schema import CellRow, MetricRow, RunRow, SeriesRow


def cell_row(run_id: str, result: CellResult, order: int, started_at: datetime | None) -> CellRow:
    """A measured cell as a row, with its metrics and series.

    Raises:
        MeasurementFailed: a metric is not a finite number, or something has no JSON form.
    """
    cell, measured, certificate = result.cell, result.measurement, result.certificate
    return CellRow(
        run_id=run_id,
        key=_key(cell.parameters),
        parameters=plain(cell.parameters, f"a parameter of cell {cell.label}"),
        repetition=cell.repetition,
        order=order,
        started_at=started_at.isoformat() if started_at else None,
        ended_at=datetime.now(UTC).isoformat(),
        facts=plain(measured.metadata, f"the metadata of cell {cell.label}"),
        verdict=certificate.verdict,
        reasons=list(certificate.reasons),
        found=plain(certificate.found, f"the certificate of cell {cell.label}"),
        metrics=[_metric_row(name, metric, cell) for name, metric in measured.metrics.items()],
        series=[
            SeriesRow(name=name, unit=series.unit, times=_packed(series.times_s), values=_packed(series.values))
            for name, series in measured.series.items()
        ],
    )


def _metric_row(name: str, metric: Metric, cell: Cell) -> MetricRow:
    numbers = [float(n) for n in (metric.value, metric.low, metric.high) if n is not None]
    if not all(math.isfinite(number) for number in numbers):
        # SQLite turns NaN into NULL; a probe that has no figure must leave the metric out, or fail.
        raise MeasurementFailed(f"metric {name!r} of cell {cell.label} is not a finite number: {metric}")
    low, high = (None if bound is None else float(bound) for bound in (metric.low, metric.high))
    return MetricRow(name=name, value=float(metric.value), unit=metric.unit, low=low, high=high)


def cell_result(row: CellRow) -> CellResult:
    """The cell that a row was made of."""
    return CellResult(
        Cell(row.parameters, row.repetition),
        Measurement(
            {m.name: Metric(m.value, m.unit, m.low, m.high) for m in row.metrics},
            {s.name: Series(s.unit, _unpacked(s.times), _unpacked(s.values)) for s in row.series},
            row.facts,
        ),
        Certificate(Verdict(row.verdict), tuple(row.reasons), row.found),
    )


def run_record(row: RunRow) -> RunRecord:
    """The run that a row was made of."""
    return RunRecord(
        run_id=row.run_id,
        scenario=row.scenario,
        plan=row.plan,
        command=tuple(row.command),
        environment=row.environment,
        started_at=datetime.fromisoformat(row.started_at),
        ended_at=datetime.fromisoformat(row.ended_at) if row.ended_at else None,
        status=RunStatus(row.status),
    )


def _key(parameters: Mapping[str, ParameterValue]) -> str:
    """One text for equal parameters, whatever their order: 800 and 800.0 are the same load."""
    same = {n: int(v) if isinstance(v, float) and v.is_integer() else v for n, v in parameters.items()}
    return json.dumps(same, sort_keys=True)


def plain(values: Mapping[str, Any], what: str) -> dict[str, Any]:
    """JSON values from values that are nearly so (tuples, mappings, numpy scalars, paths).

    Raises:
        MeasurementFailed: something in it has no JSON form; NaN and the infinities have none.
    """
    try:
        return json.loads(json.dumps(dict(values), default=_nearly_json, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise MeasurementFailed(f"{what} cannot be kept as JSON: {error}") from error


def _nearly_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} {value!r}")


def _packed(numbers: Sequence[float]) -> bytes:
    return zlib.compress(struct.pack(f"<{len(numbers)}d", *numbers))


def _unpacked(blob: bytes) -> tuple[float, ...]:
    data = zlib.decompress(blob)
    return struct.unpack(f"<{len(data) // 8}d", data)
