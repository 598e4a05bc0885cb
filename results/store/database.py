"""The database file of a store in a folder: without this module damage would be found by losing what was measured."""

import contextlib
import fcntl
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, NullPool, create_engine, event, insert
from sqlalchemy.exc import DBAPIError

from flightpath.errors import UsageError
from results.store.opened import NoStore, Opened, StoreFailed, named, refuse_newer
from results.store.ownership import give_to_caller, make_folder
from results.store.schema import APPLICATION_ID, SCHEMA_VERSION, Base, VersionRow

DATABASE_NAME = "flightpath.sqlite"
BUSY_TIMEOUT_S = 60.0
"""How long a writer waits for another one: far longer than any commit here takes, far shorter than a cell."""

READ_WHOLE_BYTES = 16 * 2**20
"""A reader checks every page of a database up to this size, in some 20 ms; of a larger one, what it reads. A writer
always checks all of it: what it is about to add took longer to measure."""

_DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def open_file(folder: Path, *, create: bool, notify: Callable[[str], None]) -> Opened:
    """The database of a store in a folder.

    Args:
        folder: where it is.
        create: make what is missing, and move a damaged one aside. Without it only read: a missing or damaged one is an
            error, and nothing is changed.
        notify: told in a sentence when a damaged one was moved aside.

    Raises:
        UsageError: the folder cannot be used, there is no store in it, or a newer Flightpath wrote it.
    """
    file = folder / DATABASE_NAME
    if create:
        prepare(folder, file, notify)
    else:
        check_readable(file)
    reading = engine(file, writable=create)
    return Opened(str(folder), reading, reading.execution_options(writes=True), partial(_explained, file))


def engine(database: Path, *, writable: bool) -> Engine:
    """What SQLAlchemy needs to use a database; it must be there already."""
    uri = f"{database.as_uri()}?{_mode(database, writable=writable)}"
    # NullPool: no connection outlives a call, so none is carried over a fork, and the last one tidies the WAL away.
    made = create_engine("sqlite://", creator=lambda: _connect(uri), poolclass=NullPool)

    @event.listens_for(made, "begin")
    def _begin(connection: Any) -> None:
        # A transaction that turns from reading to writing fails at once if another one wrote in between; one that
        # says so at its start waits instead.
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return made


def prepare(folder: Path, database: Path, notify: Callable[[str], None]) -> None:
    """Makes a database ready to be written: moves a damaged one aside, creates what is missing.

    Raises:
        UsageError: the folder cannot be used, or the database is somebody else's or a newer Flightpath's.
    """
    try:
        make_folder(folder)
        with _only_one(folder):
            _set_aside_if_damaged(database, notify)
            _create_if_missing(database)
            _bring_up_to_date(database)
    except (OSError, sqlite3.OperationalError) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(
            f"results cannot be kept in {folder}: {said}", "choose a folder that you may write to with --results DIR"
        ) from error


def check_readable(database: Path) -> None:
    """Makes sure that a database is there and sound, and changes nothing.

    Raises:
        UsageError: there is none, it is damaged, or it is somebody else's or a newer Flightpath's.
    """
    if not database.is_file():
        raise NoStore(
            f"there is no store in {database.parent}", "run a scenario first, or say where its runs are: --results DIR"
        )
    try:
        whole = database.stat().st_size <= READ_WHOLE_BYTES
        damage = _damage(database, _mode(database, writable=False), whole=whole)
    except sqlite3.OperationalError as error:
        raise UsageError(f"{database} cannot be read: {error}") from error
    if damage:
        raise UsageError(f"{database} is damaged: {damage}", "nothing was changed; the next run will move it aside")


def say_on_stderr(sentence: str) -> None:
    """Tells whoever ran the command."""
    print(f"warning: {sentence}", file=sys.stderr)


# --- opening ---


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


@contextlib.contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """Lets one process at a time judge, move aside and create; also the proof that the folder can be written to."""
    path = folder / ".flightpath.lock"
    with path.open("a") as lock:
        give_to_caller(path)
        with contextlib.suppress(OSError):  # a shared folder without locks: the runs of one person seldom collide
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


# --- damage ---


def _set_aside_if_damaged(database: Path, notify: Callable[[str], None]) -> None:
    if database.exists() and (damage := _damage(database, "mode=rw", whole=True)):
        aside = _move_aside(database)
        notify(f"{database} is damaged ({damage}); moved aside to {aside}, a new store takes its place")


def _damage(database: Path, mode: str, *, whole: bool) -> str:
    """What is wrong with a database file, in words; empty if nothing is, or if nothing is in it yet.

    Args:
        database: the file.
        mode: how to open it, as SQLite's URIs say it.
        whole: look at every page, and not only at the header, the file's length and the tables' names.

    Raises:
        UsageError: it is sound, but not ours to write: a newer schema, or somebody else's.
        sqlite3.OperationalError: it cannot be opened or read at all; says nothing about damage.
    """
    if database.stat().st_size == 0:
        return ""
    try:
        with contextlib.closing(_connect(f"{database.as_uri()}?{mode}")) as connection:
            return _damage_found(connection, database, whole=whole)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        return str(error)


def _damage_found(connection: sqlite3.Connection, database: Path, *, whole: bool) -> str:
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
    refuse_newer(version, database)
    expected = {name for name, table in Base.metadata.tables.items() if table.info.get("since", 1) <= version}
    if missing := expected - tables:
        return f"without the tables {', '.join(sorted(missing))}"
    said = connection.execute("PRAGMA quick_check(1)").fetchone()[0] if whole else "ok"
    return "" if said == "ok" else str(said).splitlines()[-1]  # a heading comes first


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


def _explained(database: Path, error: Exception) -> StoreFailed:
    if not isinstance(error, DBAPIError) or _means_damage(error.orig):  # or pages in order, with noise in them
        said = error.orig if isinstance(error, DBAPIError) else error
        return StoreFailed(
            f"{database} is damaged: {said}", "nothing was changed; the next run checks all of it and moves it aside"
        )
    hint = f"another process has held it for {BUSY_TIMEOUT_S:g} s; try again when it is done"
    locked = "locked" in str(error.orig)
    return StoreFailed(f"the store in {database.parent} failed: {error.orig}", hint if locked else "")


def _means_damage(error: object) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _DAMAGE_CODES  # the low byte: SQLite has finer codes above it


# --- creating ---


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
    writing = engine(database, writable=True).execution_options(writes=True)
    with named(partial(_explained, database)), writing.begin() as connection:
        Base.metadata.create_all(connection)
        connection.execute(insert(VersionRow).values(version_num=str(SCHEMA_VERSION)))
        connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.exec_driver_sql(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _bring_up_to_date(database: Path) -> None:
    """Takes a store that an older Flightpath made through the changes since then; what was measured stays."""
    with contextlib.closing(_connect(f"{database.as_uri()}?mode=rw")) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == SCHEMA_VERSION:
        return
    from results.store import migration  # Alembic takes a third of a second to load, and is seldom needed

    writing = engine(database, writable=True).execution_options(writes=True)
    with named(partial(_explained, database)), writing.begin() as connection:
        migration.upgrade(connection, version)
        connection.exec_driver_sql(f"PRAGMA user_version = {SCHEMA_VERSION}")
