"""A store's database in a folder: an SQLite file, created if missing and checked for damage."""

import contextlib
import fcntl
import itertools
import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, NullPool, create_engine, event
from sqlalchemy.exc import DBAPIError

from flightpath.errors import UsageError
from results.store.backend import Backend, NoStore, StoreFailed, check_version, translated_errors, upgrade
from results.store.ownership import give_to_caller, make_folder
from results.store.schema import APPLICATION_ID, SCHEMA_VERSION, Base

DATABASE_NAME = "flightpath.sqlite"
BUSY_TIMEOUT_S = 60.0
"""Timeout of a writer that waits for another: far longer than any commit, and far shorter than a cell."""

READ_WHOLE_BYTES = 16 * 2**20
"""Maximum size of a database of which a reader checks every page, in some 20 ms. A writer always checks all pages: its
cells took longer to measure."""

_NEEDED_BYTES = 2**17
_FULL_HINT = "free some space there, or choose a folder on another disk with --results DIR"

_DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def open_file(folder: Path, *, create: bool) -> Backend:
    """Opens a store's database in a folder; `create` is that of `Store.open`."""
    file = folder / DATABASE_NAME
    if create:
        _prepare(folder, file)
    else:
        _check_readable(file)
    reading = engine(file, writable=create)
    return Backend(str(folder), reading, reading.execution_options(writes=True), partial(_explain, file))


def engine(database: Path, *, writable: bool) -> Engine:
    uri = f"{database.as_uri()}?{_mode(database, writable=writable)}"
    # NullPool: no connection outlives a call, so that a fork inherits none, and the last one removes the log (WAL).
    created = create_engine(
        "sqlite://", creator=lambda: _connect(uri), poolclass=NullPool, json_deserializer=_json_or_nothing
    )

    @event.listens_for(created, "begin")
    def _begin(connection: Any) -> None:
        # A transaction that reads before it writes fails at once if another one wrote in between; BEGIN IMMEDIATE makes
        # it wait for its turn instead.
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return created


def _json_or_nothing(text: Any) -> Any:
    """Parses a JSON column; returns None for invalid JSON of another program, which must not hide the other rows."""
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None


# --- opening ---


