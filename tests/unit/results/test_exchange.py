"""An export has all of a run, an import brings in all of it, and a file that is wrong in any way changes nothing."""

import csv
import importlib.util
import json
import math
import random
import re
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from flightpath.errors import UsageError
from results.exchange import files
from results.exchange.export import export_runs, import_runs
from results.exchange.files import read_export, write_export
from results.records import Cell, CellResult, Certificate, Claim, ClaimVerdict, Measurement, Series, Verdict
from results.store.location import StoreLocation
from results.store.sqlite import DATABASE_NAME
from results.store.store import Store
from tests.support.made_up_runs import like_the_paper
from tests.support.stored_runs import begin, cell_results, everything

KINDS = ["json", "csv", *(["parquet"] if importlib.util.find_spec("pyarrow") else [])]
CELL = ("runs", 0, "cells", 0)
NO_RUN_IDS = ["../../etc", "..", "a/b", "", "a\n", "x" * 300, "latest", f"{DATABASE_NAME}-wal".upper()]
"""Names that cannot be those of a run's folder, and names that mean something else in a store."""


def made(location: StoreLocation | Path) -> Store:
    store = Store.open(location)
    plan = {"form": "full", "größe": [1, 2.5, None]}
    run_id = store.begin_run("mptcp_load", plan, {"host": "lab1"}, ["a", "b c", ""])
    for order, result in enumerate(like_the_paper(2, (500.0, 800.0))):
        store.record(run_id, result, order)
    store.record_claims(run_id, [Claim('c, "d"', "=1+1", "", ClaimVerdict.NOT_TESTED, "line\r\nline")])
    store.keep_document(run_id, "log.txt", "first\nsecond\r\n\x1b[31mthird")
    store.finish_run(run_id, "done")
    store.begin_run("empty", {}, {}, "x")
    return store


@pytest.fixture(scope="session")
def store(tmp_path_factory) -> Store:
    """A store of which tests only read."""
    return made(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="session")
def exported(store, tmp_path_factory) -> dict[str, Path]:
    """An export of all its runs in each format."""
    folder = tmp_path_factory.mktemp("exported")
    export = export_runs(store, [record.run_id for record in store.runs()])
    for kind in KINDS:
        write_export(export, folder / f"all.{kind}", kind)
    return {kind: folder / f"all.{kind}" for kind in KINDS}


@pytest.fixture
def there(new_location) -> StoreLocation:
    return new_location("there")


def test_there_and_back_nothing_is_lost(tmp_path, new_location, told):
    here = new_location("here")
    store = made(here)
    for kind in KINDS:
        target, there = tmp_path / kind / "all", new_location(f"from-{kind}")
        target.parent.mkdir()
        assert told(here, "export", f"--{kind}", "--output", str(target)).out == f"{target}\n"
        assert told(there, "import", str(target)).out.split() == [record.run_id for record in store.runs()]
        assert everything(Store.open(there)) == everything(store)
        assert [path.name for path in target.parent.iterdir()] == [target.name]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(result=cell_results)
def test_any_cell_survives_every_format(tmp_path, result):
    store, there = (Store.open(tmp_path / name) for name in ("any", "there"))
    run_id = begin(store, result)
    export = export_runs(store, [run_id])
    for kind in ("json", "csv"):
        write_export(export, tmp_path / kind, kind)
        assert read_export(tmp_path / kind) == export
    import_runs(there, [export])
    assert there.cells(run_id) == [result]


def test_another_run_of_the_same_id_is_refused_and_nothing_of_the_file_is_kept(there, exported):
    export = read_export(exported["json"])
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
def test_a_file_that_is_cut_off_anywhere_is_refused(tmp_path, exported, kind):
    whole = exported[kind].read_bytes()
    chance = random.Random(7)
    torn = tmp_path / "torn"
    for length in [0, 1, 2, len(whole) - 1, *(chance.randrange(len(whole)) for _ in range(25))]:
        torn.write_bytes(whole[:length])
        with pytest.raises(UsageError, match="is not a valid export"):
            read_export(torn)


@pytest.fixture
def changed(tmp_path, exported) -> Callable[..., Path]:
    """Makes an export of which one value was changed."""

    def change(value: object, *path: str | int) -> Path:
        document = place = json.loads(exported["json"].read_text())
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        file = tmp_path / "changed.json"
        file.write_text(json.dumps(document))
        return file

    return change


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
        (1, ["runs", 0, "more"], "more"),
        ([1], ["runs", 0, "command"], "command"),
        ("perfect", [*CELL, "verdict"], "verdict"),
        ({"a": ["list"]}, [*CELL, "parameters"], "parameters"),
        (2**80, [*CELL, "repetition"], "repetition"),
        ("1", [*CELL, "order"], "order"),
        ("7", [*CELL, "metrics", "run_time", "value"], "run_time"),
        ([1.0], [*CELL, "series", "idle_cpu", "times_s"], "1 times for"),
    ],
)
def test_what_no_export_holds_is_refused(changed, value, path, said):
    with pytest.raises(UsageError) as refused:
        read_export(changed(value, *path))
    assert said in refused.value.args[0]


@pytest.mark.parametrize(
    ("value", "path", "said"),
    [
        ("dancing", ["runs", 1, "status"], "runs.1.status"),
        ({"deep": json.loads("[" * 900 + "]" * 900)}, [*CELL, "found"], ""),
        (2, [*CELL, "repetition"], "contradicts itself"),
    ],
    ids=["when it is read", "when it is converted", "by the database"],
)
def test_a_file_that_is_refused_changes_nothing(there, changed, value, path, said, told):
    before = everything(Store.open(there))
    error = told(there, "import", str(changed(value, *path)), code=2).err
    assert said in error and "Traceback" not in error
    assert everything(Store.open(there)) == before


