"""A full disk: what was kept stays, what could not be kept is said, and the store goes on when there is room again."""

import subprocess
from pathlib import Path

import pytest

from flightpath.errors import FlightpathError
from results import exchange, exchange_files
from results.records import Cell, CellResult, Certificate, Measurement, Metric, Series, Verdict
from results.store import Store
from topologies.sandbox import TEMPORARY

SERIES = Series("1/s", tuple(n * 1.1 for n in range(2000)), tuple(n * 1.7 for n in range(2000)))


def result(number: int) -> CellResult:
    return CellResult(
        Cell({"n": number}), Measurement({"m": Metric(number, "1")}, {"s": SERIES}), Certificate(Verdict.FAITHFUL)
    )


def small_disk() -> Path:
    folder = TEMPORARY / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], check=True)
    (folder / "ballast").write_bytes(b"\xff" * 2**21)
    return folder


def fill(store: Store, run_id: str) -> int:
    for number in range(1000):
        try:
            store.record(run_id, result(number), number)
        except FlightpathError as error:
            assert "full" in str(error), error
            return number
    pytest.fail("the disk was never full")


def on_a_full_disk() -> None:
    folder = small_disk()
    store = Store.open(folder / "runs")
    run_id = store.begin_run("s", {}, {}, "x")
    kept = fill(store, run_id)
    assert kept > 5
    assert store.cells(run_id) == [result(number) for number in range(kept)]
    for kind in ("json", "csv"):
        with pytest.raises(FlightpathError):
            exchange_files.write(exchange.collect(store, [run_id]), folder / f"export.{kind}", kind)
    export = exchange.collect(store, [run_id])
    other = export.model_copy(update={"runs": [export.runs[0].model_copy(update={"run_id": "another"})]})
    with pytest.raises(FlightpathError):
        exchange.bring_in(store, [other])
    assert [record.run_id for record in Store.open(folder / "runs", create=False).runs()] == [run_id]
    assert not list(folder.glob("*export*")) and not list(folder.glob("runs/*damaged*"))
    (folder / "ballast").unlink()
    store.record(run_id, result(kept), kept)
    store.finish_run(run_id, "done")
    assert len(Store.open(folder / "runs").cells(run_id)) == kept + 1


def test_a_full_disk_loses_nothing_that_was_kept(sandboxed):
    sandboxed(on_a_full_disk)
