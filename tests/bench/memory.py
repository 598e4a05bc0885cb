"""How long the commands of preflight take on a store of ten thousand measurements, Python's start included."""

import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from sqlalchemy import create_engine, insert, select

from results.store.schema import CellRow, DocumentRow, MetricRow, RunRow, SeriesRow
from results.store.sqlite import DATABASE_NAME
from tests.bench.figures import Figure
from tests.bench.processes import seconds
from tests.support.preflight_made_up import HOST, day, measurement, noisy, store_result

SECTION = "store of 10,000 measurements"
MEASUREMENTS, ITERATIONS = 10_000, 3
COMMANDS = {
    "history": ["history", HOST],
    "check": ["check", HOST, "--transfer", "2TB"],
    "compare, two weeks": ["compare", f"{HOST}@2026-11-01..2026-11-07", f"{HOST}@2026-11-08..2026-11-14"],
}


def measure(rounds: int) -> Iterator[str | list[Figure]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield f"making up {MEASUREMENTS} measurements"
        fill(folder)
        took = defaultdict(list)
        for number in range(1, rounds + 1):
            yield f"round {number}"
            for name, words in COMMANDS.items():
                took[name].append(seconds([sys.executable, "-m", "probes.preflight", *words, "--results", str(folder)]))
            took["one more is stored"].append(_store_s(folder, number))
            took["Python"].append(seconds([sys.executable, "-c", "pass"]))
        size = (folder / DATABASE_NAME).stat().st_size / 1e6
    yield [
        Figure(SECTION, "preflight history HOST", took["history"], "s", at_most=1),
        Figure(SECTION, "preflight check HOST --transfer 2TB", took["check"], "s", at_most=1),
        Figure(SECTION, "preflight compare, two weeks", took["compare, two weeks"], "s"),
        Figure(SECTION, "one more is stored", took["one more is stored"], "s", note="every page is checked"),
        Figure(SECTION, "Python starts and does nothing", took["Python"], "s"),
        Figure(SECTION, "size on the disk", [size], "MB"),
    ]


def fill(folder: Path, measurements: int = MEASUREMENTS) -> None:
    """Makes a store of measurements of one host, an hour apart: copies of one that was stored as usual."""

    store_result(measurement(noisy(ITERATIONS), at=day(0)), folder)
    noise = random.Random(1)
    with create_engine(f"sqlite:///{folder / DATABASE_NAME}").begin() as connection:
        kinds = (RunRow, CellRow, MetricRow, SeriesRow, DocumentRow)
        (run,), cells, metrics, series, (document,) = (
            [dict(row) for row in connection.execute(select(kind.__table__)).mappings()] for kind in kinds
        )
        rows: dict[type, list[dict]] = {kind: [] for kind in kinds}
        for number in range(1, measurements):
            at = day(0) + timedelta(hours=number)
            run_id = f"{at:%Y%m%d-%H%M%S}-preflight-{number:04x}"
            rows[RunRow].append(run | {"run_id": run_id, "started_at": at.isoformat()})
            rows[DocumentRow].append(document | {"run_id": run_id, "document_id": None})
            first = number * len(cells) + 1
            of_cell = {cell["cell_id"]: first + place for place, cell in enumerate(cells)}
            rows[CellRow] += [cell | {"run_id": run_id, "cell_id": of_cell[cell["cell_id"]]} for cell in cells]
            for kind, key, copied in ((MetricRow, "metric_id", metrics), (SeriesRow, "series_id", series)):
                rows[kind] += [each | {key: None, "cell_id": of_cell[each["cell_id"]]} for each in copied]
            for row in rows[MetricRow][-len(metrics) :]:
                if row["name"] == "goodput":
                    row["value"] *= noise.lognormvariate(0, 0.05)
        for kind, made in rows.items():
            for start in range(0, len(made), 50_000):
                connection.execute(insert(kind.__table__), made[start : start + 50_000])


def _store_s(folder: Path, number: int) -> float:
    """Opening, checking and writing, in a process that has started already."""

    whole = measurement(noisy(ITERATIONS), at=day(2000 + number), host="elsewhere")
    begun = time.perf_counter()
    store_result(whole, folder)
    return time.perf_counter() - begun
