"""Rows of a run that another program has written, with values of other types: that run is refused, and named."""

import contextlib
import json
import sqlite3

import pytest

from flightpath.errors import FlightpathError
from results.exchange.export import export_runs
from results.records import Claim, ClaimVerdict
from results.store.query import RunQuery
from results.store.sqlite import DATABASE_NAME
from results.store.store import Store
from tests.support.made_up_runs import like_the_paper


@pytest.fixture
def store(tmp_path) -> Store:
    """With two runs of the same kind."""
    store = Store.open(tmp_path)
    for _ in range(2):
        run_id = store.begin_run("s", {}, {"host": "lab1"}, ["x"])
        for order, result in enumerate(like_the_paper(1, (500.0,))):
            store.record(run_id, result, order)
        store.record_claims(run_id, [Claim("c", "p", "m", ClaimVerdict.REPRODUCED)])
        store.keep_document(run_id, "d", "text")
    return store


def spoil(store: Store, table: str, column: str, value: object) -> tuple[str, str]:
    """Writes a value into the first row of a table; returns the run that has it, and the other."""
    with contextlib.closing(sqlite3.connect(store.folder / DATABASE_NAME)) as connection, connection:
        connection.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = 1', [value])
        (bad,) = connection.execute("SELECT run_id FROM runs WHERE rowid = 1").fetchone()
    return bad, next(run.run_id for run in store.runs() if run.run_id != bad)


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("runs", "status", "dancing"),
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