def test_times_of_any_zone_are_stored_as_utc_so_that_they_sort(changed, there, told):
    file = changed("2026-11-21T10:00:00+02:00", "runs", 0, "started_at")
    for _ in range(2):  # the second time it is the same run
        told(there, "import", str(file))
    assert Store.open(there).runs("mptcp_load")[0].started_at.isoformat() == "2026-11-21T08:00:00+00:00"


@pytest.mark.parametrize("other", ["fast", 800.0])
def test_a_run_with_texts_for_numbers_is_shown_without_an_answer(changed, exported, tmp_path, other, told):
    cells = json.loads(exported["json"].read_text())["runs"][0]["cells"]
    for each in cells:
        each["parameters"]["load"] = {500.0: "slow", 800.0: other}[each["parameters"]["load"]]
    told(tmp_path / "there", "import", str(changed(cells, "runs", 0, "cells")))
    shown = told(tmp_path / "there", "show", "latest")
    assert "slow" in shown.out and "warning: no answer can be given" in shown.err


@pytest.mark.parametrize(("old", "new"), [('"value": ', '"value": NaN, "was": '), ('"lab1"', '"\\ud800"')])
def test_json_that_is_none_is_refused(tmp_path, exported, old, new):
    file = tmp_path / "bad.json"
    file.write_text(exported["json"].read_text().replace(old, new, 1))
    with pytest.raises(UsageError, match="is not a valid export"):
        read_export(file)


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("points.csv", "", None, "points.csv"),
        ("manifest.json", "", None, "manifest.json"),
        ("cells.csv", r"[^\r\n]*\r\n\Z", "", "cells: 7 rows of 8"),
        ("metrics.csv", ",1,", ",99,", "which is not there"),
        ("manifest.json", '"version": 1', '"version": 9', "newer Flightpath"),
        ("manifest.json", '"csv"', '"pickle"', "'pickle' are unknown"),
        ("metrics.csv", "value", "worth", "value"),
        ("points.csv", ",0,0.0,", ",7,0.0,", "missing or there twice"),
        ("metrics.csv", ",1/s,", ",1/s,,,,", "more or fewer fields"),
        ("runs.csv", '"{', '"{{', ""),
    ],
)
def test_tables_that_contradict_each_other_are_refused(tmp_path, exported, name, old, new, said):
    file = tmp_path / "bad.zip"
    with zipfile.ZipFile(exported["csv"]) as archive, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bad:
        for each in archive.namelist():
            text = archive.read(each).decode()
            if each == name:
                text, changes = re.subn(old, new or "", text, count=1)
                assert changes
            if each != name or new is not None:
                bad.writestr(each, text)
    with pytest.raises(UsageError) as refused:
        read_export(file)
    assert said in refused.value.args[0]


def test_a_zip_that_unpacks_to_a_disk_full_is_refused(exported, monkeypatch):
    monkeypatch.setattr(files, "MAX_BYTES", exported["csv"].stat().st_size)
    with pytest.raises(UsageError, match="unpacks to more than"):
        read_export(exported["csv"])


def test_filters_choose_what_is_exported_and_a_file_that_cannot_be_written_is_an_error(tmp_path, store, told):
    told(store.folder, "export", "--output", str(tmp_path / "x.json"), "--scenario", "empty")
    assert [run.scenario for run in read_export(tmp_path / "x.json").runs] == ["empty"]
    told(store.folder, "export", "--output", "/proc/flightpath/x.json", code=2)


def test_a_gap_in_a_series_is_kept_and_named_because_an_export_cannot_hold_it(location, tmp_path, told):
    store = Store.open(location)
    gap = Measurement(series={"p95": Series("ms", (0.0, 1.0), (math.nan, 3.0))})
    run_id = begin(store, CellResult(Cell({}), gap, Certificate(Verdict.FAITHFUL)))
    assert str(store.cells(run_id)[0].measurement.series["p95"].values) == "(nan, 3.0)"
    said = told(location, "export", run_id, "--output", str(tmp_path / "x.json"), code=2).err
    assert f"run {run_id} cannot be exported: series.p95.values.0" in said
    assert not (tmp_path / "x.json").exists()


def test_a_failed_export_leaves_the_file_that_was_there(tmp_path, store, monkeypatch):
    target = tmp_path / "x.json"
    target.write_text("precious")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(UsageError, match="No space left"):
        write_export(export_runs(store, []), target, "json")
    assert target.read_text() == "precious"
    assert list(tmp_path.glob(".x.json*")) == []


def test_without_pyarrow_the_command_that_installs_it_is_named(tmp_path, store, monkeypatch, told):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    target = tmp_path / "runs.zip"
    said = told(store.folder, "export", "--parquet", "--output", str(target), code=3).err
    assert f"{sys.executable} -m pip install 'pyarrow" in said and not target.exists()


def test_the_tables_have_a_column_for_each_parameter(exported):
    with zipfile.ZipFile(exported["csv"]) as archive:
        header, first, *_ = archive.read("cells.csv").decode().splitlines()
        (claim,) = csv.DictReader(archive.read("claims.csv").decode().splitlines(keepends=True))
    assert header.endswith("parameter.protocol,parameter.load") and first.endswith("mptcp,500.0")
    assert claim["paper"] == "'=1+1", "a spreadsheet would compute it"
