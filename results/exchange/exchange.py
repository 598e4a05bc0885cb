"""Runs on their way to another machine: without one checked form for them an import could bring in anything.

An export holds all that the store knows of a run, so that nothing is lost on the way there and back. The files of a
run's folder (logs, captures) are not part of it; figures are drawn again.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator
from sqlalchemy import inspect, select
from sqlalchemy.exc import DataError, IntegrityError
from sqlalchemy.orm import Session

from flightpath.errors import FlightpathError, UsageError
from results.records import (
    Cell,
    CellResult,
    Certificate,
    ClaimVerdict,
    Measurement,
    Metric,
    ParameterValue,
    RunStatus,
    Series,
    Verdict,
)
from results.store.opened import StoreFailed
from results.store.rows import cell_results, cell_row, plain
from results.store.schema import CellRow, ClaimRow, DocumentRow, RunRow
from results.store.store import Store

FORMAT, VERSION = "flightpath-export", 1

# A run's id names its folder: it must stay one name in one folder, and be printable.
RunId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.@+ -]{0,199}$")]
Name = Annotated[str, StringConstraints(max_length=1000)]
Number = Annotated[int, Field(ge=0, lt=2**31)]


class Part(BaseModel):
    """Part of an export: exactly these fields, of exactly these types, and no number that is none."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class ExportedMetric(Part):
    """As `Metric`."""

    value: float
    unit: Name
    low: float | None
    high: float | None


class ExportedSeries(Part):
    """As `Series`."""

    unit: Name
    times_s: list[float]
    values: list[float]

    @model_validator(mode="after")
    def _equally_many(self) -> "ExportedSeries":
        if len(self.times_s) != len(self.values):
            raise ValueError(f"{len(self.times_s)} times for {len(self.values)} values")
        return self


class ExportedCell(Part):
    """As `CellResult`, with its place and times; `found` is of its certificate."""

    parameters: dict[str, ParameterValue]
    repetition: Number
    order: Number
    started_at: str | None
    ended_at: str
    verdict: Annotated[Verdict, Field(strict=False)]
    reasons: list[str]
    found: dict[str, Any]
    metadata: dict[str, Any]
    metrics: dict[str, ExportedMetric]
    series: dict[str, ExportedSeries]


class ExportedClaim(Part):
    """As `Claim`."""

    claim: str
    paper: str
    measured: str
    verdict: Annotated[ClaimVerdict, Field(strict=False)]
    why: str


class ExportedRun(Part):
    """As `RunRecord`, with everything that belongs to the run."""

    run_id: RunId
    scenario: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,200}$")]
    plan: dict[str, Any]
    command: list[str]
    environment: dict[str, Any]
    started_at: str
    ended_at: str | None
    status: Annotated[RunStatus, Field(strict=False)]
    cells: list[ExportedCell]
    claims: list[ExportedClaim]
    documents: dict[str, str]

    @model_validator(mode="after")
    def _times(self) -> "ExportedRun":
        for text in (self.started_at, self.ended_at):
            if text is not None and datetime.fromisoformat(text).tzinfo is None:
                raise ValueError(f"the time {text!r} has no time zone")
        return self


class Export(Part):
    """A whole file."""

    format: Literal["flightpath-export"]
    version: Annotated[int, Field(ge=1)]
    runs: list[ExportedRun]


@dataclass(frozen=True)
class Imported:
    """What an import did: run ids that are new, and those that were there already, just the same."""

    added: Sequence[str]
    known: Sequence[str]


def collect(store: Store, run_ids: Sequence[str]) -> Export:
    """Everything that the store has of some runs."""
    with store.reading() as session:
        return Export(format=FORMAT, version=VERSION, runs=[_collected(session, run_id) for run_id in run_ids])


