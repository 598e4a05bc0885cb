"""The retentive memory: without it a killed run loses what it measured, and a figure cannot be made again tomorrow."""

import contextlib
import fcntl
import json
import math
import os
import secrets
import shlex
import sqlite3
import struct
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path, PurePath
from typing import Any

from sqlalchemy import Engine, NullPool, create_engine, delete, event, select
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.orm import Session

from flightpath.errors import FlightpathError, MeasurementFailed, UsageError
from results.ownership import give_to_caller, make_folder
from results.records import (
    Cell,
    CellResult,
    Certificate,
    Claim,
    ClaimVerdict,
    Measurement,
    Metric,
    ParameterValue,
    Series,
    Verdict,
)
from results.schema import APPLICATION_ID, SCHEMA_VERSION, Base, CellRow, ClaimRow, MetricRow, RunRow, SeriesRow

DEFAULT_FOLDER = Path("results/runs")
DATABASE_NAME = "flightpath.sqlite"
BUSY_TIMEOUT_S = 60.0
"""How long a writer waits for another one: far longer than any commit here takes, far shorter than a cell."""


class StoreFailed(FlightpathError):
    """The store could not be read or written: a full disk, another process that holds it, or damage."""


class RunStatus(StrEnum):
    """How a run ended. One that was killed never said so: it stays `running`."""

    RUNNING = "running"
    DONE = "done"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True)
class RunRecord:
    """One run as it stands in the store, without its cells.

    Attributes:
        run_id: for example `20261121-101500-mptcp_load-ab12`; the time is UTC.
        scenario: the scenario's name.
        plan: what was asked for (JSON values): parameters, seed, repeats, form (`quick` or `full`).
        command: the arguments that started it; repeats it when given to a shell again.
        environment: where it ran (JSON values): kernel, versions, host.
        started_at: when it began, UTC.
        ended_at: when it ended, UTC; None while it runs, and for ever if it was killed.
        status: how it ended.
    """

    run_id: str
    scenario: str
    plan: Mapping[str, Any]
    command: tuple[str, ...]
    environment: Mapping[str, Any]
    started_at: datetime
    ended_at: datetime | None
    status: RunStatus


