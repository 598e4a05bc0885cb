"""The store keeps what it was given, whatever happens to the process, the file or the folder."""

import math
import secrets
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings

from flightpath.errors import MeasurementFailed, UsageError
from results.records import Cell, CellResult, Certificate, Measurement, Verdict
from results.store.backend import StoreFailed
from results.store.query import RunQuery
from results.store.schema import RunRow
from results.store.sqlite import DATABASE_NAME
from results.store.store import RunStatus, Store
from tests.support.stored_runs import begin, cell_results, simple


@pytest.fixture
def store(location) -> Store:
    return Store.open(location)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(result=cell_results)
def test_a_cell_comes_back_as_it_went_in(store, result):
    (back,) = store.cells(begin(store, result))
    assert back == result
    assert list(back.measurement.metrics) == list(result.measurement.metrics)
    assert list(back.cell.parameters) == list(result.cell.parameters)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_metric_that_is_no_number_is_refused(store, wrong):
    run_id = begin(store)
    with pytest.raises(MeasurementFailed, match="'rate' of cell load=500 #1"):
        store.record(run_id, simple(rate=wrong), 0)
    assert store.cells(run_id) == []


@pytest.mark.parametrize("wrong", [{"x": object()}, {"x": math.nan}])
def test_metadata_that_is_not_json_is_refused(store, wrong):
    with pytest.raises(MeasurementFailed, match="metadata of cell"):
        begin(store, CellResult(Cell({}), Measurement(metadata=wrong), Certificate(Verdict.FAITHFUL)))


def test_a_cell_is_recorded_once_in_a_run_that_was_begun(store):
    run_id = begin(store, simple(800))
    with pytest.raises(StoreFailed, match="recorded already"):
        store.record(run_id, simple(800.0, x=2.0), 1)
    store.record(run_id, simple(800, repetition=2), 1)
    begin(store, simple(800))
    assert [c.measurement.metrics["x"].value for c in store.cells(run_id)] == [1.0, 1.0]
    with pytest.raises(StoreFailed, match="no such run"):
        store.record("nobody", simple(), 0)


def test_a_run_tells_what_it_was_and_how_it_ended(store):
    run_id = begin(store)
    began = store.run(run_id)
    assert (began.status, began.ended_at, began.command[-1]) == (RunStatus.RUNNING, None, "--a b")
    assert began.plan == {"form": "quick", "seed": 1}
    store.finish_run(run_id, "done", {"route": "a > b", "mtu": 1500})
    ended = store.run(run_id)
    assert ended.status is RunStatus.DONE and ended.ended_at >= ended.started_at
    assert ended.environment == {"kernel": "6.1", "route": "a > b", "mtu": 1500}, "what was found meanwhile is added"
    with pytest.raises(MeasurementFailed, match="environment"):
        store.finish_run(run_id, "done", {"mtu": math.nan})
    assert store.resume_run(run_id).status is RunStatus.RUNNING


def test_runs_that_begin_in_one_second_never_share_an_id(store, monkeypatch):
    """A class may begin at once: the four characters that tell the IDs apart are random."""
    drawn = iter(["abcd", "abcd", "abcd", "ef01"])
    monkeypatch.setattr(secrets, "token_hex", lambda _bytes: next(drawn))
    ids = [store.begin_run("s", {}, {}, ["x"], datetime(2026, 11, 22, 12, tzinfo=UTC)) for _ in range(2)]
    assert ids == ["20261122-120000-s-abcd", "20261122-120000-s-ef01"]
    assert {run.run_id for run in store.runs()} == set(ids)


def test_runs_and_the_latest_of_a_scenario(store):
    assert store.latest() is None
    first, second, other = begin(store), begin(store), begin(store, scenario="dtn")
    assert [r.run_id for r in store.runs("mptcp_load")] == [first, second]
    assert store.latest("mptcp_load").run_id == second
    assert store.resolve("latest") == other
    store.record(second, simple(), 0)
    assert store.resolve("latest") == second, "which has cells"
    with pytest.raises(UsageError, match="there is no run 'latest~1'"):
        store.resolve("latest~1")
    store.record(first, simple(), 0)
    assert store.resolve("latest~1") == first


def test_a_run_is_named_by_an_unambiguous_beginning(store):
    first, _ = begin(store), begin(store)
    assert store.resolve(first) == first
    with pytest.raises(UsageError, match="beginning of 2 runs"):
        store.resolve("2")
    for nobody in ("nobody", ""):
        with pytest.raises(UsageError, match="there is no run"):
            store.cells(nobody)
    alone = begin(store, scenario="dtn")
    assert store.run(alone[: alone.index("dtn") + 1]).run_id == alone


