"""An export has all of a run, an import brings in all of it, and a file that is wrong in any way changes nothing."""

import importlib.util
import io
import json
import math
import random
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from flightpath.errors import UsageError
from results.__main__ import main
from results.exchange.export import export_runs, import_runs
from results.exchange.files import read_export, write_export
from results.records import Cell, CellResult, Certificate, Claim, ClaimVerdict, Measurement, Series, Verdict
from results.store.location import StoreLocation, server_url
from results.store.store import Store
from tests.support.database_server import store_options
from tests.support.made_up_runs import cell, like_the_paper
from tests.support.stored_runs import cell_results, everything

KINDS = [
    "json",
    "csv",
    pytest.param(
        "parquet",
        marks=pytest.mark.skipif(importlib.util.find_spec("pyarrow") is None, reason="Parquet needs pyarrow"),
    ),
]


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


def test_from_one_kind_of_database_to_the_other_and_back_nothing_is_lost(tmp_path, server):
    locations = [StoreLocation(tmp_path / name) for name in ("first", "last")]
    locations.insert(1, StoreLocation(tmp_path / "server", server_url(str(server.database()))))
    first, *others = (
        made(location) if number == 0 else Store.open(location) for number, location in enumerate(locations)
    )
    before = first
    for other in others:
        import_runs(other, [read_export(exported(before, "csv"))])
        before = other
    assert everything(before) == everything(first)


def test_an_import_twice_is_an_import_once(there, store, capsys):
    file = exported(store, "json")
    for words in ("", "already there, with the same content"):
        assert main(["import", str(file), *store_options(there)]) == 0
        assert words in capsys.readouterr().out
    assert everything(Store.open(there)) == everything(store)


def test_another_run_of_the_same_id_is_refused_and_nothing_of_the_file_is_kept(there, store):
    export = read_export(exported(store, "json"))
    there = Store.open(there)
    mptcp, empty = export.runs
    import_runs(there, [export.model_copy(update={"runs": [empty]})])
    other = empty.model_copy(update={"command": ["another"]})
    with pytest.raises(UsageError, match="has another run"):
        import_runs(there, [export.model_copy(update={"runs": [mptcp, other]})])
    assert [record.run_id for record in there.runs()] == [empty.run_id]


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


@pytest.mark.parametrize("kind", KINDS)
def test_noise_in_a_file_is_an_error_or_harmless_and_never_a_crash(tmp_path, new_location, store, kind):
    whole = exported(store, kind).read_bytes()
    chance = random.Random(11)
    noisy = tmp_path / "noisy"
    for number in range(40):
        content = bytearray(whole)
        for _ in range(chance.choice((1, 5, 50))):
            content[chance.randrange(len(content))] = chance.randrange(256)
        noisy.write_bytes(content)
        assert main(["import", str(noisy), *store_options(new_location(f"there{number}"))]) in (0, 2)


def document(store: Store) -> dict:
    return json.loads(exported(store, "json").read_text())


def set_in(value, *path):
    def change(export):
        location = export
        for step in path[:-1]:
            location = location[step]
        location[path[-1]] = value

    return change


def twice(export):
    export["runs"][0]["cells"].append(export["runs"][0]["cells"][0])


CELL = ("runs", 0, "cells", 0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (set_in("something", "format"), "its format is not 'flightpath-export'"),
        (set_in(2, "version"), "a newer Flightpath wrote it"),
        (set_in("../../etc", "runs", 0, "run_id"), "run_id"),
        (set_in("..", "runs", 0, "run_id"), "run_id"),
        (set_in("a/b", "runs", 0, "run_id"), "run_id"),
        (set_in("", "runs", 0, "run_id"), "run_id"),
        (set_in("a\n", "runs", 0, "run_id"), "run_id"),
        (set_in("x" * 300, "runs", 0, "run_id"), "run_id"),
        (set_in("\x1b[2J", "runs", 0, "scenario"), "scenario"),
        (set_in("yesterday", "runs", 0, "started_at"), ""),
        (set_in("2026-11-21T10:00:00", "runs", 0, "started_at"), "no time zone"),
        (set_in("dancing", "runs", 0, "status"), "status"),
        (set_in(1, "runs", 0, "more"), "more"),
        (set_in([1], "runs", 0, "command"), "command"),
        (set_in("perfect", *CELL, "verdict"), "verdict"),
        (set_in({"a": ["list"]}, *CELL, "parameters"), "parameters"),
        (set_in(2**80, *CELL, "repetition"), "repetition"),
        (set_in("1", *CELL, "order"), "order"),
        (set_in(None, *CELL, "metrics", "run_time", "value"), "run_time"),
        (set_in("7", *CELL, "metrics", "run_time", "value"), "run_time"),
        (set_in([1.0], *CELL, "series", "idle_cpu", "times_s"), "1 times for"),
        (set_in({"deep": json.loads("[" * 900 + "]" * 900)}, *CELL, "found"), ""),
        (twice, "contradicts itself"),
    ],
)
def test_what_no_export_holds_is_refused_and_changes_nothing(tmp_path, there, store, change, said, capsys):
    export = document(store)
    change(export)
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(export))
    before = everything(Store.open(there))
    assert main(["import", str(file), *store_options(there)]) == 2
    error = capsys.readouterr().err
    assert said in error and "Traceback" not in error
    assert everything(Store.open(there)) == before


