"""An export has all of a run, an import brings in all of it, and a file that is wrong in any way changes nothing."""

import copy
import csv
import importlib.util
import json
import math
import random
import resource
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from flightpath.errors import UsageError
from flightpath.project import PROJECT
from results.__main__ import main
from results.exchange.export import FORMAT, export_runs, import_runs
from results.exchange.files import read_export, write_export
from results.records import Cell, CellResult, Certificate, Claim, ClaimVerdict, Measurement, Series, Verdict
from results.store.location import StoreLocation
from results.store.sqlite import DATABASE_NAME
from results.store.store import Store
from tests.support.database_server import store_options
from tests.support.made_up_runs import like_the_paper
from tests.support.stored_runs import cell_results, everything

KINDS = [
    "json",
    "csv",
    pytest.param(
        "parquet",
        marks=pytest.mark.skipif(importlib.util.find_spec("pyarrow") is None, reason="Parquet needs pyarrow"),
    ),
]


GIB = 2**30
CELL = ("runs", 0, "cells", 0)
NO_RUN_IDS = [
    *("../../etc", "..", "a/b", "", "a\n", "x" * 300, "latest"),
    *(DATABASE_NAME, f"{DATABASE_NAME}-wal", f"{DATABASE_NAME}-shm".upper(), "flightpath.damaged-20261121.sqlite"),
]
"""What cannot be the name of a run's folder, and what means something else in a store."""


def made(location: StoreLocation) -> Store:
    store = Store.open(location)
    run_id = store.begin_run(
        "mptcp_load", {"form": "full", "größe": [1, 2.5, None]}, {"host": "lab1"}, ["a", "b c", ""]
    )
    for order, result in enumerate(like_the_paper(2, (500.0, 800.0))):
        store.record(run_id, result, order)
    store.record_claims(run_id, [Claim('c, "d"', "=1+1", "", ClaimVerdict.NOT_TESTED, "line\r\nline")])
    store.keep_document(run_id, "log.txt", "first\nsecond\r\n\x1b[31mthird")
    store.finish_run(run_id, "done")
    store.begin_run("empty", {}, {}, "x")
    return store


@pytest.fixture
def here(new_location) -> StoreLocation:
    return new_location("here")


@pytest.fixture
def there(new_location) -> StoreLocation:
    return new_location("there")


@pytest.fixture
def store(here) -> Store:
    return made(here)


def exported(store: Store, kind: str) -> Path:
    store.folder.mkdir(exist_ok=True)
    target = store.folder / f"export.{kind}"
    write_export(export_runs(store, [record.run_id for record in store.runs()]), target, kind)
    return target


@pytest.mark.parametrize("kind", KINDS)
def test_there_and_back_nothing_is_lost(tmp_path, here, there, store, kind, capsys):
    target = tmp_path / "out" / f"all.{kind}"
    target.parent.mkdir()
    assert main(["export", f"--{kind}", "--output", str(target), *store_options(here)]) == 0
    assert main(["import", str(target), *store_options(there)]) == 0
    assert capsys.readouterr().out.split() == [str(target), *(record.run_id for record in store.runs())]
    other = Store.open(there)
    assert everything(other) == everything(store)
    for record in store.runs():
        assert other.cells(record.run_id) == store.cells(record.run_id)
    assert other.document("latest", "log.txt") == store.document("latest", "log.txt")
    assert [path.name for path in target.parent.iterdir()] == [target.name]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(result=cell_results)
def test_any_cell_survives_every_format(tmp_path, new_location, result):
    store = Store.open(new_location("any"))
    run_id = store.begin_run("s", {}, {}, "x")
    store.record(run_id, result, 3)
    export = export_runs(store, [run_id])
    for kind in ("json", "csv"):
        target = tmp_path / kind
        write_export(export, target, kind)
        assert read_export(target) == export
    there = Store.open(new_location("there"))
    import_runs(there, [read_export(tmp_path / "csv")])
    assert there.cells(run_id) == [result]


def test_another_run_of_the_same_id_is_refused_and_nothing_of_the_file_is_kept(there, store):
    export = read_export(exported(store, "json"))
    there = Store.open(there)
    mptcp, empty = export.runs
    import_runs(there, [export.model_copy(update={"runs": [empty]})])
    for difference in ({"command": ["another"]}, {"cells": mptcp.cells[:1]}):
        other = empty.model_copy(update=difference)
        with pytest.raises(UsageError, match="has another run"):
            import_runs(there, [export.model_copy(update={"runs": [mptcp, other]})])
        assert [record.run_id for record in there.runs()] == [empty.run_id]
        assert there.cells(empty.run_id) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_off_anywhere_changes_nothing(tmp_path, there, store, kind):
    whole = exported(store, kind).read_bytes()
    before = everything(Store.open(there))
    chance = random.Random(7)
    torn = tmp_path / "torn"
    for length in [0, 1, 2, len(whole) - 1, *(chance.randrange(len(whole)) for _ in range(25))]:
        torn.write_bytes(whole[:length])
        assert main(["import", str(torn), *store_options(there)]) == 2
    assert everything(Store.open(there)) == before