def _prepare(folder: Path, database: Path) -> None:
    try:
        make_folder(folder)
        with _locked(folder):
            if database.exists() and (damage := _damage(database, "mode=rw", whole=True)):
                aside = _move_aside(database)
                consequence = f"it was moved aside to {aside}, and a new store was created"
                print(f"warning: {database} is damaged ({damage}); {consequence}", file=sys.stderr)
            _create_or_upgrade(database)
    except (OSError, sqlite3.OperationalError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        if _is_full(folder):
            raise UsageError(f"results cannot be kept in {folder}: its disk is full", _FULL_HINT) from error
        raise UsageError(
            f"results cannot be kept in {folder}: {reason}", "choose a folder that you may write to with --results DIR"
        ) from error


def _check_readable(database: Path) -> None:
    if not database.is_file():
        raise NoStore(
            f"there is no store in {database.parent}", "run a scenario first, or name its folder with --results DIR"
        )
    try:
        is_small = database.stat().st_size <= READ_WHOLE_BYTES
        damage = _damage(database, _mode(database, writable=False), whole=is_small)
    except sqlite3.OperationalError as error:
        full = _is_full(database.parent)
        problem = "its disk is full, and SQLite needs a little room to read" if full else error
        raise UsageError(f"{database} cannot be read: {problem}", _FULL_HINT if full else "") from error
    if damage:
        raise UsageError(f"{database} is damaged: {damage}", "nothing was changed; the next run will move it aside")


def _is_full(folder: Path) -> bool:
    """Returns whether there is too little room for SQLite, which calls that `disk I/O error` in some places."""
    with contextlib.suppress(OSError):
        return shutil.disk_usage(folder).free < _NEEDED_BYTES
    return False


def _mode(database: Path, *, writable: bool) -> str:
    if writable or (os.access(database, os.W_OK) and os.access(database.parent, os.W_OK)):
        return "mode=rw"
    # In a folder without write permission a database in WAL mode opens only as immutable: true while it has no log.
    return "mode=ro" if database.with_name(f"{database.name}-wal").exists() else "mode=ro&immutable=1"


def _connect(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None)
    # Invalid UTF-8 of another program must not hide the other rows.
    connection.text_factory = lambda content: content.decode(errors="replace")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Locks a folder for one process at a time; fails if it is not writable."""
    path = folder / ".flightpath.lock"
    with path.open("a") as lock:
        give_to_caller(path)
        with contextlib.suppress(OSError):  # a shared folder without locks: runs of one person rarely collide
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


# --- damage ---


def _damage(database: Path, mode: str, *, whole: bool) -> str:
    """Returns the damage of a database file, opened with parameters of SQLite's URI; empty if it is sound.

    Checks every page if `whole`, otherwise only header, length and names of tables.
    """
    if database.stat().st_size == 0:
        return ""
    try:
        with contextlib.closing(_connect(f"{database.as_uri()}?{mode}")) as connection:
            return _damage_in(connection, database, whole=whole)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        return str(error)


def _damage_in(connection: sqlite3.Connection, database: Path, *, whole: bool) -> str:
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
    check_version(version, database)
    expected = {name for name, table in Base.metadata.tables.items() if table.info.get("since", 1) <= version}
    if missing := expected - tables:
        return f"missing tables: {', '.join(sorted(missing))}"
    answer = connection.execute("PRAGMA quick_check(1)").fetchone()[0] if whole else "ok"
    return "" if answer == "ok" else str(answer).splitlines()[-1]  # the first line is a heading


def _move_aside(database: Path) -> Path:
    stem = f"{database.stem}.damaged-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    names = itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
    paths = (database.with_name(f"{name}{database.suffix}") for name in names)
    aside = next(path for path in paths if not path.exists())
    for suffix in ("-wal", "-shm", ""):  # the log as well: sqlite3's .recover reads both
        with contextlib.suppress(FileNotFoundError):
            database.with_name(database.name + suffix).rename(aside.with_name(aside.name + suffix))
    return aside


def _explain(database: Path, error: Exception) -> StoreFailed:
    reason = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(reason, "sqlite_errorcode", 0) & 0xFF  # the other bytes refine it
    if code in _DAMAGE_CODES or reason is error:  # not SQLite's error: sound pages with invalid contents
        return StoreFailed(
            f"{database} is damaged: {reason}", "nothing was changed; the next run checks all of it and moves it aside"
        )
    if _is_full(database.parent):
        return StoreFailed(f"the store in {database.parent} failed: its disk is full", _FULL_HINT)
    hint = f"another process has locked it for {BUSY_TIMEOUT_S:g} s; try again when that has finished"
    return StoreFailed(f"the store in {database.parent} failed: {reason}", hint if "locked" in str(reason) else "")


# --- creating and migrating ---


def _create_or_upgrade(database: Path) -> None:
    existed = database.exists()
    try:
        with contextlib.closing(_connect(f"{database.as_uri()}?mode=rwc")) as connection:
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone() if tables else (0,)
            if not tables:
                give_to_caller(database)
                with contextlib.suppress(sqlite3.OperationalError):
                    # Shared folders of virtual machines cannot map memory; the default journal is as safe, but slower.
                    connection.execute("PRAGMA journal_mode = WAL")
        if version < SCHEMA_VERSION:
            writing = engine(database, writable=True).execution_options(writes=True)
            with translated_errors(partial(_explain, database)), writing.begin() as connection:
                upgrade(connection)
                connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.exec_driver_sql(f"PRAGMA user_version = {SCHEMA_VERSION}")
    except Exception:
        if not existed:
            database.unlink(missing_ok=True)
        raise
