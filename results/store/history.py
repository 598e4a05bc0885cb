"""Many runs at a glance: without this a history of ten thousand measurements would be read whole for a page of it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, Select, exists, not_, select
from sqlalchemy.orm import Session

from results.records import RunRecord, RunStatus, Verdict
from results.store.rows import run_record
from results.store.schema import RUN_HOST, RUN_MACHINE, CellRow, MetricRow, RunRow


@dataclass(frozen=True)
class PastCell:
    """What a history needs of a cell.

    Attributes:
        repetition: which one it is, from 1.
        verdict, reasons: of its certificate.
        metrics: the values that were asked for, where the cell has them, in the units in which they are kept.
    """

    repetition: int
    verdict: Verdict
    reasons: tuple[str, ...]
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class PastRun:
    """A run and its cells in the order in which they were measured."""

    record: RunRecord
    cells: tuple[PastCell, ...]


@dataclass(frozen=True)
class Choice:
    """Which runs; None is any.

    Attributes:
        scenario: only those of this scenario.
        host: only those whose plan names this `host`, the far machine of a preflight.
        last: only so many, the newest of them.
        since, until: only those that began between these moments, themselves included.
        run_id: only this one.
        run_ids: only these.
        before: only those that began earlier than this moment.
        status: only those that ended like this.
        verdict: only those whose worst cell is this.
        machine: only those that were made on this machine.
        skip: not the newest so many of them, but those before.
    """

    scenario: str | None = None
    host: str | None = None
    last: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    run_id: str | None = None
    run_ids: Collection[str] | None = None
    before: datetime | None = None
    status: RunStatus | None = None
    verdict: Verdict | None = None
    machine: str | None = None
    skip: int = 0

    def of(self, query: Select) -> Select:
        """Restricts a query of runs; the newest come first."""
        return (
            self.all_of(query)
            .order_by(RunRow.started_at.desc(), RunRow.run_id.desc())
            .limit(self.last)
            .offset(self.skip or None)
        )

    def all_of(self, query: Select) -> Select:
        """Restricts a query of runs, in no order and to no number of them."""
        for wanted, column in (
            (self.scenario, RunRow.scenario),
            (self.host, RUN_HOST),
            (self.run_id, RunRow.run_id),
            (self.status, RunRow.status),
            (self.machine, RUN_MACHINE),
        ):
            if wanted is not None:
                query = query.where(column == wanted)
        if self.since is not None:
            query = query.where(RunRow.started_at >= _text(self.since))
        if self.until is not None:
            query = query.where(RunRow.started_at <= _text(self.until))
        if self.before is not None:
            query = query.where(RunRow.started_at < _text(self.before))
        if self.run_ids is not None:
            query = query.where(RunRow.run_id.in_(self.run_ids))
        if self.verdict is not None:
            query = query.where(_has_cell(self.verdict), *(not_(_has_cell(worse)) for worse in self.verdict.worse()))
        return query


def _has_cell(verdict: Verdict) -> ColumnElement[bool]:
    return exists(select(CellRow.cell_id).where(CellRow.run_id == RunRow.run_id, CellRow.verdict == verdict))


def _text(moment: datetime) -> str:
    """As the store writes moments, so that they sort as they follow each other."""
    return moment.astimezone(UTC).isoformat()


def past_runs(session: Session, metrics: Sequence[str], choice: Choice) -> list[PastRun]:
    """Runs with the named metrics of their cells, oldest first; what else a cell has stays on the disk."""
    records = [run_record(row) for row in session.scalars(choice.of(select(RunRow)))]
    of_runs = CellRow.run_id.in_(choice.of(select(RunRow.run_id)).scalar_subquery())
    cells: dict[str, list[PastCell]] = {}
    values = _values(session, metrics, of_runs)
    columns = select(CellRow.run_id, CellRow.cell_id, CellRow.repetition, CellRow.verdict, CellRow.reasons)
    for run_id, cell_id, repetition, verdict, reasons in session.execute(
        columns.where(of_runs).order_by(CellRow.order, CellRow.cell_id)
    ):
        cell = PastCell(repetition, Verdict(verdict), tuple(reasons), values.get(cell_id, {}))
        cells.setdefault(run_id, []).append(cell)
    return [PastRun(record, tuple(cells.get(record.run_id, ()))) for record in reversed(records)]


def _values(session: Session, metrics: Sequence[str], of_runs: ColumnElement[bool]) -> dict[int, dict[str, float]]:
    """The named metrics by cell and name."""
    query = select(MetricRow.cell_id, MetricRow.name, MetricRow.value).join(
        CellRow, CellRow.cell_id == MetricRow.cell_id
    )
    values: dict[int, dict[str, float]] = {}
    for cell_id, name, value in session.execute(query.where(of_runs, MetricRow.name.in_(metrics))):
        values.setdefault(cell_id, {})[name] = value
    return values
