"""The store of runs: plans, measured cells, claims and documents."""

import contextlib
import functools
import json
import os
import secrets
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from sqlalchemy import ColumnElement, SQLColumnExpression, Text, cast, delete, exists, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from flightpath.errors import UsageError
from results.records import PROGRESS_DOCUMENT, CellResult, Claim, RunRecord, RunStatus, Verdict
from results.store.backend import Backend, StoreFailed, translated_errors
from results.store.history import PastRun, past_runs
from results.store.location import StoreLocation, without_passwords
from results.store.ownership import make_folder
from results.store.query import RunQuery
from results.store.rows import (
    cell_results,
    cell_row,
    documents,
    folder_name,
    json_values,
    readable_records,
    run_claims,
    run_record,
    stored_verdict,
)
from results.store.run_id import part_of_run_id, runs_after
from results.store.schema import RUN_HOST, RUN_MACHINE, CellRow, ClaimRow, DocumentRow, RunRow
from results.store.sqlite import open_file

DEFAULT_FOLDER = Path("results/runs")

_TRIES_FOR_AN_ID = 20


class Store:
    """All runs of one location: a database, and the folder `FOLDER/RUN_ID/` for a run's files.

    The database is `FOLDER/flightpath.sqlite`, or on a server. Each call is a transaction of its own, which is on the
    disk when it returns; several processes can write at the same time. A store may be opened before a fork and used
    after it.

    A `run` in the arguments is a run's id, an unambiguous beginning of one, `latest` or `latest~1`; a `run_id` is a
    full id. Methods raise `UsageError` for an unknown run, and `StoreFailed` if the database fails.
    """

    def __init__(self, folder: Path, backend: Backend) -> None:
        self.folder, self.name = folder, backend.name
        self._backend = backend

    @classmethod
    def open(cls, where: str | os.PathLike[str] | StoreLocation = DEFAULT_FOLDER, *, create: bool = True) -> Self:
        """Opens a store.

        With `create` the database is created or upgraded if necessary, and a damaged file moved aside, with a warning
        on stderr. Otherwise nothing is changed, and there must be a sound store.

        Raises:
            UsageError: the location cannot be used, there is no store in it, or it is the store of a newer Flightpath.
            MissingCapability: the server cannot be reached, or refuses the connection.
        """
        location = StoreLocation.of(where)
        if location.server is None:
            return cls(location.folder, open_file(location.folder, create=create))
        from results.store.postgresql import open_server  # loads the client, which few stores need

        return cls(location.folder, open_server(location.server, create=create))

    # --- writing ---

    def begin_run(
        self,
        scenario: str,
        plan: Mapping[str, Any],
        environment: Mapping[str, Any],
        command: Sequence[str] | str,
        started_at: datetime | None = None,
    ) -> str:
        """Records that a run begins (now, by default), and returns its id.

        Plan and environment are JSON values, as in `RunRecord`. The command is a list or a shell line; passwords in it
        are not stored.
        """
        now = (started_at or datetime.now(UTC)).astimezone(UTC)
        argv = shlex.split(command) if isinstance(command, str) else list(command)
        row = {
            "scenario": scenario,
            "plan": json_values(plan, "the plan"),
            "command": without_passwords(argv),
            "environment": json_values(environment, "the environment"),
            "started_at": now.isoformat(),
            "ended_at": None,
            "status": RunStatus.RUNNING,
        }
        for tries_left in reversed(range(_TRIES_FOR_AN_ID)):
            run_id = f"{now:%Y%m%d-%H%M%S}-{part_of_run_id(scenario)}-{secrets.token_hex(2)}"
            try:
                with self.writing() as session:
                    session.add(RunRow(run_id=run_id, **row))
            except IntegrityError:  # another run of the same second has this id
                if not tries_left:
                    raise
            else:
                break
        return run_id

    def discard_run(self, run_id: str) -> None:
        """Removes a run that has no cells, and its folder.

        Raises:
            StoreFailed: the run has cells.
        """
        folder = self.folder / folder_name(run_id)
        with self.writing() as session:
            if session.scalar(select(func.count()).select_from(CellRow).where(CellRow.run_id == run_id)):
                raise StoreFailed(f"run {run_id} has cells, so it is kept")
            for table in (ClaimRow, DocumentRow, RunRow):
                session.execute(delete(table).where(table.run_id == run_id))
        shutil.rmtree(folder, ignore_errors=True)

    def resume_run(self, run: str) -> RunRecord:
        """Marks a run as running again, and returns it; its cells stay."""
        run_id = self.resolve(run)
        self._set_status(run_id, RunStatus.RUNNING, ended_at=None)
        return self.run(run_id)

    def record(self, run_id: str, result: CellResult, order: int, started_at: datetime | None = None) -> None:
        """Writes a finished cell, with its number in the order of measurement and the time of its start.

        The cell survives a crash as soon as this returns.

        Raises:
            MeasurementFailed: a metric is not a finite number, or metadata is not JSON.
            StoreFailed: the cell is recorded already, there is no such run, or the store cannot be written.
        """
        row = cell_row(run_id, result, order, started_at)
        try:
            with self.writing() as session:
                session.add(row)
        except IntegrityError as error:
            raise StoreFailed(
                f"cell {result.cell.label} cannot be added to run {run_id}: it is recorded already, or there is no "
                f"such run ({error.orig})"
            ) from error

    def finish_run(self, run_id: str, status: RunStatus | str, environment: Mapping[str, Any] | None = None) -> None:
        """Records that a run ended now, and its status; adds facts to the environment that `begin_run` recorded."""
        facts = json_values(environment or {}, "the environment")
        self._set_status(run_id, RunStatus(status), ended_at=datetime.now(UTC).isoformat(), facts=facts)

    def record_claims(self, run_id: str, claims: Sequence[Claim]) -> None:
        """Stores the claims of a run, and removes earlier ones."""
        run_id = self.resolve(run_id)
        with self.writing() as session:
            session.execute(delete(ClaimRow).where(ClaimRow.run_id == run_id))
            session.add_all(ClaimRow(run_id=run_id, **vars(claim)) for claim in claims)

    def keep_document(self, run: str, name: str, text: str) -> None:
        """Stores a text with a run, in place of an earlier one of that name."""
        run_id = self.resolve(run)
        with self.writing() as session:
            session.execute(delete(DocumentRow).where(DocumentRow.run_id == run_id, DocumentRow.name == name))
            session.add(DocumentRow(run_id=run_id, name=name, content=text))

    def artifacts(self, run: str) -> Path:
        """Returns the folder of a run's files (figures, logs), which it makes if necessary.

        Raises:
            StoreFailed: the folder cannot be made; UnreadableRun if the id is no name of a folder.
        """
        folder = self.folder / folder_name(self.resolve(run))
        try:
            make_folder(folder)
        except OSError as error:
            raise StoreFailed(f"cannot make {folder}: {error.strerror or error}") from error
        return folder

    # --- one run ---

    def resolve(self, run: str) -> str:
        """Returns the full id of a run.

        Raises:
            UsageError: no run matches, or several do.
        """
        with self.reading() as session:
            if session.get(RunRow, run) is not None:
                return run
            if (after := runs_after(run)) is not None and (found := _newest(session, after)):
                return found
            run_ids = session.scalars(RunQuery().select(RunRow.run_id)).all()[::-1]
        matching = [run_id for run_id in run_ids if run and run_id.startswith(run)]
        if len(matching) == 1:
            return matching[0]
        if matching:
            hint = f"write more of it: {', '.join(matching[-5:])}"
            raise UsageError(f"{run!r} is the beginning of {len(matching)} runs", hint)
        hint = f"the latest are: {', '.join(run_ids[-5:])}" if run_ids else "it has no runs yet"
        raise UsageError(f"there is no run {run!r} in {self.name}", hint)

    def run(self, run: str) -> RunRecord:
        run_id = self.resolve(run)
        with self.reading() as session:
            return run_record(session.get_one(RunRow, run_id))

    def cells(self, run: str, *, series: bool = True) -> list[CellResult]:
        """Returns the measured cells of a run, in the order of measurement; optionally without their series."""
        run_id = self.resolve(run)
        with self.reading() as session:
            return [result for _, result in cell_results(session, run_id, series=series)]

    def claims(self, run: str) -> list[Claim]:
        """Returns the claims of a run, as last judged."""
        run_id = self.resolve(run)
        with self.reading() as session:
            return run_claims(session, run_id)

    def document(self, run: str, name: str) -> str | None:
        """Returns a text that was stored with a run; None if there is no such name."""
        run_id = self.resolve(run)
        with self.reading() as session:
            return documents(session, run_id, name).get(name)

    # --- many runs ---

    def find(self, query: RunQuery) -> list[RunRecord]:
        """Returns the runs that match a query, oldest first."""
        statement = query.select(*RunRow.__table__.columns)  # bare columns: objects would take three times as long
        with self.reading() as session:
            return readable_records(reversed(session.execute(statement).all()))

    def runs(self, scenario: str | None = None, *, last: int | None = None) -> list[RunRecord]:
        """Returns all runs, or those of a scenario; at most the `last` ones."""
        return self.find(RunQuery(scenario, last=last))

    def latest(self, scenario: str | None = None) -> RunRecord | None:
        """Returns the run that began last, of one scenario or of all; None if there is none."""
        return next(iter(self.runs(scenario, last=1)), None)

    def finished_before(self, record: RunRecord, last: int) -> list[RunRecord]:
        """Returns the last finished runs of a run's scenario and conditions that began before it, oldest first."""
        earlier = self.find(RunQuery(record.scenario, before=record.started_at, status=RunStatus.DONE))
        return [run for run in earlier if run.conditions == record.conditions][-last:]

    def plans(self, query: RunQuery) -> list[tuple[str, Mapping[str, Any]]]:
        """Returns the ids and plans of the runs that match a query, oldest first."""
        statement = query.select(RunRow.run_id, cast(RunRow.plan, Text))
        parse = functools.cache(_plan)  # repeated measurements have the same plan
        with self.reading() as session:
            return [(run_id, parse(plan)) for run_id, plan in reversed(session.execute(statement).all())]

    def history(self, query: RunQuery, metrics: Sequence[str]) -> list[PastRun]:
        """Returns runs with the named metrics of their cells, oldest first; far faster than `cells` of each."""
        with self.reading() as session:
            return past_runs(session, metrics, query)

    def count(self, query: RunQuery) -> int:
        """Counts the runs that match a query; ignores its `last` and `skip`."""
        with self.reading() as session:
            return session.scalar(select(func.count()).select_from(RunRow).where(*query.conditions())) or 0

    def cell_counts(self, runs: Sequence[str] | None = None) -> dict[str, dict[Verdict, int]]:
        """Counts the cells of some runs, or of all, by run id and verdict; runs without cells are left out."""
        counts: dict[str, dict[Verdict, int]] = {}
        query = select(CellRow.run_id, CellRow.verdict, func.count()).group_by(CellRow.run_id, CellRow.verdict)
        if runs is not None:
            query = query.where(CellRow.run_id.in_(runs))
        with self.reading() as session:
            for run_id, verdict, count in session.execute(query):
                of_run = counts.setdefault(run_id, {})
                of_run[stored_verdict(verdict)] = of_run.get(stored_verdict(verdict), 0) + count
        return counts

    def scenarios(self) -> list[str]:
        return self._distinct(RunRow.scenario)

    def machines(self) -> list[str]:
        return self._distinct(RUN_MACHINE)

    def hosts(self, scenario: str) -> list[str]:
        """Returns the remote machines that the plans of a scenario's runs name as `host`, sorted."""
        return self._distinct(RUN_HOST, RunRow.scenario == scenario, RUN_HOST.is_not(None))

    # --- sessions ---

    @contextlib.contextmanager
    def reading(self) -> Iterator[Session]:
        with translated_errors(self._backend.explain), Session(self._backend.reading) as session:
            yield session

    @contextlib.contextmanager
    def writing(self) -> Iterator[Session]:
        with translated_errors(self._backend.explain), Session(self._backend.writing) as session, session.begin():
            yield session

    def _distinct(self, column: SQLColumnExpression[str], *where: ColumnElement[bool]) -> list[str]:
        with self.reading() as session:
            return sorted(map(str, session.scalars(select(column).where(*where).distinct())))

    def _set_status(
        self, run_id: str, status: RunStatus, ended_at: str | None, facts: Mapping[str, Any] | None = None
    ) -> None:
        with self.writing() as session:
            row = session.get(RunRow, run_id, with_for_update=True)
            if row is None:
                raise UsageError(f"there is no run {run_id!r} in {self.name}")
            row.status, row.ended_at = status, ended_at
            row.environment = {**row.environment, **(facts or {})}
            session.execute(
                delete(DocumentRow).where(DocumentRow.run_id == run_id, DocumentRow.name == PROGRESS_DOCUMENT)
            )


def _newest(session: Session, after: int) -> str | None:
    """Returns the run with cells after which so many others with cells came; the newest of all if none has cells."""
    newest = RunQuery(last=1, skip=after).select(RunRow.run_id)
    measured = exists().where(CellRow.run_id == RunRow.run_id)
    return session.scalar(newest.where(measured)) or (None if after else session.scalar(newest))


def _plan(text: str) -> Mapping[str, Any]:
    """Parses a stored plan; an invalid one has no parameters."""
    plan = json.loads(text)
    return plan if isinstance(plan, dict) else {}