@pytest.fixture
def imported(tmp_path, there, store) -> Callable[..., int]:
    """Imports an export of which one value was changed; returns the exit code."""
    export = json.loads(exported(store, "json").read_text())

    def run(value: object, *path: str | int) -> int:
        changed = copy.deepcopy(export)
        place = changed
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        file = tmp_path / "changed.json"
        file.write_text(json.dumps(changed))
        return main(["import", str(file), *store_options(there)])

    return run


@pytest.mark.parametrize(
    ("value", "path", "said"),
    [
        ("something", ["format"], "its format is not 'flightpath-export'"),
        (2, ["version"], "a newer Flightpath wrote it"),
        *((name, ["runs", 0, "run_id"], "runs.0.run_id") for name in NO_RUN_IDS),
        ("\x1b[2J", ["runs", 0, "scenario"], "scenario"),
        ("soon", ["runs", 0, "started_at"], "time"),
        ("2026-11-21T10:00:00", ["runs", 0, "started_at"], "no time zone"),
        ("0001-01-01T00:00:00+14:00", ["runs", 0, "ended_at"], "time"),
        ("9999-12-31T23:59:59-14:00", [*CELL, "started_at"], "time"),
        ("1066-10-14T09:00:00+00:00", [*CELL, "ended_at"], "time"),
        ("dancing", ["runs", 0, "status"], "status"),
        (1, ["runs", 0, "more"], "more"),
        ([1], ["runs", 0, "command"], "command"),
        ("perfect", [*CELL, "verdict"], "verdict"),
        ({"a": ["list"]}, [*CELL, "parameters"], "parameters"),
        (2**80, [*CELL, "repetition"], "repetition"),
        ("1", [*CELL, "order"], "order"),
        (None, [*CELL, "metrics", "run_time", "value"], "run_time"),
        ("7", [*CELL, "metrics", "run_time", "value"], "run_time"),
        ([1.0], [*CELL, "series", "idle_cpu", "times_s"], "1 times for"),
        ({"deep": json.loads("[" * 900 + "]" * 900)}, [*CELL, "found"], ""),
        (2, [*CELL, "repetition"], "contradicts itself"),
    ],
)
def test_what_no_export_holds_is_refused_and_changes_nothing(there, imported, value, path, said, capsys):
    before = everything(Store.open(there))
    assert imported(value, *path) == 2
    error = capsys.readouterr().err
    assert said in error and "Traceback" not in error
    assert everything(Store.open(there)) == before


def test_times_of_any_zone_are_stored_as_utc_so_that_they_sort(imported, there):
    assert imported("2026-11-21T10:00:00+02:00", "runs", 0, "started_at") == 0
    assert Store.open(there).runs("mptcp_load")[0].started_at.isoformat() == "2026-11-21T08:00:00+00:00"
    assert imported("2026-11-21T10:00:00+02:00", "runs", 0, "started_at") == 0, "it is the same run"


@pytest.mark.parametrize("other", ["fast", 800.0])
def test_a_run_with_texts_for_numbers_is_shown_without_an_answer(imported, there, store, other, capsys):
    cells = json.loads(exported(store, "json").read_text())["runs"][0]["cells"]
    for each in cells:
        each["parameters"]["load"] = {500.0: "slow", 800.0: other}[each["parameters"]["load"]]
    assert imported(cells, "runs", 0, "cells") == 0
    assert main(["show", "latest", *store_options(there)]) == 0
    told = capsys.readouterr()
    assert "slow" in told.out and "warning: no answer can be given" in told.err


@pytest.mark.parametrize(
    ("old", "new"),
    [('"value": ', '"value": NaN, "was": '), ('"lab1"', '"\\ud800"'), ("{", "{" * 5), ('"runs"', '"runs": [], "x"')],
)
def test_json_that_is_none_is_refused(tmp_path, there, store, old, new):
    file = tmp_path / "bad.json"
    file.write_text(exported(store, "json").read_text().replace(old, new, 1))
    assert main(["import", str(file), *store_options(there)]) == 2
    assert Store.open(there).runs() == []


def zipped(file: Path, texts: Mapping[str, str]) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
    return file


