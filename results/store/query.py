"""Queries for runs that the database can answer."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, exists, not_, select

from results.records import RunStatus, Verdict
from results.store.schema import RUN_HOST, RUN_MACHINE, RUN_PROFILE, CellRow, RunRow


@dataclass(frozen=True)
class RunQuery:
    """A query for the runs that match every attribute that is not None.

    Attributes:
        host: `host` in the plan: the remote machine of a preflight.
        last: maximum number of runs, the newest.
        since, until: range of the run's start, inclusive.
        before: the run began earlier than this moment.
        verdict: verdict of the run's worst cell.
        machine: machine of the run; `*` and `?` are wildcards, and make it case-insensitive.
        skip: number of newest runs to leave out, before `last` counts.
        profile: profile of a preflight; an empty one stands for none.
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
    profile: str | None = None

    def select(self, *columns: Any) -> Select[*tuple[Any, ...]]:
        """Returns a statement that selects columns of the matching runs, newest first."""
        matching = select(*columns).where(*self.conditions())
        newest_first = matching.order_by(RunRow.started_at.desc(), RunRow.run_id.desc())
        return newest_first.limit(self.last).offset(self.skip or None)

    def conditions(self) -> list[ColumnElement[bool]]:
        """Returns the conditions of the query, without `last` and `skip`."""
        values = {name: getattr(self, name) for name in _CONDITIONS}
        return [_CONDITIONS[name](value) for name, value in values.items() if value is not None]


def _machine_is(pattern: str) -> ColumnElement[bool]:
    if not set(pattern) & set("*?"):
        return RUN_MACHINE == pattern  # noqa: SIM300 (a comparison in SQL)
    literal = pattern.translate({ord(sign): f"\\{sign}" for sign in "\\%_"})
    return RUN_MACHINE.ilike(literal.replace("*", "%").replace("?", "_"), escape="\\")


def _worst_cell_is(verdict: Verdict) -> ColumnElement[bool]:
    return _has_cell(verdict) & not_(_has_cell(*verdict.worse()))


def _has_cell(*verdicts: Verdict) -> ColumnElement[bool]:
    return exists(select(CellRow.cell_id).where(CellRow.run_id == RunRow.run_id, CellRow.verdict.in_(verdicts)))


def _stored(moment: datetime) -> str:
    """Returns a moment in the store's form, which sorts by time."""
    return moment.astimezone(UTC).isoformat()


_CONDITIONS: dict[str, Callable[[Any], ColumnElement[bool]]] = {
    "scenario": lambda scenario: RunRow.scenario == scenario,
    "host": lambda host: host == RUN_HOST,
    "profile": lambda profile: profile == RUN_PROFILE,
    "since": lambda moment: RunRow.started_at >= _stored(moment),
    "until": lambda moment: RunRow.started_at <= _stored(moment),
    "run_id": lambda run_id: RunRow.run_id == run_id,
    "run_ids": lambda run_ids: RunRow.run_id.in_(run_ids),
    "before": lambda moment: RunRow.started_at < _stored(moment),
    "status": lambda status: RunRow.status == status,
    "verdict": _worst_cell_is,
    "machine": _machine_is,
}
