"""A store on a PostgreSQL server: who cannot reach it is told so, no password is kept, other tables are left alone."""

import pytest
from sqlalchemy import delete, select, update

from flightpath.errors import MissingCapability, UsageError
from results.__main__ import main
from results.exchange.export import export_runs
from results.exchange.files import write_export
from results.records import Claim, ClaimVerdict
from results.store.backend import StoreFailed
from results.store.location import StoreLocation, server_url, without_passwords
from results.store.schema import SCHEMA_VERSION, RunRow
from results.store.store import Store
from tests.support.database_server import PASSWORD
from tests.support.earlier_stores import DATA
from tests.support.stored_runs import begin, simple


@pytest.fixture
def location(tmp_path, server) -> StoreLocation:
    return StoreLocation(tmp_path / "runs", server_url(str(server.database())))


def columns(server, location: StoreLocation) -> list[tuple]:
    """Rows of all tables."""
    question = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
    return sorted(server.sql(question, location.server.database))


def test_a_newer_schema_is_refused_and_left_alone(location, server):
    Store.open(location)
    server.sql(f"UPDATE alembic_version SET version_num = '{SCHEMA_VERSION + 1}'", location.server.database)
    for create in (True, False):
        with pytest.raises(UsageError, match="newer Flightpath"):
            Store.open(location, create=create)


ALEMBICS = "CREATE TABLE alembic_version (version_num varchar);"


@pytest.mark.parametrize(
    "theirs",
    [
        "CREATE TABLE runs (x int)",
        ALEMBICS,
        f"{ALEMBICS} INSERT INTO alembic_version VALUES ('3')",
        f"{ALEMBICS} CREATE TABLE runs (x int); INSERT INTO alembic_version VALUES ('8f3a')",
    ],
)
def test_somebody_elses_tables_are_refused_and_left_alone(location, server, theirs):
    server.sql(theirs, location.server.database)
    before = columns(server, location)
    for create in (True, False):
        with pytest.raises(UsageError, match="tables of another program"):
            Store.open(location, create=create)
    assert columns(server, location) == before


def test_tables_of_other_names_are_no_hindrance(location, server):
    server.sql("CREATE TABLE their_results (x int)", location.server.database)
    begin(Store.open(location))


def test_reading_makes_nothing_and_cannot_write(location, server):
    with pytest.raises(UsageError, match="there is no store"):
        Store.open(location, create=False)
    assert columns(server, location) == []
    run_id = begin(Store.open(location))
    with pytest.raises(StoreFailed, match="read-only"), Store.open(location, create=False).reading() as session:
        session.execute(delete(RunRow))
    assert Store.open(location).run(run_id).run_id == run_id


@pytest.mark.parametrize(
    "url",
    ["mysql://u@h/d", "postgresql://u@h", "postgresql://u:p@h:port/d", "runs", "postgresql://h/d?password=s3cret"],
)
def test_what_is_no_url_of_a_store_is_a_usage_error_that_does_not_repeat_it(url, capsys):
    assert main(["list", "--store", url]) == 2
    said = capsys.readouterr().err
    assert "--store" in said and "s3cret" not in said


@pytest.mark.parametrize(
    ("where", "shown"),
    [
        ("postgresql://u:s3cret@127.0.0.1:1/d", "127.0.0.1"),
        ("postgresql://u:s3cret@nowhere.invalid/d", "nowhere.invalid"),
        ("postgresql:///d?host=/", ""),
        ("postgresql://u@127.0.0.1:1/d?sslmode=require&sslpassword=s3cret", "sslmode=require"),
    ],
)
@pytest.mark.parametrize("words", [["list"], ["import"], ["serve", "--port", "0"]])
def test_a_server_that_cannot_be_reached_is_named_without_a_password(where, shown, words, capsys):
    file = [str(DATA / "mptcp_load_run.csv.zip")] if words == ["import"] else []
    assert main([*words, *file, "--store", where]) == 3
    said = capsys.readouterr().err
    assert "cannot be used" in said and shown in said and "Traceback" not in said and "s3cret" not in said


def with_password(location: StoreLocation, password: str) -> StoreLocation:
    return StoreLocation(location.folder, location.server.set(username="student", password=password))


def test_a_wrong_password_is_refused_and_a_right_one_never_shown(location, server, tmp_path, capsys, monkeypatch):
    database = location.server.database
    server.sql(f"GRANT ALL ON DATABASE {database} TO student")
    server.sql("GRANT ALL ON SCHEMA public TO student", database)
    with pytest.raises(MissingCapability, match="password authentication failed"):
        Store.open(with_password(location, "wrong"))
    url = with_password(location, PASSWORD).server.set(drivername="postgresql").render_as_string(hide_password=False)
    store = Store.open(StoreLocation(location.folder, server_url(url)))
    run_id = store.begin_run("s", {}, {}, ["python", "-m", "x", "--store", url, f"--store={url}"])
    store.finish_run(run_id, "done")
    export = ["export", "latest", "--output", str(tmp_path / "x.json")]
    for words in (["show", "latest"], ["show", "latest", "--json"], ["show", "nobody"], export):
        main([*words, "--store", url])
    everywhere = f"{capsys.readouterr()}{store.name}{store.run(run_id)}{(tmp_path / 'x.json').read_text()}"
    assert "s3cret" not in everywhere
    assert "student@" in " ".join(store.run(run_id).command)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    without = location.server.set(username="student")
    assert Store.open(StoreLocation(location.folder, without), create=False).run(run_id).run_id == run_id


@pytest.mark.parametrize(
    ("word", "kept"),
    [
        ("postgresql://u:p@h/d", "postgresql://u@h/d"),
        ("--store=postgres://u:p:/?@q@h:1/d?x=y", "--store=postgres://u@h:1/d?x=y"),
        ("postgresql://:p@/d", "postgresql://@/d"),
        ("postgresql://u@h/d", "postgresql://u@h/d"),
        ("postgresql://u@h/d?a=b&sslpassword=p&c=d", "postgresql://u@h/d?a=b&sslpassword=***&c=d"),
        ("--store=postgresql://u:p@h/d?ssl%50assword=p", "--store=postgresql://u@h/d?ssl%50assword=***"),
        ("https://u:p@h", "https://u:p@h"),
    ],
)
def test_passwords_are_taken_out_of_a_command(word, kept):
    assert without_passwords([word, "x"]) == [kept, "x"]


def test_a_store_goes_on_after_the_server_closed_its_connections(location, server):
    store = Store.open(location)
    run_id = begin(store)
    server.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{location.server.database}'")
    store.record(run_id, simple(), 0)
    assert store.cells(run_id) == [simple()]


def test_an_export_that_the_server_cannot_keep_changes_nothing(location, tmp_path, told):
    store = Store.open(StoreLocation(tmp_path / "file"))
    store.record_claims(begin(store), [Claim("a\0b", "", "", ClaimVerdict.NOT_TESTED)])
    write_export(export_runs(store, [store.resolve("latest")]), tmp_path / "x.json", "json")
    begin(Store.open(location))
    said = told(location, "import", str(tmp_path / "x.json"), code=2).err
    assert "cannot be stored" in said and "NUL" in said
    assert len(Store.open(location).runs()) == 1


def test_several_may_read_while_one_writes(location):
    """A dashboard's threads do so."""
    store = Store.open(location)
    run_id = begin(store)
    with store.writing() as session, store.reading() as one, store.reading() as another:
        session.execute(update(RunRow).values(scenario="other"))
        assert {s.scalar(select(RunRow.scenario)) for s in (one, another)} == {"mptcp_load"}
    assert store.run(run_id).scenario == "other"