class Store:
    """All runs of one folder: `FOLDER/flightpath.sqlite`, and `FOLDER/RUN_ID/` for the files of a run.

    Each call is a transaction of its own on a connection of its own: what a call wrote is on the disk when it
    returns, several processes may write at once, and a store may be used on both sides of a fork.
    """

    def __init__(self, folder: Path, engine: Engine) -> None:
        self.folder = folder
        self._reading = engine
        self._writing = engine.execution_options(writes=True)

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str] = DEFAULT_FOLDER,
        *,
        create: bool = True,
        notify: Callable[[str], None] | None = None,
    ) -> "Store":
        """Opens the store of a folder.

        Args:
            folder: where runs are kept.
            create: make what is missing, and move a damaged database aside. Without it only read: a missing or damaged
                store is an error, and nothing is changed.
            notify: told in a sentence when a damaged database was moved aside; prints on stderr by default.

        Raises:
            UsageError: the folder cannot be used, there is no store in it, or a newer Flightpath wrote it.
        """
        folder = Path(os.path.abspath(folder))  # noqa: PTH100 (a symbolic link in the path stays as the user wrote it)
        database = folder / DATABASE_NAME
        if create:
            _prepare(folder, database, notify or _say_on_stderr)
        else:
            _check_readable(database)
        return cls(folder, _engine(database, writable=create))

    def begin_run(
        self,
        scenario: str,
        plan: Mapping[str, Any],
        environment: Mapping[str, Any],
        command: Sequence[str] | str,
    ) -> str:
        """Records that a run begins, and returns its id.

        Args:
            scenario: the scenario's name.
            plan: what was asked for (JSON values), with `form` being `quick` or `full`.
            environment: kernel, versions, host (JSON values).
            command: the argument list that repeats the run, or the same as a shell line.
        """
        now = datetime.now(UTC)
        run_id = f"{now:%Y%m%d-%H%M%S}-{scenario}-{secrets.token_hex(2)}"
        argv = shlex.split(command) if isinstance(command, str) else list(command)
        with self._write() as session:
            session.add(
                RunRow(
                    run_id=run_id,
                    scenario=scenario,
                    plan=_plain(plan, "the plan"),
                    command=argv,
                    environment=_plain(environment, "the environment"),
                    started_at=now.isoformat(),
                    ended_at=None,
                    status=RunStatus.RUNNING,
                )
            )
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
        row = _cell_row(run_id, result, order, started_at)
        try:
            with self._write() as session:
                session.add(row)
        except IntegrityError as error:
            raise StoreFailed(
                f"cell {result.cell.label} cannot be added to run {run_id}: it is recorded already, or there is no "
                f"such run ({error.orig})"
            ) from error

    def finish_run(self, run_id: str, status: RunStatus | str) -> None:
        """Records how a run ended, and that it ended now."""
        self._set_status(run_id, RunStatus(status), ended_at=datetime.now(UTC).isoformat())

    def cells(self, run: str) -> list[CellResult]:
        """The measured cells of a run, in the order in which they were measured."""
        run_id = self.resolve(run)
        query = select(CellRow).where(CellRow.run_id == run_id).order_by(CellRow.order, CellRow.cell_id)
        with self._read() as session:
            return [_cell_result(row) for row in session.scalars(query)]

    def run(self, run: str) -> RunRecord:
        """One run by its id or an unambiguous beginning of it."""
        run_id = self.resolve(run)
        with self._read() as session:
            return _run_record(session.get_one(RunRow, run_id))

    def runs(self, scenario: str | None = None) -> list[RunRecord]:
        """All runs, or those of one scenario, oldest first."""
        query = select(RunRow).order_by(RunRow.started_at, RunRow.run_id)
        if scenario is not None:
            query = query.where(RunRow.scenario == scenario)
        with self._read() as session:
            return [_run_record(row) for row in session.scalars(query)]

    def latest(self, scenario: str | None = None) -> RunRecord | None:
        """The run that began last, of one scenario or of all; None if there is none."""
        return next(reversed(self.runs(scenario)), None)

    def record_claims(self, run_id: str, claims: Sequence[Claim]) -> None:
        """Keeps the claims derived from a run's cells, in place of those kept before."""
        run_id = self.resolve(run_id)
        rows = [
            ClaimRow(run_id=run_id, claim=c.claim, paper=c.paper, measured=c.measured, verdict=c.verdict, why=c.why)
            for c in claims
        ]
        with self._write() as session:
            session.execute(delete(ClaimRow).where(ClaimRow.run_id == run_id))
            session.add_all(rows)

    def claims(self, run: str) -> list[Claim]:
        """The claims as the scenario last derived them for a run."""
        run_id = self.resolve(run)
        query = select(ClaimRow).where(ClaimRow.run_id == run_id).order_by(ClaimRow.claim_id)
        with self._read() as session:
            return [
                Claim(row.claim, row.paper, row.measured, ClaimVerdict(row.verdict), row.why)
                for row in session.scalars(query)
            ]

    def cell_counts(self) -> dict[str, dict[Verdict, int]]:
        """How many cells of each verdict every run has, by run id; runs without cells are missing."""
        counts: dict[str, dict[Verdict, int]] = {}
        with self._read() as session:
            for run_id, verdict in session.execute(select(CellRow.run_id, CellRow.verdict)):
                of_run = counts.setdefault(run_id, {})
                of_run[Verdict(verdict)] = of_run.get(Verdict(verdict), 0) + 1
        return counts

    def resolve(self, run: str) -> str:
        """The full id of the run that an id, an unambiguous beginning of one, or the word `latest` names.

        Raises:
            UsageError: none, or several, are meant.
        """
        with self._read() as session:
            query = select(RunRow.run_id).order_by(RunRow.started_at, RunRow.run_id)
            known = list(session.scalars(query))
        if run == "latest" and known:
            return known[-1]
        if run in known:
            return run
        matching = [run_id for run_id in known if run and run_id.startswith(run)]
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise UsageError(
                f"{run!r} is the beginning of {len(matching)} runs", f"write more of it: {', '.join(matching[-5:])}"
            )
        hint = f"the latest are: {', '.join(known[-5:])}" if known else "no run has been recorded there yet"
        raise UsageError(f"there is no run {run!r} in {self.folder}", hint)

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

    def _set_status(self, run_id: str, status: RunStatus, ended_at: str | None) -> None:
        with self._write() as session:
            row = session.get(RunRow, run_id)
            if row is None:
                raise UsageError(f"there is no run {run_id!r} in {self.folder}")
            row.status, row.ended_at = status, ended_at

    @contextlib.contextmanager
    def _read(self) -> Iterator[Session]:
        with _named(self.folder), Session(self._reading) as session:
            yield session

    @contextlib.contextmanager
    def _write(self) -> Iterator[Session]:
        with _named(self.folder), Session(self._writing) as session, session.begin():
            yield session


