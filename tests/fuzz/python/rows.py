"""Rows of a store that another program has written, with any value in any column: the other runs still list.

An input is JSON: a list of [table, column, which row, value]; a value of {"hex": "..."} stands for bytes.
"""

import contextlib
import json
import random
import sqlite3
from typing import Any

from flightpath.errors import FlightpathError
from results.store.schema import Base
from results.store.sqlite import DATABASE_NAME
from tests.fuzz.mutation import WORDS, dump, vary_json
from tests.fuzz.stores import exported, seeded
from tests.fuzz.views import look_at_command, look_at_some

_KEYS = ("run_id", "cell_id", "metric_id", "series_id", "claim_id", "document_id", "version_num", "check_id")
"""Columns by which rows find each other: another value there is another row."""

_COLUMNS = [
    (table.name, column.name)
    for table in Base.metadata.sorted_tables
    for column in table.columns
    if column.name not in _KEYS
]
_OF_CELLS = "cell_id IN (SELECT cell_id FROM cells WHERE run_id = ?)"
_OWN = {"metrics": _OF_CELLS, "series": _OF_CELLS, "lab_checks": "? <> course"}
"""Rows that are changed although they are of no run."""

_TEXTS_OF_JSON = ("plan", "environment", "command", "parameters", "found", "facts", "reasons", "hints")


def made(chance: random.Random) -> bytes:
    return dump([_change(chance) for _ in range(chance.randint(1, 3))])


def read(data: bytes) -> None:
    """Makes the changes in the foreign run only, and looks at everything."""
    with seeded() as store:
        foreign, own = (run.run_id for run in store.runs())
        with contextlib.closing(sqlite3.connect(store.folder / DATABASE_NAME)) as connection, connection:
            for change in json.loads(data):
                _write(connection, foreign, *change)
        assert own in look_at_command(store, "list")
        with contextlib.suppress(FlightpathError):
            store.run(foreign)
        look_at_some(store, [foreign, own], random.Random(data))


def _change(chance: random.Random) -> tuple[str, str, int, Any]:
    table, column = chance.choice(_COLUMNS)
    return table, column, chance.randrange(4), _value(chance, column)


def _value(chance: random.Random, column: str) -> Any:
    if column in _TEXTS_OF_JSON and chance.random() < 0.8:
        run = exported()["runs"][0]
        value = run.get(column, run["cells"][0].get(column, run["cells"][0]["metadata"]))
        return json.dumps(vary_json(chance, value))
    if chance.random() < 0.2:
        return {"hex": chance.randbytes(chance.randrange(20)).hex()}
    words = [word for word in WORDS if word != "\ud800"]
    return chance.choice((*words, 0, -1, 2**62, 1e308, 0.5, "faithful", "running"))


def _write(connection: sqlite3.Connection, run_id: str, table: str, column: str, number: int, value: Any) -> None:
    stored = bytes.fromhex(value["hex"]) if isinstance(value, dict) else value
    own = _OWN.get(table, "run_id = ?")
    found = connection.execute(f'SELECT rowid FROM "{table}" WHERE {own} ORDER BY rowid', [run_id]).fetchall()
    with contextlib.suppress(sqlite3.Error):  # the database's own rules
        if found:
            rowid = found[number % len(found)][0]
            connection.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', [stored, rowid])
