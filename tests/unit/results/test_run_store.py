"""A running experiment loses no measured cell while its store cannot be written, and nobody else continues it."""

import contextlib
import os
import secrets
import signal
import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings

from flightpath.errors import UsageError
from results.records import RunStatus
from results.store import run_store, sqlite
from results.store.backend import StoreFailed
from results.store.location import StoreLocation
from results.store.run_store import RunStore, recover
from results.store.spool import SPOOL_NAME, Spool
from results.store.sqlite import DATABASE_NAME
from results.store.store import Store
from tests.support.stored_runs import cell_results, simple


@pytest.fixture
def outage(location, request, monkeypatch):
    """Makes the store fail for the time of a block: a file is locked, a server closes and refuses connections."""
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_S", 0.05)
    monkeypatch.setattr(run_store, "_WAITS_S", (0.0, 0.1))

    @contextlib.contextmanager
    def file_is_locked() -> Iterator[None]:
        with contextlib.closing(sqlite3.connect(location.folder / DATABASE_NAME, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield

    @contextlib.contextmanager
    def server_refuses() -> Iterator[None]:
        server, name = request.getfixturevalue("server"), location.server.database
        server.sql(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        server.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        try:
            yield
        finally:
            server.sql(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")

    return server_refuses if location.server else file_is_locked


def begun(location: StoreLocation) -> tuple[RunStore, str]:
    store = RunStore.open(location)
    return store, store.begin_run("s", {}, {}, ["x"])


def cells(count: int) -> list:
    return [simple(repetition=number, m=float(number)) for number in range(count)]


def test_cells_measured_during_an_outage_are_stored_when_it_is_over(location, outage, capsys):
    store, run_id = begun(location)
    first, second, third, fourth = cells(4)
    store.record(run_id, first, 0)
    with outage():
        store.record(run_id, second, 1)
        store.record(run_id, third, 2)
    assert "waits in" in capsys.readouterr().err
    store.record(run_id, fourth, 3)
    assert store.cells(run_id) == [first, second, third, fourth]
    store.finish_run(run_id, RunStatus.DONE)
    assert store.run(run_id).status is RunStatus.DONE
    assert not (store.folder / run_id / SPOOL_NAME).exists()
    assert store.resume_run("latest").status is RunStatus.RUNNING, "it is locked no longer"


def test_a_run_that_ends_during_an_outage_is_stored_by_the_next_process(location, outage, capsys):
    store, run_id = begun(location)
    (first,) = cells(1)
    with outage():
        store.record(run_id, first, 0)
        with pytest.raises(StoreFailed, match="what was measured waits in"):
            store.finish_run(run_id, RunStatus.FAILED, {"why": "outage"})
        recover(location)
        assert "is not stored" in capsys.readouterr().err
    recover(location)
    assert "1 cell" in capsys.readouterr().err
    there = Store.open(location)
    assert there.cells(run_id) == [first]
    assert (there.run(run_id).status, there.run(run_id).environment["why"]) == (RunStatus.FAILED, "outage")
    assert not (store.folder / run_id / SPOOL_NAME).exists()


def test_a_cell_whose_confirmation_was_lost_is_not_stored_twice(location):
    store, run_id = begun(location)
    (first,) = cells(1)
    store._keep(run_id, {"cell": {**run_store.asdict(first), "order": 0, "started_at": None}}, StoreFailed("lost"))
    Store.open(location).record(run_id, first, 0)
    store.finish_run(run_id, RunStatus.DONE)
    assert store.cells(run_id) == [first]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(result=cell_results)
def test_any_cell_survives_the_file(tmp_path, result):
    store = RunStore.open(tmp_path)
    run_id = store.begin_run("s", {}, {}, ["x"])
    store._keep(run_id, {"cell": {**run_store.asdict(result), "order": 3, "started_at": None}}, StoreFailed("full"))
    store.finish_run(run_id, RunStatus.DONE)
    assert store.cells(run_id) == [result]


def test_an_entry_that_was_cut_off_is_left_out(tmp_path):
    spool = Spool(tmp_path)
    entries = [{"n": number, "text": secrets.token_hex(500)} for number in range(3)]
    for entry in entries:
        spool.add(entry)
    end = spool._end
    spool.close(remove=False)
    with spool.path.open("r+b") as file:
        file.seek(end - 3)
        file.write(b"\0\0\0")
    again = Spool(tmp_path)
    assert list(again.entries()) == entries[:2]
    again.add(entries[2])
    assert list(again.entries()) == entries
    again.clear()
    assert list(again.entries()) == [] == list(Spool(tmp_path).entries())


def process_that_measures(location: StoreLocation) -> tuple[int, str]:
    """A process that has begun a run and recorded a cell; returns its PID and the run."""
    reading, told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            store, run_id = begun(location)
            store.record(run_id, cells(1)[0], 0)
            os.write(told, run_id.encode())
            signal.pause()
        finally:
            os._exit(1)
    os.close(told)
    with os.fdopen(reading) as said:
        return child, os.read(said.fileno(), 1000).decode()


def test_a_run_is_not_resumed_while_it_is_measured_but_at_once_after_kill_9(location):
    child, run_id = process_that_measures(location)
    try:
        with pytest.raises(UsageError, match="still being measured"):
            RunStore.open(location).resume_run(run_id)
        RunStore.open(location).recover()
        assert Store.open(location).run(run_id).status is RunStatus.RUNNING
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    store = RunStore.open(location)
    assert store.resume_run(run_id).run_id == run_id
    store.record(run_id, cells(2)[1], 1)
    store.finish_run(run_id, RunStatus.DONE)
    assert store.cells(run_id) == cells(2)