def test_the_files_of_a_run_have_a_folder(store):
    run_id = begin(store)
    assert store.artifacts(run_id) == store.folder / run_id
    store.artifacts(run_id).rmdir()
    (store.folder / run_id).write_text("in the way")
    with pytest.raises(StoreFailed, match="cannot make"):
        store.artifacts(run_id)


def test_a_store_in_a_folder_keeps_a_log_so_that_readers_do_not_wait(tmp_path):
    Store.open(tmp_path)
    with closing(sqlite3.connect(tmp_path / DATABASE_NAME)) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def of_host(store: Store, host: str, hour: int = 0) -> str:
    started_at = datetime(2026, 11, 21, hour, tzinfo=UTC)
    return store.begin_run("preflight", {"host": host}, {"kernel": "6.1"}, ["x"], started_at)


def test_runs_of_a_far_machine(store):
    later, first, other = of_host(store, "a'b", hour=2), of_host(store, "a'b", hour=1), of_host(store, "c")
    begin(store)
    assert [run.run_id for run in store.find(RunQuery("preflight", "a'b"))] == [first, later]
    assert [run.run_id for run in store.find(RunQuery(host="a'b", last=1))] == [later]
    assert store.find(RunQuery("preflight", "a%")) == []
    assert store.hosts("preflight") == ["a'b", "c"] and store.hosts("mptcp_load") == []
    assert [store.count(RunQuery(scenario, "a'b")) for scenario in ("preflight", "mptcp_load")] == [2, 0]
    assert store.run(first).started_at == datetime(2026, 11, 21, 1, tzinfo=UTC) and first.startswith("20261121-010000")
    assert store.runs("preflight")[0].run_id == other


def test_a_history_has_what_was_asked_for_in_the_order_of_measurement(store):
    first, second = of_host(store, "a", hour=1), of_host(store, "a", hour=2)
    for number, run_id in enumerate((second, first)):
        unusable = Certificate(Verdict.UNUSABLE, ("too slow",))
        store.record(run_id, replace(simple(5, 2, x=1.0 + number, y=2.0), certificate=unusable), 1)
        store.record(run_id, simple(5, 1, x=3.0 + number), 0)
    of_first, of_second = store.history(RunQuery("preflight", "a"), ("x", "z"))
    assert (of_first.record.run_id, of_second.record.run_id) == (first, second)
    assert [(cell.repetition, cell.verdict, cell.reasons, cell.metrics) for cell in of_first.cells] == [
        (1, Verdict.FAITHFUL, (), {"x": 4.0}),
        (2, Verdict.UNUSABLE, ("too slow",), {"x": 2.0}),
    ]
    assert [result.cell.repetition for result in store.cells(first)] == [1, 2]
    assert store.history(RunQuery("preflight", "a", last=1), ("x",))[0].cells[0].metrics == {"x": 3.0}
    assert [past.record.run_id for past in store.history(RunQuery("preflight", run_id=first), ())] == [first]
    assert store.history(RunQuery("mptcp_load", run_id=first), ()) == []


def test_texts_are_kept_with_a_run(store):
    run_id = begin(store)
    for name, text in (("whole", "first"), ("whole", "ünd\n" * 1000), ("other", "")):
        store.keep_document(run_id, name, text)
    assert [store.document("latest", name) for name in ("whole", "other", "none")] == ["ünd\n" * 1000, "", None]


def test_a_history_by_host_uses_its_index(tmp_path):
    of_host(Store.open(tmp_path), "a")
    query = RunQuery(host="a", last=3).select(RunRow.run_id).compile(compile_kwargs={"literal_binds": True})
    with closing(sqlite3.connect(tmp_path / DATABASE_NAME)) as connection:
        assert "ix_runs_host_started_at" in str(connection.execute(f"EXPLAIN QUERY PLAN {query}").fetchall())


def test_a_run_without_cells_can_be_discarded_and_no_other(store):
    kept, discarded = begin(store, simple(goodput=1.0)), begin(store)
    (store.artifacts(discarded) / "capture.pcap").write_bytes(b"x")
    store.discard_run(discarded)
    assert [run.run_id for run in store.runs()] == [kept] and not (store.folder / discarded).exists()
    with pytest.raises(StoreFailed, match="has cells"):
        store.discard_run(kept)
    assert store.run(kept).run_id == kept
