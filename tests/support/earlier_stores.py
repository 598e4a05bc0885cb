"""Stores as earlier versions of Flightpath wrote them."""

import gzip
from pathlib import Path

from sqlalchemy import Connection, Engine, Row

from flightpath.project import PROJECT
from results.records import Verdict
from results.store.schema import Base, VersionRow
from results.store.sqlite import DATABASE_NAME

DATA = PROJECT / "tests" / "data"
STORED = {
    1: ("mptcp_load", 3, [Verdict.FAITHFUL, Verdict.UNUSABLE]),
    2: ("mptcp_load", 4, [Verdict.FAITHFUL]),
    3: ("mptcp_load", 4, [Verdict.FAITHFUL]),
}
"""By version: scenario, cells, and verdicts of the one run that a store of it holds (a real measurement since 2)."""

_ADDED = {2: ("ix_runs_host_started_at",), 3: ("ix_cells_run_id_verdict", "ix_runs_started_at")}
"""Indices by the version that added them; tables say so in their `info`."""


def earlier(version: int, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    database = folder / DATABASE_NAME
    database.write_bytes(gzip.decompress((DATA / f"store_v{version}.sqlite.gz").read_bytes()))
    return database


def make_tables(connection: Connection, version: int) -> None:
    """Makes the tables of an earlier version on a server, where every version had Alembic's."""
    Base.metadata.create_all(connection)
    for added, names in _ADDED.items():
        for name in names if added > version else ():
            connection.exec_driver_sql(f"DROP INDEX {name}")
    for table in Base.metadata.tables.values():
        if table.info.get("since", 1) > version and table.name != VersionRow.__tablename__:
            table.drop(connection)
    connection.execute(VersionRow.__table__.insert().values(version_num=str(version)))


def kept_rows(engine: Engine) -> dict[str, list[Row]]:
    """The rows of the tables that every version has."""
    with engine.connect() as connection:
        tables = [table for table in Base.metadata.sorted_tables if "since" not in table.info]
        return {table.name: connection.execute(table.select().order_by(*table.primary_key)).all() for table in tables}
