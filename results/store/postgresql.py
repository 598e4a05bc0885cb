"""A store's database on a PostgreSQL server, which several machines can share."""

from functools import partial

from sqlalchemy import URL, Connection, create_engine, inspect, select, text
from sqlalchemy.exc import DBAPIError, OperationalError

from flightpath.errors import MissingCapability, UsageError
from results.store.backend import Backend, NoStore, StoreFailed, check_version, upgrade
from results.store.location import shown
from results.store.schema import APPLICATION_ID, SCHEMA_VERSION, Base, VersionRow

_CONNECT_TIMEOUT_S = 10
_SILENCE_S = 30
"""Idle time before TCP keepalives, so that routers keep the connection until the next cell, maybe half an hour later.
Also the TCP user timeout: a server that acknowledges nothing for this long is lost."""

_HINT = (
    "is the server running, does it know this user and database, and does its pg_hba.conf admit this machine? "
    "The password is read from ~/.pgpass or PGPASSWORD"
)


def open_server(url: URL, *, create: bool) -> Backend:
    """Opens a store's database on a server.

    It keeps one connection: a run moves into a network namespace of its own, where it can make no new one.

    Raises:
        MissingCapability: the server cannot be reached, or refuses the connection.
        UsageError: the database has no store, tables of another program, or the store of a newer Flightpath.
    """
    name = shown(url)
    engine = create_engine(
        url,
        pool_size=1,
        max_overflow=-1,
        pool_pre_ping=True,
        connect_args={
            "connect_timeout": _CONNECT_TIMEOUT_S,
            "application_name": "flightpath",
            "keepalives_idle": _SILENCE_S,
            "tcp_user_timeout": _SILENCE_S * 1000,
        },
    )
    reading = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    try:
        with (engine if create else reading).begin() as connection:
            _prepare(connection, name, create=create)
    except DBAPIError as error:
        raise MissingCapability(f"the store at {name} cannot be used: {_message(error)}", _HINT) from error
    return Backend(name, reading, engine, partial(_explain, name))


def _prepare(connection: Connection, name: str, *, create: bool) -> None:
    if create:  # one process at a time: the next one finds the tables
        connection.execute(text(f"SELECT pg_advisory_xact_lock({APPLICATION_ID})"))
    version = _version(connection, name)
    check_version(version, name)
    if create and version < SCHEMA_VERSION:
        upgrade(connection)
    elif version == 0:
        raise NoStore(f"there is no store in {name}", "run a scenario with this --store first")


def _version(connection: Connection, name: str) -> int:
    """Returns the version of the store in a database; 0 if there is none, and no table with one of our names."""
    ours = Base.metadata.tables.keys() & set(inspect(connection).get_table_names())
    if not ours:
        return 0
    versions = list(connection.scalars(select(VersionRow.version_num))) if VersionRow.__tablename__ in ours else []
    if len(versions) != 1 or not versions[0].isdecimal() or "runs" not in ours:
        raise UsageError(
            f"{name} holds tables of another program: {', '.join(sorted(ours))}", "create a database for Flightpath"
        )
    return int(versions[0])


def _explain(name: str, error: Exception) -> StoreFailed:
    if not isinstance(error, DBAPIError):
        return StoreFailed(f"the store at {name} holds data that Flightpath cannot have written: {error}")
    is_lost = isinstance(error, OperationalError)
    hint = "everything that the server confirmed is stored: continue when it is back" if is_lost else ""
    return StoreFailed(f"the store at {name} failed: {_message(error)}", hint)


def _message(error: DBAPIError) -> str:
    """Returns the server's message as one line; libpq repeats it for each address that it tried."""
    return " ".join(dict.fromkeys(line.strip() for line in str(error.orig).splitlines()))
