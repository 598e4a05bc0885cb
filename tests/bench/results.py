"""How long people wait for a store of 100,000 cells, on SQLite and on PostgreSQL, Python's start included."""

import http.client
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from sqlalchemy import insert, select, text

from flightpath.project import PROJECT
from results.exchange.export import import_runs
from results.exchange.files import read_export
from results.store.location import StoreLocation, server_url
from results.store.schema import RunRow
from results.store.store import Store
from tests.bench.figures import Figure
from tests.bench.processes import seconds
from tests.support.database_server import database_server, store_options
from topologies.sandbox.kernel_settings import bring_up

SECTION = "store of 100,000 cells"
RUNS, REPETITIONS = 12_500, 2
STORED = PROJECT / "tests" / "data" / "mptcp_load_run.csv.zip"
"""A real run of four cells: each run of the store is a copy of it in which each cell is repeated."""


def measure(rounds: int) -> Iterator[str | list[Figure]]:
    figures: list[Figure] = []
    bring_up("lo")  # the dashboard's, and the server's
    with tempfile.TemporaryDirectory() as name, database_server() as server:
        locations = {
            "SQLite": StoreLocation(Path(name)),
            "PostgreSQL": StoreLocation(Path(name) / "files", server_url(str(server.database()))),
        }
        for kind, location in locations.items():
            yield f"{kind}: {4 * RUNS * REPETITIONS} cells are copied from four real ones"
            began = time.perf_counter()
            runs = fill(location)
            if location.server:
                server.sql("VACUUM ANALYZE", location.server.database)  # as the server itself does within a minute
            filled = time.perf_counter() - began
            took = defaultdict(list)
            for number in range(1, rounds + 1):
                yield f"{kind}: round {number}"
                for what, answer_s in answer_times(location, runs):
                    took[what].append(answer_s)
            figures += [Figure(f"{SECTION}, {kind}", what, values, "s", at_most=1) for what, values in took.items()]
            figures.append(Figure(f"{SECTION}, {kind}", "copied", [filled], "s"))
    yield figures


def answer_times(location: StoreLocation, runs: list[str]) -> Iterator[tuple[str, float]]:
    """Questions of users, and how long each answer takes (s)."""
    middle = runs[len(runs) // 2]
    for what, words in {
        "list": ["list"],
        "list, filtered": ["list", "--where", "protocol=mptcp", "--verdict", "faithful", "--since", "2026-06-01"],
        "compare two runs": ["compare", middle, "latest"],
        "compare with the ten runs before": ["compare", "latest", "--history", "10"],
    }.items():
        yield what, seconds([sys.executable, "-m", "results", *words, *store_options(location)])
    with dashboard(location) as (_, address):
        connection = http.client.HTTPConnection(address, timeout=60)
        for what, path in {
            "dashboard: runs": "/",
            "dashboard: runs, filtered, last page": "/?where=protocol%3Dmptcp&verdict=faithful&page=999999",
            "dashboard: a run": f"/runs/{middle}",
            "dashboard: compare two runs": f"/compare?run={middle}&run={runs[-1]}",
            "dashboard: history": "/history",
        }.items():
            began = time.perf_counter()
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                raise RuntimeError(f"{path}: {answer.status}")
            yield what, time.perf_counter() - began


@contextmanager
def dashboard(location: StoreLocation) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The dashboard of a store: its process, and its host and port."""
    command = [sys.executable, "-m", "results", "serve", "--port", "0", *store_options(location)]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, urlsplit(process.stdout.readline().strip()).netloc
        finally:
            process.terminate()


def fill(location: StoreLocation) -> list[str]:
    """Makes the store, and returns the ids of its runs, oldest first."""
    store = Store.open(location)
    import_runs(store, [read_export(STORED)])
    with store.writing() as session:
        (run,) = [dict(row) for row in session.execute(select(RunRow.__table__)).mappings()]
        copies = [_copied(run, number) for number in range(1, RUNS + 1)]
        session.execute(insert(RunRow.__table__), copies)
        for statement in _COPIES:
            session.execute(text(statement), {"repetitions": REPETITIONS, "run": run["run_id"]})
    return [copy["run_id"] for copy in copies]


def _copied(run: dict, number: int) -> dict:
    began = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number)
    return run | {
        "run_id": f"{began:%Y%m%d-%H%M%S}-mptcp_load-{number:04x}",
        "started_at": began.isoformat(),
        "ended_at": (began + timedelta(minutes=5)).isoformat(),
        "environment": run["environment"] | {"host": f"lab{number % 30}"},
    }


# The four real cells have the numbers 1 to 4, and each copy one that tells which of them it is a copy of. Copies differ
# by up to 5 %, as measurements do.
_COPIES = (
    """
    WITH RECURSIVE again(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM again WHERE number < :repetitions),
         run(run_id, number) AS (SELECT run_id, row_number() OVER (ORDER BY started_at) FROM runs WHERE run_id <> :run)
    INSERT INTO cells (cell_id, run_id, key, parameters, repetition, "order", started_at, ended_at, facts, verdict,
                       reasons, found)
    SELECT 4 * (run.number * :repetitions + again.number) + cell_id, run.run_id, key, parameters,
           repetition + 100 * again.number, "order" + 100 * again.number, started_at, ended_at, facts, verdict, reasons,
           found
    FROM cells, run, again
    """,
    """
    INSERT INTO metrics (cell_id, name, value, unit, low, high)
    SELECT cells.cell_id, name, value * (0.95 + cells.cell_id * 7919 % 1000 / 10000.0), unit, low, high
    FROM cells JOIN metrics ON metrics.cell_id = (cells.cell_id - 1) % 4 + 1 WHERE cells.cell_id > 4
    """,
    """
    INSERT INTO series (cell_id, name, unit, times, "values")
    SELECT cells.cell_id, name, unit, times, "values"
    FROM cells JOIN series ON series.cell_id = (cells.cell_id - 1) % 4 + 1 WHERE cells.cell_id > 4
    """,
)
