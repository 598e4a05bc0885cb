"""Stores of older versions: without this an update of Flightpath would lose what was measured before it.

Each change of the tables is a step in `migrations/versions`, which Alembic takes in order. A store says its version in
Alembic's own table; SQLite stores also in `user_version`, where those before version 3 have nothing else.
"""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, delete, insert

from results.store.schema import Base, VersionRow

_STEPS = Path(__file__).with_name("migrations")


def upgrade(connection: Connection, version: int, to: str = "head") -> None:
    """Takes the steps from a version to a later one, in the connection's transaction: all of them or none.

    Args:
        connection: to a store, in a transaction.
        version: what the store is; 0 for an empty database.
        to: what it becomes; this program's version by default.
    """
    config = Config()
    config.set_main_option("script_location", str(_STEPS))
    config.attributes["connection"] = connection
    if version:
        stamp(connection, version)
    command.upgrade(config, to)


def stamp(connection: Connection, version: int) -> None:
    """Writes a store's version where Alembic looks for it."""
    Base.metadata.create_all(connection, tables=[VersionRow.__table__])
    connection.execute(delete(VersionRow))
    connection.execute(insert(VersionRow).values(version_num=str(version)))
