"""The files of a store: damaged, foreign, old or unwritable ones are named, and nothing is lost or half made."""

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from flightpath.errors import UsageError
from results.store.schema import SCHEMA_VERSION
from results.store.sqlite import DATABASE_NAME
from results.store.store import Store
from tests.support.stored_runs import begin, simple


def filled(folder: Path) -> Path:
    begin(Store.open(folder), *(simple(number, note=number) for number in range(40)))
    return folder / DATABASE_NAME


def execute(database: Path, statement: str) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute(statement)


def scrambled(database: Path) -> None:
    database.write_bytes(os.urandom(8192))


def holed(database: Path) -> None:
    with database.open("r+b") as file:
        file.seek(4096 * 2)
        file.write(b"\xff" * 4096 * 6)


def without_a_table(database: Path) -> None:
    execute(database, "DROP TABLE metrics")


@pytest.mark.parametrize("damage", [scrambled, holed, without_a_table])
def test_a_damaged_database_is_named_and_moved_aside(tmp_path, damage, capsys):
    database = filled(tmp_path)
    damage(database)
    before = database.read_bytes()
    with pytest.raises(UsageError, match="damaged"):
        Store.open(tmp_path, create=False)
    store = Store.open(tmp_path)
    (aside,) = tmp_path.glob("flightpath.damaged-*.sqlite")
    assert aside.read_bytes() == before
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and str(database) in said and f"moved aside to {aside}" in said
    assert store.runs() == []
    begin(store, simple())


def test_a_second_damaged_database_does_not_replace_the_first(tmp_path):
    for _ in range(3):
        scrambled(filled(tmp_path))
        Store.open(tmp_path)
    assert len(list(tmp_path.glob("flightpath.damaged-*.sqlite"))) == 3


def test_an_empty_file_becomes_a_store(tmp_path):
    (tmp_path / DATABASE_NAME).touch()
    assert Store.open(tmp_path).runs() == []


@pytest.mark.parametrize(
    ("pragma", "said"),
    [(f"user_version = {SCHEMA_VERSION + 1}", "newer Flightpath"), ("application_id = 0", "another program")],
)
def test_a_newer_schema_and_somebody_elses_database_are_refused_and_left_alone(tmp_path, pragma, said):
    database = filled(tmp_path)
    execute(database, f"PRAGMA {pragma}")
    before = database.read_bytes()
    for create in (True, False):
        with pytest.raises(UsageError, match=said):
            Store.open(tmp_path, create=create)
    assert database.read_bytes() == before


def test_a_folder_that_cannot_be_used_is_a_usage_error(tmp_path):
    file = tmp_path / "file"
    file.write_text("precious")
    for impossible in (file, file / "below", Path("/proc/flightpath/runs")):
        with pytest.raises(UsageError, match="results cannot be kept in"):
            Store.open(impossible)
    assert file.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [file]


def test_nothing_is_left_half_made(tmp_path, monkeypatch):
    deep = tmp_path / "a" / "b" / "c"
    real = Path.mkdir

    def failing(path, *args, **kwargs):
        if path.name == "c":
            raise PermissionError(13, "Permission denied")
        real(path, *args, **kwargs)

    monkeypatch.setattr(Path, "mkdir", failing)
    with pytest.raises(UsageError, match="Permission denied"):
        Store.open(deep)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_somebody_else_may_read_what_they_cannot_write(tmp_path):
    filled(tmp_path)
    for folder in (tmp_path, *tmp_path.parents[:3]):  # each worker of the tests has one more of its own
        folder.chmod(folder.stat().st_mode | stat.S_IROTH | stat.S_IXOTH)
    child = os.fork()
    if child == 0:
        try:
            os.setgid(65534)
            os.setuid(65534)
            os._exit(len(Store.open(tmp_path, create=False).cells("latest")))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 40


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give files away")
def test_files_made_through_sudo_belong_to_the_caller(tmp_path, monkeypatch):
    monkeypatch.setenv("SUDO_UID", "12345")
    monkeypatch.setenv("SUDO_GID", "12346")
    store = Store.open(tmp_path / "a" / "runs")
    begin(store, simple())
    made = [*tmp_path.rglob("*"), store.artifacts("latest")]
    assert len(made) >= 4
    assert {(path.stat().st_uid, path.stat().st_gid) for path in made} == {(12345, 12346)}
    assert tmp_path.stat().st_uid == 0
