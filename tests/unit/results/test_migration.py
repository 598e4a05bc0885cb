"""Stores of earlier versions, as those versions wrote them, are read as they are and kept when written to."""

import pytest
from sqlalchemy import Engine, Row, create_engine, insert, select

from flightpath.errors import UsageError
from results.exchange.export import export_runs
from results.records import ClaimVerdict, RunStatus
from results.store import sqlite
from results.store.lab_checks import has_checks, lab_checks
from results.store.location import StoreLocation
from results.store.schema import SCHEMA_VERSION, Base, VersionRow
from results.store.sqlite import DATABASE_NAME
from results.store.store import Store
from tests.support.earlier_stores import STORED, earlier, kept_rows, make_tables

SCHEMA = {
    "sqlite": ["SELECT name, replace(sql, '\"', '') FROM sqlite_master WHERE sql IS NOT NULL"],
    "postgresql": [
        "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns"
        " WHERE table_schema = 'public'",
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'",
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace",
    ],
}


def database(location: StoreLocation) -> Engine:
    if location.server:
        return create_engine(location.server)
    return sqlite.engine(location.folder / DATABASE_NAME, writable=False)


def schema(location: StoreLocation) -> list[list[tuple]]:
    """Tables and indices, however they came about."""
    with database(location).connect() as connection:
        questions = SCHEMA[connection.dialect.name]
        return [sorted(map(tuple, connection.exec_driver_sql(question))) for question in questions]


def made_by(version: int, location: StoreLocation) -> dict[str, list[Row]]:
    """Makes a store as that version had it, with what the stored file of that version holds; returns its rows."""
    rows = kept_rows(sqlite.engine(earlier(version, location.folder), writable=False))
    if location.server:
        with database(location).begin() as connection:
            make_tables(connection, version)
            for name, of_table in rows.items():
                if of_table:
                    connection.execute(insert(Base.metadata.tables[name]), [dict(row._mapping) for row in of_table])
    return rows


@pytest.mark.parametrize("version", list(STORED))
def test_an_earlier_store_is_read_and_not_changed(location, version, told):
    rows, tables = made_by(version, location), schema(location)
    file = (location.folder / DATABASE_NAME).read_bytes()
    scenario, count, verdicts = STORED[version]
    store = Store.open(location, create=False)
    record = store.run("latest")
    assert (record.scenario, record.status, len(store.cells("latest"))) == (scenario, RunStatus.DONE, count)
    assert sorted(store.cell_counts()[record.run_id]) == verdicts
    begins = {each.times_s[:3] for cell in store.cells("latest") for each in cell.measurement.series.values()}
    assert begins == {(0, 1, 2)}
    assert store.document("latest", "x") is None and store.hosts(scenario) == []
    assert lab_checks(store) == [] and not has_checks(store)
    export_runs(store, [record.run_id])
    for words in (["list"], ["show", "latest"], ["compare", "latest", "latest"]):
        told(location, *words)
    assert (kept_rows(database(location)), schema(location)) == (rows, tables)
    assert (location.folder / DATABASE_NAME).read_bytes() == file


@pytest.mark.parametrize("version", list(STORED))
def test_an_earlier_store_is_brought_up_to_date_and_keeps_everything(new_location, version, capsys):
    old, new = new_location("old"), new_location("new")
    before = made_by(version, old)
    store = Store.open(old)
    assert not capsys.readouterr().err
    assert kept_rows(database(old)) == before
    Store.open(new)
    assert schema(old) == schema(new)
    with database(old).connect() as connection:
        assert connection.scalars(select(VersionRow.version_num)).all() == [str(SCHEMA_VERSION)]
        if not old.server:
            assert connection.exec_driver_sql("PRAGMA user_version").scalar() == SCHEMA_VERSION
    store.keep_document("latest", "log", "text")
    assert store.document("latest", "log") == "text"
    assert store.claims("latest")[0].verdict in ClaimVerdict
    assert Store.open(old).run("latest") == store.run("latest")


def test_an_upgrade_that_fails_leaves_the_store_as_it_was(tmp_path, monkeypatch):
    location = StoreLocation(tmp_path)
    before, tables = made_by(1, location), schema(location)

    def broken(connection):
        upgrade(connection)
        raise OSError(28, "No space left on device")

    upgrade = sqlite.upgrade
    monkeypatch.setattr(sqlite, "upgrade", broken)
    with pytest.raises(UsageError, match="No space left"):
        Store.open(location)
    monkeypatch.undo()
    assert (kept_rows(database(location)), schema(location)) == (before, tables)
    Store.open(location)
    assert kept_rows(database(location)) == before