def test_a_small_file_that_would_take_all_memory_is_refused(tmp_path):
    """A manifest of 300 MB once unpacked, which would take 6 GB as Python's lists."""
    file = zipped(tmp_path / "bomb.zip", {"manifest.json": f'{{"format": "{FORMAT}", "x": [{"[]," * 10**8}[]]}}'})
    assert file.stat().st_size < 2**20
    done = subprocess.run(
        [sys.executable, "-m", "results", "import", str(file), "--results", str(tmp_path / "there")],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2 * GIB, 2 * GIB)),  # a fault ends it alone
    )
    assert done.returncode == 2, done.stderr[-500:]
    assert "memory" in done.stderr
    assert not list((tmp_path / "there").glob("*"))


def without_last_line(text: str) -> str:
    return "\r\n".join(text.split("\r\n")[:-2]) + "\r\n"


def replaced(old: str, new: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    return change


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("points.csv", None, "points.csv"),
        ("manifest.json", None, "manifest.json"),
        ("metrics.csv", without_last_line, "metrics: "),
        ("points.csv", without_last_line, "points"),
        ("cells.csv", without_last_line, "cells: 7 rows of 8"),
        ("metrics.csv", replaced(",1,", ",99,"), "which is not there"),
        ("manifest.json", replaced('"version": 1', '"version": 9'), "newer Flightpath"),
        ("manifest.json", replaced('"csv"', '"pickle"'), "'pickle' are unknown"),
        ("metrics.csv", replaced("value", "worth"), "value"),
        ("points.csv", replaced(",0,0.0,", ",7,0.0,"), "missing or there twice"),
        ("metrics.csv", replaced(",1/s,", ",1/s,,,,"), "more or fewer fields"),
        ("runs.csv", replaced("done", "danced"), "status"),
        ("runs.csv", replaced('"{', '"{{'), ""),
    ],
)
def test_tables_that_contradict_each_other_are_refused(tmp_path, there, store, name, change, said, capsys):
    with zipfile.ZipFile(exported(store, "csv")) as archive:
        files = {each: archive.read(each).decode() for each in archive.namelist()}
    before = files.pop(name)
    changed = {name: change(before)} if change else {}
    file = zipped(tmp_path / "bad.zip", files | changed)
    assert main(["import", str(file), *store_options(there)]) == 2
    assert said in capsys.readouterr().err
    assert Store.open(there).runs() == []


def test_a_zip_that_unpacks_to_a_disk_full_is_refused(there, store, monkeypatch, capsys):
    file = exported(store, "csv")
    monkeypatch.setattr("results.exchange.files.MAX_BYTES", 50_000)
    assert main(["import", str(file), *store_options(there)]) == 2
    assert "unpacks to more than" in capsys.readouterr().err or file.stat().st_size > 50_000


def test_filters_choose_what_is_exported_and_nothing_left_is_an_error(tmp_path, here, store, capsys):
    words = ["export", *store_options(here), "--output", str(tmp_path / "x.json")]
    assert main([*words, "--scenario", "empty"]) == 0
    assert [run.scenario for run in read_export(tmp_path / "x.json").runs] == ["empty"]
    assert main([*words, "--scenario", "nothing"]) == 2
    assert main([*words[:-1], "/proc/flightpath/x.json"]) == 2
    capsys.readouterr()


def test_a_run_that_an_export_cannot_hold_is_named(tmp_path, here, capsys):
    store = Store.open(here)
    run_id = store.begin_run("s", {}, {}, "x")
    gap = Measurement(series={"p95": Series("ms", (0.0, 1.0), (math.nan, 3.0))})
    store.record(run_id, CellResult(Cell({}), gap, Certificate(Verdict.FAITHFUL)), 0)
    assert main(["export", run_id, "--output", str(tmp_path / "x.json"), *store_options(here)]) == 2
    assert f"run {run_id} cannot be exported: series.p95.values.0" in capsys.readouterr().err
    assert not (tmp_path / "x.json").exists()


def test_a_failed_export_leaves_the_file_that_was_there(tmp_path, store, monkeypatch):
    target = tmp_path / "x.json"
    target.write_text("precious")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(UsageError, match="No space left"):
        write_export(export_runs(store, []), target, "json")
    assert target.read_text() == "precious"
    assert list(tmp_path.glob(".x.json*")) == []


def test_without_pyarrow_the_command_that_installs_it_is_named(tmp_path, here, store, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    target = tmp_path / "runs.zip"
    assert main(["export", "--parquet", "--output", str(target), *store_options(here)]) == 3
    assert f"{sys.executable} -m pip install 'pyarrow" in capsys.readouterr().err and not target.exists()


def test_the_tables_have_a_column_for_each_parameter(store):
    with zipfile.ZipFile(exported(store, "csv")) as archive:
        header, first, *_ = archive.read("cells.csv").decode().splitlines()
        (claim,) = csv.DictReader(archive.read("claims.csv").decode().splitlines(keepends=True))
    assert header.endswith("parameter.protocol,parameter.load") and first.endswith("mptcp,500.0")
    assert claim["paper"] == "'=1+1", "a spreadsheet would compute it"