@pytest.mark.parametrize(
    ("old", "new"),
    [('"value": ', '"value": NaN, "was": '), ('"lab1"', '"\\ud800"'), ("{", "{" * 5), ('"runs"', '"runs": [], "x"')],
)
def test_json_that_is_none_is_refused(tmp_path, there, store, old, new):
    file = tmp_path / "bad.json"
    file.write_text(exported(store, "json").read_text().replace(old, new, 1))
    assert main(["import", str(file), *store_options(there)]) == 2
    assert Store.open(there).runs() == []


def rezipped(store: Store, tmp_path: Path, change) -> Path:
    """The zip of tables with its files changed by name."""
    with zipfile.ZipFile(exported(store, "csv")) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    change(files)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    target = tmp_path / "bad.zip"
    target.write_bytes(packed.getvalue())
    return target


def without_last_line(name):
    def change(files):
        files[name] = "\r\n".join(files[name].split("\r\n")[:-2]) + "\r\n"

    return change


def replaced(name, old, new):
    def change(files):
        assert old in files[name]
        files[name] = files[name].replace(old, new, 1)

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda files: files.pop("points.csv"), "points.csv"),
        (lambda files: files.pop("manifest.json"), "manifest.json"),
        (without_last_line("metrics.csv"), "metrics: "),
        (without_last_line("points.csv"), "points"),
        (without_last_line("cells.csv"), "cells: 7 rows of 8"),
        (replaced("metrics.csv", ",1,", ",99,"), "which is not there"),
        (replaced("manifest.json", '"version": 1', '"version": 9'), "newer Flightpath"),
        (replaced("manifest.json", '"csv"', '"pickle"'), "'pickle' are unknown"),
        (replaced("metrics.csv", "value", "worth"), "value"),
        (replaced("points.csv", ",0,0.0,", ",7,0.0,"), "missing or there twice"),
        (replaced("metrics.csv", ",1/s,", ",1/s,,,,"), "more or fewer fields"),
        (replaced("runs.csv", "done", "danced"), "status"),
        (replaced("runs.csv", '"{', '"{{'), ""),
    ],
)
def test_tables_that_contradict_each_other_are_refused(tmp_path, there, store, change, said, capsys):
    file = rezipped(store, tmp_path, change)
    assert main(["import", str(file), *store_options(there)]) == 2
    assert said in capsys.readouterr().err
    assert Store.open(there).runs() == []


def test_a_zip_that_unpacks_to_a_disk_full_is_refused(there, store, monkeypatch, capsys):
    file = exported(store, "csv")
    monkeypatch.setattr("results.exchange.files.MOST_BYTES", 50_000)
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


def test_the_tables_have_a_column_for_each_parameter(store):
    with zipfile.ZipFile(exported(store, "csv")) as archive:
        header, first, *_ = archive.read("cells.csv").decode().splitlines()
    assert header.endswith("parameter.protocol,parameter.load") and first.endswith("mptcp,500.0")


def test_a_store_that_grew_since_is_not_overwritten(here, store):
    run_id = store.runs("empty")[0].run_id
    file = exported(store, "json")
    store.record(run_id, replace(cell("tcp", 500.0)), 0)
    assert main(["import", str(file), *store_options(here)]) == 2
    assert len(store.cells(run_id)) == 1