def bring_in(store: Store, exports: Sequence[Export]) -> Imported:
    """Adds runs to a store: all of them, or, if anything is wrong with one, none.

    Raises:
        UsageError: a run cannot be kept, or another one has its id.
    """
    runs = [run for export in exports for run in export.runs]
    added, known = [], []
    try:
        with store.writing() as session:
            for run in runs:
                if session.get(RunRow, run.run_id) is None:
                    _add(session, run)
                    added.append(run.run_id)
                elif _collected(session, run.run_id) == run:
                    known.append(run.run_id)
                else:
                    raise UsageError(
                        f"the store has another run {run.run_id}",
                        "nothing was imported; a run that went on since its export must be exported again",
                    )
    except IntegrityError as error:
        raise UsageError(f"the export contradicts itself: {error.orig}", "nothing was imported") from error
    except StoreFailed as error:
        if isinstance(error.__cause__, DataError):
            raise UsageError(f"the export cannot be kept: {error.__cause__.orig}", "nothing was imported") from error
        raise
    except UnicodeError as error:
        raise UsageError(f"the export cannot be kept: {error}", "nothing was imported") from error
    return Imported(added, known)


def _collected(session: Session, run_id: str) -> ExportedRun:
    row = session.get_one(RunRow, run_id)
    claims = select(ClaimRow).where(ClaimRow.run_id == run_id).order_by(ClaimRow.claim_id)
    return ExportedRun(
        run_id=row.run_id,
        scenario=row.scenario,
        plan=row.plan,
        command=row.command,
        environment=row.environment,
        started_at=row.started_at,
        ended_at=row.ended_at,
        status=row.status,
        cells=[_cell(*each) for each in cell_results(session, run_id)],
        claims=[
            ExportedClaim(claim=c.claim, paper=c.paper, measured=c.measured, verdict=c.verdict, why=c.why)
            for c in session.scalars(claims)
        ],
        documents=_documents(session, run_id),
    )


def _documents(session: Session, run_id: str) -> dict[str, str]:
    if not inspect(session.connection()).has_table(
        DocumentRow.__tablename__
    ):  # a store of an older version, read as it is
        return {}
    rows = select(DocumentRow).where(DocumentRow.run_id == run_id).order_by(DocumentRow.document_id)
    return {row.name: zlib.decompress(row.content).decode() for row in session.scalars(rows)}


def _cell(row: CellRow, result: CellResult) -> ExportedCell:
    measured, certificate = result.measurement, result.certificate
    return ExportedCell(
        parameters=result.cell.parameters,
        repetition=result.cell.repetition,
        order=row.order,
        started_at=row.started_at,
        ended_at=row.ended_at,
        verdict=certificate.verdict,
        reasons=list(certificate.reasons),
        found=certificate.found,
        metadata=measured.metadata,
        metrics={
            name: ExportedMetric(value=m.value, unit=m.unit, low=m.low, high=m.high)
            for name, m in measured.metrics.items()
        },
        series={
            name: ExportedSeries(unit=s.unit, times_s=list(s.times_s), values=list(s.values))
            for name, s in measured.series.items()
        },
    )


def _add(session: Session, run: ExportedRun) -> None:
    try:
        plan, environment = plain(run.plan, "the plan"), plain(run.environment, "the environment")
        cells = [_row(run.run_id, cell) for cell in run.cells]
    except FlightpathError as error:
        raise UsageError(f"run {run.run_id}: {error}", "nothing was imported") from error
    session.add(
        RunRow(
            run_id=run.run_id,
            scenario=run.scenario,
            plan=plan,
            command=run.command,
            environment=environment,
            started_at=run.started_at,
            ended_at=run.ended_at,
            status=run.status,
        )
    )
    session.flush()
    session.add_all(cells)
    session.add_all(ClaimRow(run_id=run.run_id, **claim.model_dump()) for claim in run.claims)
    session.add_all(
        DocumentRow(run_id=run.run_id, name=name, content=zlib.compress(text.encode()))
        for name, text in run.documents.items()
    )
    session.flush()


def _row(run_id: str, cell: ExportedCell) -> CellRow:
    result = CellResult(
        Cell(cell.parameters, cell.repetition),
        Measurement(
            {name: Metric(m.value, m.unit, m.low, m.high) for name, m in cell.metrics.items()},
            {name: Series(s.unit, tuple(s.times_s), tuple(s.values)) for name, s in cell.series.items()},
            cell.metadata,
        ),
        Certificate(cell.verdict, tuple(cell.reasons), cell.found),
    )
    row = cell_row(run_id, result, cell.order, None)
    row.started_at, row.ended_at = cell.started_at, cell.ended_at
    return row
