"""Creation of a store's tables, and migration of those of earlier versions.

Each change of the tables is a step in `migrations/versions`, which Alembic runs in order. A store keeps its version in
Alembic's table, and an SQLite store also in `user_version`: before version 3 it has no other.
"""

from pathlib import Path

from sqlalchemy import Connection, delete, insert

from results.store.schema import SCHEMA_VERSION, Base, VersionRow

_STEPS = Path(__file__).with_name("migrations")
_FIRST_STEP = 3
"""First version that Alembic knows; its step migrates all earlier ones."""


def upgrade(connection: Connection, version: int) -> None:
    """Migrates a store's tables to this program's version, atomically, in the connection's transaction.

    Version 0 is an empty database, in which it creates the tables.
    """
    if version == 0:
        Base.metadata.create_all(connection)
        connection.execute(insert(VersionRow).values(version_num=str(SCHEMA_VERSION)))
        return
    from alembic import command  # loads in a third of a second, and is rarely needed
    from alembic.config import Config

    if version < _FIRST_STEP:
        Base.metadata.create_all(connection, tables=[Base.metadata.tables[VersionRow.__tablename__]])
        connection.execute(delete(VersionRow))
    config = Config()
    config.set_main_option("script_location", str(_STEPS))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
