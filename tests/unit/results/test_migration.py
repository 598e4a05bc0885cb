"""Stores of earlier versions, as those versions wrote them, are read as they are and kept when written to."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from flightpath.errors import UsageError
from results.__main__ import main
from results.exchange.export import export_runs
from results.records import ClaimVerdict, RunStatus
from results.store import sqlite
from results.store.schema import SCHEMA_VERSION
from results.store.sqlite import DATABASE_NAME, engine
from results.store.store import Store
from tests.support.earlier_stores import STORED, earlier, kept_rows


def versions(database: Path) -> tuple[int, list]:
    with closing(sqlite3.connect(database)) as connection:
        (own,) = connection.execute("PRAGMA user_version").fetchone()
        return own, connection.execute("SELECT version_num FROM alembic_version").fetchall()


def schema(database: Path) -> dict[str, str]:
    """The SQL of tables and indices, however they came about."""
    with closing(sqlite3.connect(database)) as connection:
        found = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        return {name: sql.replace('"', "") for name, sql in found}


@pytest.mark.parametrize("version", list(STORED))
def test_an_earlier_store_is_read_and_not_changed(tmp_path, version, capsys):
    database = earlier(version, tmp_path)
    before = database.read_bytes()
    scenario, count, verdicts = STORED[version]
    store = Store.open(tmp_path, create=False)
    record = store.run("latest")
    assert (record.scenario, record.status, len(store.cells("latest"))) == (scenario, RunStatus.DONE, count)
    assert sorted(store.cell_counts()[record.run_id]) == verdicts
    assert {each.times_s[:3] for cell in store.cells("latest") for each in cell.measurement.series.values()} == {
        (0, 1, 2)
    }
    assert store.document("latest", "x") is None and store.hosts(scenario) == []
    export_runs(store, [record.run_id])
    for words in (["list"], ["show", "latest"], ["compare", "latest", "latest"]):
        assert main([*words, "--results", str(tmp_path)]) == 0
    assert database.read_bytes() == before


@pytest.mark.parametrize("version", list(STORED))
def test_an_earlier_store_is_brought_up_to_date_and_keeps_everything(tmp_path, version, capsys):
    database = earlier(version, tmp_path / "old")
    before = kept_rows(engine(database, writable=False))
    store = Store.open(tmp_path / "old")
    assert not capsys.readouterr().err
    assert kept_rows(engine(database, writable=False)) == before
    assert versions(database) == (SCHEMA_VERSION, [(str(SCHEMA_VERSION),)])
    Store.open(tmp_path / "new")
    assert schema(database) == schema(tmp_path / "new" / DATABASE_NAME)
    store.keep_document("latest", "log", "text")
    assert store.document("latest", "log") == "text"
    assert store.claims("latest")[0].verdict in ClaimVerdict
    assert Store.open(tmp_path / "old").run("latest") == store.run("latest")


def test_an_upgrade_that_fails_leaves_the_store_as_it_was(tmp_path, monkeypatch):
    database = earlier(1, tmp_path)
    before = kept_rows(engine(database, writable=False)), schema(database)

    def broken(connection):
        upgrade(connection)
        raise OSError(28, "No space left on device")

    upgrade = sqlite.upgrade
    monkeypatch.setattr(sqlite, "upgrade", broken)
    with pytest.raises(UsageError, match="No space left"):
        Store.open(tmp_path)
    monkeypatch.undo()
    assert (kept_rows(engine(database, writable=False)), schema(database)) == before
    Store.open(tmp_path)
    assert kept_rows(engine(database, writable=False)) == before[0]
