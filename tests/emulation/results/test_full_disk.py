"""A full disk: what was kept stays, what could not be kept is said, and the store goes on when there is room again."""

import contextlib
import subprocess
from pathlib import Path

import pytest

from flightpath.errors import FlightpathError
from probes.preflight.history.past import load
from probes.preflight.history.recording import Recording, load_result
from results.exchange.export import export_runs, import_runs
from results.exchange.files import write_export
from results.records import Cell, CellResult, Certificate, Measurement, Metric, RunStatus, Series, Verdict
from results.store.run_store import RunStore
from results.store.spool import SPOOL_NAME
from results.store.store import Store
from tests.support.preflight_made_up import HOST, day, store_result
from tests.support.preflight_made_up import measurement as preflight
from topologies.sandbox.sandbox import TEMPORARY

SERIES = Series("1/s", tuple(n * 1.1 for n in range(2000)), tuple(n * 1.7 for n in range(2000)))


def result(number: int) -> CellResult:
    return CellResult(
        Cell({"n": number}), Measurement({"m": Metric(number, "1")}, {"s": SERIES}), Certificate(Verdict.FAITHFUL)
    )


def small_disk(mib: int) -> Path:
    """A disk of that size, on which 2 MiB can be made free."""
    folder = TEMPORARY / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", str(folder)], check=True)
    (folder / "ballast").write_bytes(b"\xff" * 2**21)
    return folder


def fill_up(folder: Path, name: str = "more") -> Path:
    ballast = folder / name
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
        while file.write(b"\xff" * 4096):
            pass
    return ballast


def fill(store: Store, run_id: str) -> int:
    """Records cells until there is no room; returns how many have been kept."""
    for number in range(1000):
        try:
            store.record(run_id, result(number), number)
        except FlightpathError as error:
            assert "full" in str(error), error
            return number
    pytest.fail("the disk was never full")


@pytest.mark.in_sandbox
def test_a_full_disk_loses_nothing_that_was_kept():
    folder = small_disk(4)
    store = Store.open(folder / "runs")
    run_id = store.begin_run("s", {}, {}, "x")
    kept = fill(store, run_id)
    assert kept > 5
    assert store.cells(run_id) == [result(number) for number in range(kept)]
    for kind in ("json", "csv"):
        with pytest.raises(FlightpathError):
            write_export(export_runs(store, [run_id]), folder / f"export.{kind}", kind)
    export = export_runs(store, [run_id])
    other = export.model_copy(update={"runs": [export.runs[0].model_copy(update={"run_id": "another"})]})
    with pytest.raises(FlightpathError):
        import_runs(store, [other])
    assert [record.run_id for record in Store.open(folder / "runs", create=False).runs()] == [run_id]
    assert not list(folder.glob("*export*")) and not list(folder.glob("runs/*damaged*"))
    (folder / "ballast").unlink()
    store.record(run_id, result(kept), kept)
    store.finish_run(run_id, "done")
    assert len(Store.open(folder / "runs").cells(run_id)) == kept + 1


@pytest.mark.in_sandbox
@pytest.mark.parametrize("create", [True, False])
def test_that_the_disk_is_full_is_said_in_words(create):
    """SQLite calls it a disk I/O error where it finds no room for its shared memory."""
    folder = small_disk(4)
    Store.open(folder / "runs").begin_run("s", {}, {}, "x")
    fill_up(folder)
    with pytest.raises(FlightpathError, match=r"disk is full(.|\n)*free some space"):
        Store.open(folder / "runs", create=create).begin_run("s", {}, {}, "x")


@pytest.mark.in_sandbox
def test_a_preflight_on_a_full_disk_is_not_begun_and_one_that_goes_on_loses_nothing():
    folder = small_disk(16)
    whole = preflight([9e8, 8e8])
    recording = Recording(folder / "runs", whole.target, whole.spec)
    recording.begin(whole.started_at)
    ballast = fill_up(folder)
    recording.add(whole.iterations[0])
    recording.finish(whole)  # into the space that was reserved for it, of which the rest is free again
    rest = fill_up(folder, "rest")
    with pytest.raises(FlightpathError, match=r"disk is full(.|\n)*free some space"):
        Recording(folder / "runs", whole.target, whole.spec).begin(whole.started_at)
    ballast.unlink()
    rest.unlink()
    store_result(preflight([7e8], at=day(1)), folder / "runs")
    store = Store.open(folder / "runs", create=False)
    assert load_result(store, recording.run_id) == whole
    assert [past.goodputs_bps for past in load(store, HOST)] == [(9e8, 8e8), (7e8,)]
    assert [past.has_ended for past in load(store, HOST)] == [True, True]


@pytest.mark.in_sandbox
def test_a_running_experiment_goes_on_when_the_disk_is_full():
    folder = small_disk(12)
    store = RunStore.open(folder / "runs")
    run_id = store.begin_run("s", {}, {}, "x")
    fill_up(folder)
    for number in range(20):
        store.record(run_id, result(number), number)
    assert any((folder / "runs" / run_id / SPOOL_NAME).read_bytes()[:8]), "the disk was never full"
    store.finish_run(run_id, "done")
    assert store.run(run_id).status is RunStatus.DONE
    assert store.cells(run_id) == [result(number) for number in range(20)]
