"""Export and import: runs with all their data, for another store.

The files in a run's folder (logs, captures) are not part of an export; figures can be drawn again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, StringConstraints, ValidationError
from sqlalchemy.exc import DataError, IntegrityError
from sqlalchemy.orm import Session

from flightpath.errors import FlightpathError, UsageError
from results.exchange.progress import Checked
from results.records import (
    Cell,
    CellResult,
    Certificate,
    Claim,
    Measurement,
    Metric,
    ParameterValue,
    RunStatus,
    Series,
    Verdict,
)
from results.store.backend import StoreFailed
from results.store.rows import cell_results, cell_row, documents, json_values, run_claims, run_record
from results.store.run_id import checked_run_id
from results.store.schema import CellRow, ClaimRow, DocumentRow, RunRow
from results.store.store import Store

FORMAT: Final = "flightpath-export"
VERSION = 1
NOTHING_IMPORTED = "nothing was imported"

_YEARS = range(1970, 9999)
"""Years that exist in every time zone."""


def _in_utc(text: str) -> str:
    """Returns a time in the store's form, which sorts."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a time in ISO 8601") from None
    if moment.tzinfo is None:
        raise ValueError(f"the time {text!r} has no time zone")
    if moment.year not in _YEARS:
        raise ValueError(f"the time {text!r} is not between {_YEARS[0]} and {_YEARS[-1]}")
    return moment.astimezone(UTC).isoformat()


RunId = Annotated[str, AfterValidator(checked_run_id)]
Time = Annotated[str, AfterValidator(_in_utc)]
Count = Annotated[int, Field(ge=0, lt=2**31)]


class ExportedCell(Checked):
    """A `CellResult` with its number in the order of measurement, and its times."""

    parameters: dict[str, ParameterValue]
    repetition: Count
    order: Count
    started_at: Time | None
    ended_at: Time
    verdict: Verdict
    reasons: list[str]
    found: dict[str, Any]
    metadata: dict[str, Any]
    metrics: dict[str, Metric]
    series: dict[str, Series]


class ExportedRun(Checked):
    """A `RunRecord` with everything that belongs to the run."""

    run_id: RunId
    scenario: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,200}$")]
    plan: dict[str, Any]
    command: list[str]
    environment: dict[str, Any]
    started_at: Time
    ended_at: Time | None
    status: RunStatus
    cells: list[ExportedCell]
    claims: list[Claim]
    documents: dict[str, str]


class Export(Checked):
    """All runs of one file."""

    format: Literal["flightpath-export"]
    version: Annotated[int, Field(ge=1)]
    runs: list[ExportedRun]


@dataclass(frozen=True)
class Imported:
    """Ids of the runs that an import added, and of those that the store already had, with the same content."""

    added: Sequence[str]
    known: Sequence[str]


def export_runs(store: Store, run_ids: Sequence[str]) -> Export:
    with store.reading() as session:
        return Export(format=FORMAT, version=VERSION, runs=[_exported(session, run_id) for run_id in run_ids])


def import_runs(store: Store, exports: Sequence[Export]) -> Imported:
    """Adds the runs of some exports to a store atomically: all, or none if one is invalid.

    Raises:
        UsageError: a run cannot be stored, or the store has another run with its id.
    """
    added, known = [], []
    try:
        with store.writing() as session:
            for run in (run for export in exports for run in export.runs):
                if session.get(RunRow, run.run_id) is None:
                    _add(session, run)
                    added.append(run.run_id)
                elif _exported(session, run.run_id) == run:
                    known.append(run.run_id)
                else:
                    raise UsageError(
                        f"the store has another run {run.run_id}",
                        f"{NOTHING_IMPORTED}; if that run continued after its export, export it again",
                    )
    except IntegrityError as error:
        raise UsageError(f"the export contradicts itself: {error.orig}", NOTHING_IMPORTED) from error
    except StoreFailed as error:
        if isinstance(error.__cause__, DataError):
            raise UsageError(f"the export cannot be stored: {error.__cause__.orig}", NOTHING_IMPORTED) from error
        raise
    except UnicodeError as error:
        raise UsageError(f"the export cannot be stored: {error}", NOTHING_IMPORTED) from error
    return Imported(added, known)


def first_problem(error: ValidationError) -> str:
    """Describes the first problem and its place, and counts the others."""
    problem = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, problem["loc"]))
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{where}: {problem['msg']}{more}"


def _exported(session: Session, run_id: str) -> ExportedRun:
    row = session.get_one(RunRow, run_id)
    status = run_record(row).status
    columns = {column.name: getattr(row, column.name) for column in RunRow.__table__.columns}
    try:
        return ExportedRun(
            **{**columns, "status": status},
            cells=[_exported_cell(*each) for each in cell_results(session, run_id)],
            claims=run_claims(session, run_id),
            documents=documents(session, run_id),
        )
    except ValidationError as error:
        raise UsageError(f"run {run_id} cannot be exported: {first_problem(error)}") from error


def _exported_cell(row: CellRow, result: CellResult) -> ExportedCell:
    return ExportedCell(
        **{name: getattr(row, name) for name in ("parameters", "repetition", "order", "started_at", "ended_at")},
        verdict=result.certificate.verdict,
        reasons=row.reasons,
        found=row.found,
        **vars(result.measurement),
    )


def _add(session: Session, run: ExportedRun) -> None:
    columns = run.model_dump(exclude={"cells", "claims", "documents"})
    try:
        columns["plan"] = json_values(run.plan, "the plan")
        columns["environment"] = json_values(run.environment, "the environment")
        cells = [_cell_row(run.run_id, cell) for cell in run.cells]
    except FlightpathError as error:
        raise UsageError(f"run {run.run_id}: {error}", NOTHING_IMPORTED) from error
    session.add(RunRow(**columns))
    session.flush()
    session.add_all(cells)
    session.add_all(ClaimRow(run_id=run.run_id, **vars(claim)) for claim in run.claims)
    session.add_all(DocumentRow(run_id=run.run_id, name=name, content=text) for name, text in run.documents.items())
    session.flush()


def _cell_row(run_id: str, cell: ExportedCell) -> CellRow:
    result = CellResult(
        Cell(cell.parameters, cell.repetition),
        Measurement(cell.metrics, cell.series, cell.metadata),
        Certificate(cell.verdict, tuple(cell.reasons), cell.found),
    )
    row = cell_row(run_id, result, cell.order, None)
    row.started_at, row.ended_at = cell.started_at, cell.ended_at
    return row
