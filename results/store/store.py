"""The retentive memory: without it a killed run loses what it measured, and a figure cannot be made again tomorrow."""

import contextlib
import functools
import json
import os
import secrets
import shlex
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Text, cast, delete, func, inspect, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from flightpath.errors import UsageError
from results.records import CellResult, Claim, ClaimVerdict, RunRecord, RunStatus, Verdict
from results.store.database import open_file, say_on_stderr
from results.store.history import Choice, PastRun, past_runs
from results.store.location import StoreLocation, without_passwords
from results.store.opened import Opened, StoreFailed, named
from results.store.ownership import make_folder
from results.store.rows import cell_results, cell_row, plain, run_record
from results.store.schema import RUN_HOST, RUN_MACHINE, CellRow, ClaimRow, DocumentRow, RunRow

DEFAULT_FOLDER = Path("results/runs")
LIVE = "live.json"
"""The document in which a running run tells how its cell is going."""
_TRIES_FOR_AN_ID = 20


class Store:
    """All runs of one place: `FOLDER/flightpath.sqlite`, or a database on a server; `FOLDER/RUN_ID/` for a run's files.

    Each call is a transaction of its own: what a call wrote is on the disk when it returns, and several processes may
    write at once. A store may be opened on one side of a fork and used on the other.
    """

    def __init__(self, folder: Path, database: Opened) -> None:
        self.folder, self.name = folder, database.name
        self._database = database

    @classmethod
    def open(
        cls,
        where: str | os.PathLike[str] | StoreLocation = DEFAULT_FOLDER,
        *,
        create: bool = True,
        notify: Callable[[str], None] | None = None,
    ) -> "Store":
        """Opens a store.

        Args:
            where: the folder where runs are kept, or a place.
            create: make what is missing, and move a damaged database file aside. Without it only read: a missing or
                damaged store is an error, and nothing is changed.
            notify: told in a sentence when a damaged database was moved aside; prints on stderr by default.

        Raises:
            UsageError: the place cannot be used, there is no store in it, or a newer Flightpath wrote it.
            MissingCapability: its server cannot be reached, or refuses.
        """
        place = StoreLocation.of(where)
        if place.server is None:
            return cls(place.folder, open_file(place.folder, create=create, notify=notify or say_on_stderr))
        from results.store.server import open_server  # the client of a server, which most stores do not have

        return cls(place.folder, open_server(place.server, create=create))

    def begin_run(
        self,
        scenario: str,
        plan: Mapping[str, Any],
        environment: Mapping[str, Any],
        command: Sequence[str] | str,
        started_at: datetime | None = None,
    ) -> str:
        """Records that a run begins, and returns its id.

        Args:
            scenario: the scenario's name.
            plan: what was asked for (JSON values), with `form` being `quick` or `full`.
            environment: kernel, versions, host (JSON values).
            command: the argument list that repeats the run, or the same as a shell line; kept without passwords.
            started_at: when it began, with its time zone; now by default.
        """
        now = (started_at or datetime.now(UTC)).astimezone(UTC)
        argv = shlex.split(command) if isinstance(command, str) else list(command)
        begun = {
            "scenario": scenario,
            "plan": plain(plan, "the plan"),
            "command": without_passwords(argv),
            "environment": plain(environment, "the environment"),
            "started_at": now.isoformat(),
            "ended_at": None,
            "status": RunStatus.RUNNING,
        }
        for tries_left in reversed(range(_TRIES_FOR_AN_ID)):
            run_id = f"{now:%Y%m%d-%H%M%S}-{scenario}-{secrets.token_hex(2)}"
            try:
                with self.writing() as session:
                    session.add(RunRow(run_id=run_id, **begun))
            except IntegrityError:  # another run of this second has it
                if not tries_left:
                    raise
            else:
                break
        return run_id

    def resume_run(self, run: str) -> RunRecord:
        """Marks a run as running again, and returns it; its recorded cells stay."""
        run_id = self.resolve(run)
        self._set_status(run_id, RunStatus.RUNNING, ended_at=None)
        return self.run(run_id)

    def record(self, run_id: str, result: CellResult, order: int, started_at: datetime | None = None) -> None:
        """Writes a finished cell; when this returns, it survives whatever happens to the process.

        Args:
            run_id: the run it belongs to, in full.
            result: the cell, what was measured, and the certificate.
            order: its place in the order in which the cells of the run are measured.
            started_at: when its measurement began, where known.

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
        """Records how a run ended, and that it ended now.

        Args:
            run_id: the run, in full.
            status: how it ended.
            environment: what was found out of where it ran meanwhile (JSON values); added to what is known.
        """
        found = plain(environment or {}, "the environment")
        self._set_status(run_id, RunStatus(status), ended_at=datetime.now(UTC).isoformat(), found=found)

    def keep_document(self, run: str, name: str, text: str) -> None:
        """Keeps a text with a run, in place of the one of that name."""
        run_id = self.resolve(run)
        with self.writing() as session:
            session.execute(delete(DocumentRow).where(DocumentRow.run_id == run_id, DocumentRow.name == name))
            session.add(DocumentRow(run_id=run_id, name=name, content=zlib.compress(text.encode())))

    def document(self, run: str, name: str) -> str | None:
        """A text that was kept with a run; None if there is none of that name."""
        query = select(DocumentRow.content).where(DocumentRow.run_id == self.resolve(run), DocumentRow.name == name)
        with self.reading() as session:
            content = (
                session.scalar(query) if inspect(session.connection()).has_table(DocumentRow.__tablename__) else None
            )
            return None if content is None else zlib.decompress(content).decode()

    def cells(self, run: str, *, series: bool = True) -> list[CellResult]:
        """The measured cells of a run, in the order in which they were measured; without their series if not wanted."""
        run_id = self.resolve(run)
        with self.reading() as session:
            return [result for _, result in cell_results(session, run_id, series=series)]

    def run(self, run: str) -> RunRecord:
        """One run by its id or an unambiguous beginning of it."""
        run_id = self.resolve(run)
        with self.reading() as session:
            return run_record(session.get_one(RunRow, run_id))

    def runs(self, scenario: str | None = None, *, host: str | None = None, last: int | None = None) -> list[RunRecord]:
        """All runs, or some of them, oldest first.

        Args:
            scenario: only the runs of this scenario.
            host: only the runs whose plan names this `host`, the far machine of a preflight.
            last: only so many, the newest of them.
        """
        return self.choose(Choice(scenario, host, last))

    def choose(self, choice: Choice) -> list[RunRecord]:
        """Some runs, oldest first."""
        query = choice.of(select(*RunRow.__table__.columns))  # bare columns: objects would take three times as long
        with self.reading() as session:
            return [run_record(row) for row in reversed(session.execute(query).all())]

    def plans(self, choice: Choice) -> list[tuple[str, Mapping[str, Any], str]]:
        """Id, plan and machine of some runs, oldest first."""
        query = choice.of(select(RunRow.run_id, cast(RunRow.plan, Text), RUN_MACHINE))
        plan_of = functools.cache(json.loads)  # who repeats a measurement repeats its plan
        with self.reading() as session:
            return [(run_id, plan_of(plan), str(on)) for run_id, plan, on in reversed(session.execute(query).all())]

    def finished_before(self, record: RunRecord, last: int) -> list[RunRecord]:
        """The last runs of a run's scenario that began before it and are done, oldest first."""
        done = Choice(record.scenario, last=last, before=record.started_at, status=RunStatus.DONE)
        return self.choose(done)

    def history(self, choice: Choice, metrics: Sequence[str]) -> list[PastRun]:
        """Some runs with the named metrics of their cells, oldest first: far quicker than `cells` of each."""
        with self.reading() as session:
            return past_runs(session, metrics, choice)

    def hosts(self, scenario: str) -> list[str]:
        """The far machines that the plans of a scenario's runs name as `host`, in alphabetical order."""
        return self._distinct(RUN_HOST, RunRow.scenario == scenario, RUN_HOST.is_not(None))

    def count(self, choice: Choice) -> int:
        """How many runs those are; `last` and `skip` are not considered."""
        with self.reading() as session:
            return session.scalar(choice.all_of(select(func.count()).select_from(RunRow))) or 0

    def scenarios(self) -> list[str]:
        """The scenarios of all runs, in alphabetical order."""
        return self._distinct(RunRow.scenario)

    def machines(self) -> list[str]:
        """The machines that runs were made on, in alphabetical order."""
        return self._distinct(RUN_MACHINE)

    def latest(self, scenario: str | None = None) -> RunRecord | None:
        """The run that began last, of one scenario or of all; None if there is none."""
        return next(iter(self.runs(scenario, last=1)), None)

    def record_claims(self, run_id: str, claims: Sequence[Claim]) -> None:
        """Keeps the claims derived from a run's cells, in place of those kept before."""
        run_id = self.resolve(run_id)
        rows = [
            ClaimRow(run_id=run_id, claim=c.claim, paper=c.paper, measured=c.measured, verdict=c.verdict, why=c.why)
            for c in claims
        ]
        with self.writing() as session:
            session.execute(delete(ClaimRow).where(ClaimRow.run_id == run_id))
            session.add_all(rows)

    def claims(self, run: str) -> list[Claim]:
        """The claims as the scenario last derived them for a run."""
        run_id = self.resolve(run)
        query = select(ClaimRow).where(ClaimRow.run_id == run_id).order_by(ClaimRow.claim_id)
        with self.reading() as session:
            return [
                Claim(row.claim, row.paper, row.measured, ClaimVerdict(row.verdict), row.why)
                for row in session.scalars(query)
            ]

    def cell_counts(self, runs: Sequence[str] | None = None) -> dict[str, dict[Verdict, int]]:
        """How many cells of each verdict every run has, or some runs, by run id; runs without cells are missing."""
        counts: dict[str, dict[Verdict, int]] = {}
        with self.reading() as session:
            query = select(CellRow.run_id, CellRow.verdict, func.count()).group_by(CellRow.run_id, CellRow.verdict)
            if runs is not None:
                query = query.where(CellRow.run_id.in_(runs))
            for run_id, verdict, count in session.execute(query):
                counts.setdefault(run_id, {})[Verdict(verdict)] = count
        return counts

    def resolve(self, run: str) -> str:
        """The full id of the run that an id, an unambiguous beginning of one, or the word `latest` names.

        Raises:
            UsageError: none, or several, are meant.
        """
        with self.reading() as session:
            if session.get(RunRow, run) is not None:
                return run
            newest = select(RunRow.run_id).order_by(RunRow.started_at.desc(), RunRow.run_id.desc())
            if run == "latest" and (latest := session.scalar(newest.limit(1))):
                return latest
            known = list(reversed(session.scalars(newest).all()))
        matching = [run_id for run_id in known if run and run_id.startswith(run)]
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise UsageError(
                f"{run!r} is the beginning of {len(matching)} runs", f"write more of it: {', '.join(matching[-5:])}"
            )
        hint = f"the latest are: {', '.join(known[-5:])}" if known else "no run has been recorded there yet"
        raise UsageError(f"there is no run {run!r} in {self.name}", hint)

    def artifacts(self, run: str) -> Path:
        """The folder of a run's files (figures, load generator's logs), made if it is missing.

        Raises:
            StoreFailed: it cannot be made.
        """
        folder = self.folder / self.resolve(run)
        try:
            make_folder(folder)
        except OSError as error:
            raise StoreFailed(f"cannot make {folder}: {error.strerror or error}") from error
        return folder

    def _distinct(self, column: ColumnElement[str], *where: ColumnElement[bool]) -> list[str]:
        with self.reading() as session:
            return sorted(map(str, session.scalars(select(column).where(*where).distinct())))

    def _set_status(
        self, run_id: str, status: RunStatus, ended_at: str | None, found: Mapping[str, Any] | None = None
    ) -> None:
        with self.writing() as session:
            row = session.get(RunRow, run_id, with_for_update=True)
            if row is None:
                raise UsageError(f"there is no run {run_id!r} in {self.name}")
            row.status, row.ended_at = status, ended_at
            row.environment = {**row.environment, **(found or {})}
            session.execute(delete(DocumentRow).where(DocumentRow.run_id == run_id, DocumentRow.name == LIVE))

    @contextlib.contextmanager
    def reading(self) -> Iterator[Session]:
        """A session to look at the tables with; what fails in it names this store."""
        with named(self._database.explain), Session(self._database.reading) as session:
            yield session

    @contextlib.contextmanager
    def writing(self) -> Iterator[Session]:
        """A session and its transaction, which is kept as a whole or not at all."""
        with named(self._database.explain), Session(self._database.writing) as session, session.begin():
            yield session
