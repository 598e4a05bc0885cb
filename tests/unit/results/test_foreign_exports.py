"""Exports from anybody: what would break the store, its views or this machine is refused, and the rest can be shown."""

import copy
import io
import json
import resource
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from flightpath.project import PROJECT
from results.__main__ import main
from results.exchange.export import FORMAT, export_runs
from results.exchange.files import write_export
from results.records import Verdict
from results.store.location import StoreLocation
from results.store.query import RunQuery
from results.store.schema import CellRow, RunRow
from results.store.sqlite import DATABASE_NAME
from results.store.store import Store
from tests.support.database_server import store_options
from tests.support.made_up_runs import like_the_paper

GIB = 2**30


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """An export with one run, as JSON values."""
    folder = tmp_path_factory.mktemp("made")
    store = Store.open(folder / "store")
    run_id = store.begin_run("mptcp_load", {"form": "quick"}, {"host": "lab1"}, ["x"])
    for order, result in enumerate(like_the_paper(1, (500.0, 800.0))):
        store.record(run_id, result, order)
    store.finish_run(run_id, "done")
    write_export(export_runs(store, [run_id]), folder / "x.json", "json")
    return json.loads((folder / "x.json").read_text())


Import = Callable[..., int]


@pytest.fixture
def imported(exported: dict[str, Any], location: StoreLocation, tmp_path: Path) -> Import:
    """Imports the export with one value changed; returns the exit code."""

    def run(value: object, *path: str | int) -> int:
        changed = copy.deepcopy(exported)
        place: Any = changed
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        file = tmp_path / "changed.json"
        file.write_text(json.dumps(changed))
        return main(["import", str(file), *store_options(location)])

    return run


# --- names ---


@pytest.mark.parametrize(
    "run_id",
    [
        DATABASE_NAME,
        f"{DATABASE_NAME}-wal",
        f"{DATABASE_NAME}-shm".upper(),
        "flightpath.damaged-20261121-101500.sqlite",
        "latest",
    ],
)
def test_a_run_is_not_named_like_what_else_is_in_the_folder(imported, run_id, capsys):
    assert imported(run_id, "runs", 0, "run_id") == 2
    assert "runs.0.run_id" in capsys.readouterr().err


# --- times ---

TIMES = [("started_at",), ("ended_at",), ("cells", 0, "started_at"), ("cells", 0, "ended_at")]


@pytest.mark.parametrize("path", TIMES)
@pytest.mark.parametrize(
    "text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "1066-10-14T09:00:00+00:00", "soon"]
)
def test_times_that_views_cannot_convert_are_refused(imported, path, text, capsys):
    assert imported(text, "runs", 0, *path) == 2
    assert "time" in capsys.readouterr().err


def test_times_of_any_zone_are_stored_as_utc_so_that_they_sort(imported, location):
    assert imported("2026-11-21T10:00:00+02:00", "runs", 0, "started_at") == 0
    assert Store.open(location).runs()[0].started_at.isoformat() == "2026-11-21T08:00:00+00:00"
    assert imported("2026-11-21T10:00:00+02:00", "runs", 0, "started_at") == 0, "it is the same run"


# --- values of another type than the scenario's ---


def with_loads(exported, *loads: object) -> list[dict[str, Any]]:
    cells = copy.deepcopy(exported["runs"][0]["cells"])
    for number, (cell, load) in enumerate(zip(cells, loads, strict=True), start=1):
        cell["parameters"]["load"], cell["repetition"] = load, number
    return cells


@pytest.mark.parametrize("loads", [("slow", "slow", "fast", "fast"), ("slow", "slow", 800.0, 800.0)])
def test_a_run_with_texts_for_numbers_is_shown_without_an_answer(imported, exported, location, loads, capsys):
    assert imported(with_loads(exported, *loads), "runs", 0, "cells") == 0
    assert main(["show", "latest", *store_options(location)]) == 0
    told = capsys.readouterr()
    assert "slow" in told.out and "warning: no answer can be given" in told.err


# --- rows that another program wrote into a database that many share ---


@pytest.mark.parametrize(
    ("column", "value"),
    [("started_at", "yesterday"), ("ended_at", "0001-01-01T00:00:00+14:00"), ("status", "dancing"), ("plan", [1])],
)
def test_one_run_that_cannot_be_read_does_not_hide_the_others(location, column, value, capsys):
    store = Store.open(location)
    good, bad = (store.begin_run("s", {}, {}, ["x"]) for _ in range(2))
    with store.writing() as session:
        session.execute(update(RunRow).where(RunRow.run_id == bad).values({column: value}))
    assert main(["list", *store_options(location)]) == 0
    told = capsys.readouterr()
    assert good in told.out and bad not in told.out
    assert told.err.count(f"left out: run {bad}") == 1
    assert main(["list", "--where", "x=1", *store_options(location)]) in (0, 2)
    assert main(["show", bad, *store_options(location)]) == 1
    assert f"run {bad} cannot be read" in capsys.readouterr().err
    assert [run.record.run_id for run in store.history(RunQuery("s"), ())] == [good]


def test_a_verdict_that_is_none_is_not_trusted(location):
    store = Store.open(location)
    run_id = store.begin_run("s", {}, {}, ["x"])
    store.record(run_id, like_the_paper(1, (500.0,))[0], 0)
    with store.writing() as session:
        session.execute(update(CellRow).values(verdict="perfect"))
    assert store.cell_counts() == {run_id: {Verdict.UNUSABLE: 1}}
    assert store.cells(run_id)[0].certificate.verdict is Verdict.UNUSABLE


# --- memory ---


def bomb_of_lists() -> bytes:
    """A manifest of 300 MB once unpacked, which would take 6 GB as Python's lists."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as writer:
        writer.writestr("manifest.json", f'{{"format": "{FORMAT}", "x": [{"[]," * 100_000_000}[]]}}')
    return archive.getvalue()


def limited() -> None:
    """So that a fault ends this process, and not the machine."""
    resource.setrlimit(resource.RLIMIT_AS, (2 * GIB, 2 * GIB))


def test_a_small_file_that_would_take_all_memory_is_refused(tmp_path):
    file = tmp_path / "bomb.zip"
    file.write_bytes(bomb_of_lists())
    assert file.stat().st_size < 2**20
    argv = [sys.executable, "-m", "results", "import", str(file), "--results", str(tmp_path / "there")]
    done = subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True, preexec_fn=limited)
    assert done.returncode == 2, done.stderr[-500:]
    assert "memory" in done.stderr
    assert not list((tmp_path / "there").glob("*"))


# --- files that are none ---


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty"),
        (b"\x89PNG\r\n\x1a\n", "neither JSON nor a zip"),
        (b"goodput,1.5\n", "neither JSON nor a zip"),
        (b'{"format": "flightpath-ex', "its JSON is damaged or cut off"),
        (b"PK\x03\x04 and no more", "its zip is damaged, cut off or encrypted"),
    ],
)
def test_what_is_said_of_a_broken_file_is_about_the_file(tmp_path, content, said, capsys):
    file = tmp_path / "broken"
    file.write_bytes(content)
    assert main(["import", str(file), "--results", str(tmp_path / "there")]) == 2
    error = capsys.readouterr().err
    assert said in error and str(file) in error
    assert not any(word in error for word in ("codec", "byte", "column", "char "))
