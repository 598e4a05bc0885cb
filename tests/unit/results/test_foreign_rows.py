"""Rows of a run that another program has written, with values of other types: that run is refused, and named."""

import contextlib
import json
import platform
import sqlite3

import pytest
from sqlalchemy import update

from flightpath.errors import FlightpathError
from results.exchange.export import export_runs
from results.records import Claim, ClaimVerdict, Verdict
from results.store.query import RunQuery
from results.store.rows import UnreadableRun
from results.store.schema import CellRow, RunRow
from results.store.sqlite import DATABASE_NAME
from results.store.store import Store
from tests.support.made_up_runs import cell
from tests.support.stored_runs import begin


@pytest.fixture
def store(tmp_path) -> Store:
    """With two runs of the same kind."""
    store = Store.open(tmp_path)
    for _ in range(2):
        run_id = store.begin_run("s", {}, {"host": "lab1"}, ["x"])
        store.record(run_id, cell("tcp", 500.0), 0)
        store.record_claims(run_id, [Claim("c", "p", "m", ClaimVerdict.REPRODUCED)])
        store.keep_document(run_id, "d", "text")
    return store


def spoil(store: Store, table: str, column: str, value: object) -> list[str]:
    """Writes a value into the first row of a table; returns the run that has it, and the other."""
    with contextlib.closing(sqlite3.connect(store.folder / DATABASE_NAME)) as connection, connection:
        connection.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = 1', [value])
        return [run_id for (run_id,) in connection.execute("SELECT run_id FROM runs ORDER BY rowid")]


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("runs", "scenario", b"\xff"),
        ("runs", "environment", "{"),
        ("runs", "command", "7"),
        ("cells", "parameters", "{"),
        ("cells", "parameters", json.dumps({"load": [1]})),
        ("cells", "reasons", "7"),
        ("cells", "found", "[]"),
        ("cells", "repetition", "first"),
        ("metrics", "value", "fast"),
        ("metrics", "value", float("inf")),
        ("metrics", "unit", b"s"),
        ("series", "times", "1,2"),
        ("series", "values", bytes.fromhex("789c4b4c4a0600024d0127")),
        ("claims", "verdict", "maybe"),
        ("claims", "why", b"\xff"),
        ("documents", "content", "no bytes"),
    ],
)
def test_a_run_with_a_value_of_another_type_is_refused_and_the_others_are_read(store, table, column, value):
    bad, good = spoil(store, table, column, value)
    with pytest.raises(FlightpathError):
        export_runs(store, [bad])
    export_runs(store, [good])
    assert good in [record.run_id for record in store.runs()]
    for read in (store.run, store.cells, store.claims):
        with contextlib.suppress(FlightpathError):
            read(bad)
    assert good in [past.record.run_id for past in store.history(RunQuery("s"), ("run_time",))]


@pytest.mark.parametrize("host", [json.dumps("\ud800"), "7", "[]"])
def test_a_machine_without_a_proper_name_is_listed_with_the_others(store, host):
    _bad, good = spoil(store, "runs", "environment", f'{{"host": {host}}}')
    assert "lab1" in store.machines()
    assert good in [record.run_id for record in store.find(RunQuery(machine="lab1"))]


@pytest.mark.parametrize(
    ("column", "value"),
    [("started_at", "yesterday"), ("ended_at", "0001-01-01T00:00:00+14:00"), ("status", "dancing"), ("plan", [1])],
)
def test_a_run_that_cannot_be_read_is_left_out_of_lists_and_named_once(location, column, value, told):
    store = Store.open(location)
    good, bad = (store.begin_run("s", {}, {}, ["x"]) for _ in range(2))
    with store.writing() as session:
        session.execute(update(RunRow).where(RunRow.run_id == bad).values({column: value}))
    listed = told(location, "list")
    assert good in listed.out and bad not in listed.out
    assert listed.err.count(f"left out: run {bad}") == 1
    told(location, "list", "--where", "x=1")
    assert f"run {bad} cannot be read" in told(location, "show", bad, code=1).err
    assert [run.record.run_id for run in store.history(RunQuery("s"), ())] == [good]


@pytest.mark.parametrize("run_id", ["../escaped", "flightpath.sqlite-wal"])
def test_the_id_of_a_run_chooses_no_path(location, run_id, told):
    store = Store.open(location)
    good = store.begin_run("s", {}, {"host": platform.node()}, ["x"])
    bad = store.begin_run("s", {}, {"host": platform.node()}, ["x"])
    with store.writing() as session:
        session.execute(update(RunRow).where(RunRow.run_id == bad).values(run_id=run_id))
    before = set(location.folder.parent.rglob("*"))
    for refused in (store.artifacts, store.run, store.discard_run):
        with pytest.raises(UnreadableRun, match="is no id of a run"):
            refused(run_id)
    for command in ("plot", "report"):
        told(location, command, run_id, code=1)
    assert good in told(location, "list").out and set(location.folder.parent.rglob("*")) == before


def test_a_verdict_that_is_none_is_not_trusted(location):
    store = Store.open(location)
    run_id = begin(store, cell("tcp", 500.0))
    with store.writing() as session:
        session.execute(update(CellRow).values(verdict="perfect"))
    assert store.cell_counts() == {run_id: {Verdict.UNUSABLE: 1}}
    assert store.cells(run_id)[0].certificate.verdict is Verdict.UNUSABLE
