"""Whatever happens to writers, what they had finished is there and the store opens."""

import os
import random
import signal
import time

import pytest

from results.records import Cell, CellResult, Certificate, Measurement, Metric, Series, Verdict
from results.store.location import StoreLocation
from results.store.store import Store
from tests.support.rings import nightly

CERTIFICATE = Certificate(Verdict.FAITHFUL, (), {"links": ["x" * 200] * 20})
SERIES = Series("1/s", tuple(map(float, range(50))), tuple(map(float, range(50))))


def result(number: int) -> CellResult:
    metrics = {f"m{n}": Metric(number + n, "1") for n in range(5)}
    return CellResult(Cell({"n": number}), Measurement(metrics, {"s": SERIES}), CERTIFICATE)


def writer(location: StoreLocation, cells: int = 10**6) -> tuple[int, int]:
    """A process that begins a run and records so many cells; and the pipe in which it says what it has finished."""
    reading, told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            store = Store.open(location)
            run_id = store.begin_run("s", {}, {}, ["x"])
            os.write(told, f"{run_id}\n".encode())
            for number in range(cells):
                store.record(run_id, result(number), number)
                os.write(told, f"{number}\n".encode())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(told)
    return child, reading


@pytest.mark.parametrize("kills", [12, nightly(200)])
@pytest.mark.timeout(300)  # a process for each, beside other tests
def test_a_writer_killed_at_random_moments_loses_no_finished_cell(location, kills):
    moments = random.Random(200)
    store = Store.open(location)
    finished: dict[str, int] = {}
    for number in range(kills):
        child, reading = writer(location)
        with os.fdopen(reading) as said:
            # One in four at any moment from its start: while it opens the store, or begins its run. The others while
            # they write cells.
            lines = [] if number % 4 == 0 else [said.readline().strip() for _ in range(moments.choice((1, 1, 2, 4)))]
            time.sleep((0.08 if number % 4 == 0 else 0.03) * moments.random())
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            lines += said.read().split("\n")[:-1]
        if lines:
            finished[lines[0]] = len(lines) - 1
    kept = {run_id: sum(counts.values()) for run_id, counts in Store.open(location).cell_counts().items()}
    for run_id, count in finished.items():
        assert kept.get(run_id, 0) in (count, count + 1), "committed, but killed before it could say so"
    fullest = max(kept, key=kept.__getitem__)
    assert store.cells(fullest) == [result(number) for number in range(kept[fullest])]
    assert sum(finished.values()) > kills / 4, "most were killed before they had written anything"
    assert not list(location.folder.glob("*damaged*"))


def test_many_processes_make_and_write_a_store_at_once(location):
    for child, reading in [writer(location, 15) for _ in range(4)]:
        with os.fdopen(reading) as said:
            run_id, *finished = said.read().split()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(finished) == 15
        assert Store.open(location).cells(run_id) == [result(number) for number in range(15)]
