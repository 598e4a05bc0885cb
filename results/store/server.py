"""A store on a PostgreSQL server: without it each machine of a class would have its results for itself."""

from functools import partial

from sqlalchemy import URL, Connection, create_engine, inspect, select, text
from sqlalchemy.exc import DBAPIError, OperationalError

from flightpath.errors import MissingCapability, UsageError
from results.store.opened import NoStore, Opened, StoreFailed, refuse_newer
from results.store.schema import APPLICATION_ID, SCHEMA_VERSION, Base, VersionRow

_CONNECT_TIMEOUT_S = 10
_SILENCE_S = 30
"""After so long without a word TCP asks whether the server is still there, so that a router between keeps the
connection (the next cell may be half an hour away); a server that takes nothing for so long is lost."""

_HINT = (
    "does the server run, does it know this user and database, does its pg_hba.conf let this machine in? "
    "A password is taken from ~/.pgpass or PGPASSWORD"
)


def open_server(url: URL, *, create: bool) -> Opened:
    """The database of a store on a server.

    One connection is kept: a run moves into a network namespace of its own, from which no new one can be made.

    Args:
        url: of the database, which must be there.
        create: make the tables that are missing. Without it only read: no store is an error, and nothing is changed.

    Raises:
        MissingCapability: the server cannot be reached, or refuses.
        UsageError: the database holds no store, something else, or a newer Flightpath's store.
    """
    name = url.set(drivername="postgresql").render_as_string()  # with *** for a password
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
        raise MissingCapability(f"the store at {name} cannot be used: {_said(error)}", _HINT) from error
    return Opened(name, reading, engine, partial(_explained, name))


def _prepare(connection: Connection, name: str, *, create: bool) -> None:
    if create:  # one at a time: the others find the tables when it is their turn
        connection.execute(text(f"SELECT pg_advisory_xact_lock({APPLICATION_ID})"))
    version = _version(connection, name)
    refuse_newer(version, name)
    if create and version < SCHEMA_VERSION:
        from results.store import migration  # Alembic takes a third of a second to load, and is seldom needed

        migration.upgrade(connection, version)
    elif version == 0:
        raise NoStore(f"there is no store in {name}", "run a scenario with this --store first")


def _version(connection: Connection, name: str) -> int:
    """The version of the store in a database; 0 if there is none, nor anything that would be in its way.

    Raises:
        UsageError: it has tables of these names, but they are no store's.
    """
    ours = Base.metadata.tables.keys() & set(inspect(connection).get_table_names())
    if not ours:
        return 0
    versions = list(connection.scalars(select(VersionRow.version_num))) if VersionRow.__tablename__ in ours else []
    if len(versions) != 1 or not versions[0].isdecimal() or "runs" not in ours:
        raise UsageError(
            f"{name} holds tables of another program: {', '.join(sorted(ours))}", "make a database for Flightpath alone"
        )
    return int(versions[0])


def _explained(name: str, error: Exception) -> StoreFailed:
    if not isinstance(error, DBAPIError):
        return StoreFailed(f"the store at {name} holds what no Flightpath wrote: {error}")
    hint = "what the server had confirmed is there: go on when it is back"
    lost = isinstance(error, OperationalError)
    return StoreFailed(f"the store at {name} failed: {_said(error)}", hint if lost else "")


def _said(error: DBAPIError) -> str:
    """The server's words in one line; libpq repeats them for each address that it tried."""
    return " ".join(dict.fromkeys(line.strip() for line in str(error.orig).splitlines()))