# --- records to rows and back ---


def _cell_row(run_id: str, result: CellResult, order: int, started_at: datetime | None) -> CellRow:
    cell, measured, certificate = result.cell, result.measurement, result.certificate
    return CellRow(
        run_id=run_id,
        key=_key(cell.parameters),
        parameters=_plain(cell.parameters, f"a parameter of cell {cell.label}"),
        repetition=cell.repetition,
        order=order,
        started_at=started_at.isoformat() if started_at else None,
        ended_at=datetime.now(UTC).isoformat(),
        facts=_plain(measured.metadata, f"the metadata of cell {cell.label}"),
        verdict=certificate.verdict,
        reasons=list(certificate.reasons),
        found=_plain(certificate.found, f"the certificate of cell {cell.label}"),
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


def _cell_result(row: CellRow) -> CellResult:
    return CellResult(
        Cell(row.parameters, row.repetition),
        Measurement(
            {m.name: Metric(m.value, m.unit, m.low, m.high) for m in row.metrics},
            {s.name: Series(s.unit, _unpacked(s.times), _unpacked(s.values)) for s in row.series},
            row.facts,
        ),
        Certificate(Verdict(row.verdict), tuple(row.reasons), row.found),
    )


def _run_record(row: RunRow) -> RunRecord:
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


def _plain(values: Mapping[str, Any], what: str) -> dict[str, Any]:
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


# --- opening: what is there, and may it be used ---


def _engine(database: Path, *, writable: bool) -> Engine:
    uri = f"{database.as_uri()}?{_mode(database, writable=writable)}"
    # NullPool: no connection outlives a call, so none is carried over a fork, and the last one tidies the WAL away.
    engine = create_engine("sqlite://", creator=lambda: _connect(uri), poolclass=NullPool)

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        # A transaction that turns from reading to writing fails at once if another one wrote in between; one that
        # says so at its start waits instead.
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _mode(database: Path, *, writable: bool) -> str:
    if writable or (os.access(database, os.W_OK) and os.access(database.parent, os.W_OK)):
        return "mode=rw"
    # A WAL database in a folder one may not write to opens only as immutable, which is true while there is no log.
    return "mode=ro" if database.with_name(f"{database.name}-wal").exists() else "mode=ro&immutable=1"


def _connect(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def _prepare(folder: Path, database: Path, notify: Callable[[str], None]) -> None:
    try:
        make_folder(folder)
        with _only_one(folder):
            _set_aside_if_damaged(database, notify)
            _create_if_missing(database)
    except (OSError, sqlite3.OperationalError) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(
            f"results cannot be kept in {folder}: {said}", "choose a folder that you may write to with --results DIR"
        ) from error


@contextlib.contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """Lets one process at a time judge, move aside and create; also the proof that the folder can be written to."""
    path = folder / ".flightpath.lock"
    with path.open("a") as lock:
        give_to_caller(path)
        with contextlib.suppress(OSError):  # a shared folder without locks: the runs of one person seldom collide
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _check_readable(database: Path) -> None:
    if not database.is_file():
        raise UsageError(
            f"there is no store in {database.parent}", "run a scenario first, or say where its runs are: --results DIR"
        )
    try:
        damage = _damage(database, _mode(database, writable=False))
    except sqlite3.OperationalError as error:
        raise UsageError(f"{database} cannot be read: {error}") from error
    if damage:
        raise UsageError(f"{database} is damaged: {damage}", "nothing was changed; the next run will move it aside")


def _set_aside_if_damaged(database: Path, notify: Callable[[str], None]) -> None:
    if database.exists() and (damage := _damage(database, "mode=rw")):
        aside = _move_aside(database)
        notify(f"{database} is damaged ({damage}); moved aside to {aside}, a new store takes its place")


def _damage(database: Path, mode: str) -> str:
    """What is wrong with a database file, in words; empty if nothing is, or if nothing is in it yet.

    Raises:
        UsageError: it is sound, but not ours to write: a newer schema, or somebody else's.
        sqlite3.OperationalError: it cannot be opened or read at all; says nothing about damage.
    """
    if database.stat().st_size == 0:
        return ""
    try:
        with contextlib.closing(_connect(f"{database.as_uri()}?{mode}")) as connection:
            return _damage_found(connection, database)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        return str(error)


def _damage_found(connection: sqlite3.Connection, database: Path) -> str:
    (application,), (version,) = (
        connection.execute(f"PRAGMA {pragma}").fetchone() for pragma in ("application_id", "user_version")
    )
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables and application == 0:
        return ""
    if application != APPLICATION_ID:
        raise UsageError(
            f"{database} is a database of another program", "move it away, or choose another folder with --results DIR"
        )
    if version > SCHEMA_VERSION:
        raise UsageError(
            f"{database} was written by a newer Flightpath (schema {version}; this one knows {SCHEMA_VERSION})",
            "update this one, or choose another folder with --results DIR",
        )
    if missing := Base.metadata.tables.keys() - tables:
        return f"without the tables {', '.join(sorted(missing))}"
    said = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    return "" if said == "ok" else str(said)


def _move_aside(database: Path) -> Path:
    stem = f"{database.stem}.damaged-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    aside = database.with_name(f"{stem}{database.suffix}")
    number = 1
    while aside.exists():
        number += 1
        aside = database.with_name(f"{stem}-{number}{database.suffix}")
    for tail in ("-wal", "-shm", ""):  # the log goes along: sqlite3's .recover reads both
        with contextlib.suppress(FileNotFoundError):
            database.with_name(database.name + tail).rename(aside.with_name(aside.name + tail))
    return aside


def _create_if_missing(database: Path) -> None:
    if database.exists() and database.stat().st_size > 0 and _has_tables(database):
        return
    was_there = database.exists()
    try:
        with contextlib.closing(_connect(f"{database.as_uri()}?mode=rwc")) as connection:
            give_to_caller(database)
            with contextlib.suppress(sqlite3.OperationalError):
                # Shared folders of virtual machines cannot map memory; the default journal is as safe, and slower.
                connection.execute("PRAGMA journal_mode = WAL")
        _create_tables(database)
    except sqlite3.Error:
        if not was_there:
            database.unlink(missing_ok=True)
        raise


def _has_tables(database: Path) -> bool:
    with contextlib.closing(_connect(f"{database.as_uri()}?mode=rw")) as connection:
        return connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] > 0


def _create_tables(database: Path) -> None:
    engine = _engine(database, writable=True).execution_options(writes=True)
    with _named(database.parent), engine.begin() as connection:
        Base.metadata.create_all(connection)
        connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.exec_driver_sql(f"PRAGMA user_version = {SCHEMA_VERSION}")


@contextlib.contextmanager
def _named(folder: Path) -> Iterator[None]:
    """Turns a database error into one that names the store and says what to do; a broken rule stays what it is."""
    try:
        yield
    except IntegrityError:
        raise
    except DBAPIError as error:
        said = str(error.orig)
        hint = f"another process has held it for {BUSY_TIMEOUT_S:g} s; try again when it is done"
        raise StoreFailed(f"the store in {folder} failed: {said}", hint if "locked" in said else "") from error


def _say_on_stderr(sentence: str) -> None:
    print(f"warning: {sentence}", file=sys.stderr)
