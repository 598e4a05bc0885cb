"""A PostgreSQL server for the tests."""

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
from sqlalchemy import URL

from flightpath.waiting import wait_until
from results.store.location import StoreLocation
from services.postgres import programs
from services.postgres_cluster import make_cluster
from services.running.privileges import Privileges
from tests.support.ports import free_port

PASSWORD = "s3cret/with:all?of@it"
"""Password of the role `student`, who alone needs one."""

_ACCESS = """\
local all student scram-sha-256
host all student all scram-sha-256
local all all trust
host all all all trust
"""

# Whatever ends the tests closes the pipe that is this script's stdin: then the server ends, and its folder is removed.
# The tests do not wait for that: 150 databases are 50,000 files, which take minutes on a busy disk.
_UNTIL_STDIN_ENDS = """
folder=$1; shift; "$@" &
read -r _
kill -QUIT $!; wait; rm -rf "$folder" &
"""


class DatabaseServer:
    """A running server on a Unix socket and a port of 127.0.0.1; each `database()` is a new one."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port, self._made = folder, port, 0

    def sql(self, statement: str, database: str = "postgres") -> list[tuple]:
        """Returns the answer to a statement of the superuser."""
        with psycopg.connect(self._url(database).render_as_string(hide_password=False), autocommit=True) as connection:
            found = connection.execute(statement)
            return found.fetchall() if found.description else []

    def answers(self) -> bool:
        with contextlib.suppress(psycopg.OperationalError):
            return bool(self.sql("SELECT 1"))
        return False

    def database(self) -> URL:
        """The URL of a new, empty database."""
        self._made += 1
        self.sql(f"CREATE DATABASE d{self._made}")
        return self._url(f"d{self._made}")

    def over_tcp(self, url: URL) -> URL:
        """The same database, by the port of 127.0.0.1."""
        return URL.create("postgresql", username="postgres", host="127.0.0.1", port=self.port, database=url.database)

    def _url(self, database: str) -> URL:
        where = {"host": str(self.folder), "port": str(self.port)}
        return URL.create("postgresql", username="postgres", database=database, query=where)


def store_options(location: StoreLocation) -> list[str]:
    server = ["--store", str(location.server.set(drivername="postgresql"))] if location.server else []
    return ["--results", str(location.folder), *server]


@contextlib.contextmanager
def database_server() -> Iterator[DatabaseServer]:
    """Runs a server as an unprivileged user."""
    privileges = Privileges.detect()
    folder = Path(tempfile.mkdtemp(prefix="flightpath-postgres-"))
    try:
        privileges.prepare_folder(folder)
        data = make_cluster(folder, privileges)
        (data / "pg_hba.conf").write_text(_ACCESS)
        port = free_port()
        where = f"listen_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = '{folder}'\n"
        with (data / "postgresql.conf").open("a") as configuration:
            configuration.write(f"{where}max_connections = 100\ndynamic_shared_memory_type = mmap\nfsync = off\n")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    run = [*privileges.prefix(), str(programs() / "postgres"), "-D", str(data)]
    argv = ["sh", "-c", _UNTIL_STDIN_ENDS, "sh", str(folder), *run]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(argv, **streams, start_new_session=True, cwd="/")  # a Ctrl-C is for the tests
    server = DatabaseServer(folder, port)
    try:
        wait_until(server.answers, "PostgreSQL to answer", 30)
        server.sql("CREATE ROLE student LOGIN PASSWORD '" + PASSWORD + "'")
        yield server
    finally:
        process.stdin.close()
        process.wait(60)
