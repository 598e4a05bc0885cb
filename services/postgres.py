"""A PostgreSQL cluster that lives as long as a run: without it answers would be saved nowhere."""

import os
import shutil
import signal
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from flightpath.commands import SETUP_HINT, CommandFailed, over_mptcp, run
from flightpath.errors import FlightpathError, MeasurementFailed, MissingCapability, StartFailed
from flightpath.hosts import Host, succeeds_in
from services.running.daemon import Daemon, DaemonService
from services.running.privileges import Privileges

PORT = 5432
_INSTALLED = Path("/usr/lib/postgresql")
_SUPERUSER = "postgres"
_HINT = "its port may be taken, or its folder full or not writable"

_SETTINGS = """\
# Commits. With fsync off the kernel still has every commit before the client hears of it; only a crash of the machine
# could lose one, and then the cluster, which lives in memory, is gone anyway. The same goes for full_page_writes.
fsync = off
full_page_writes = off
synchronous_commit = on
wal_level = minimal
max_wal_senders = 0
max_logical_replication_workers = 0
max_wal_size = 512MB
checkpoint_timeout = 1h

# Speed: the same few statements over and over, on little data. Housekeeping would disturb a measurement.
autovacuum = off
jit = off
plan_cache_mode = force_generic_plan
# Statements are planned once, while the tables are still empty: without this every look would read a whole table.
enable_seqscan = off
enable_bitmapscan = off
max_parallel_workers_per_gather = 0
track_activities = off
track_counts = off
update_process_title = off
shared_buffers = 32MB

# Nothing may stay behind outside of the folder, however the cluster ends.
dynamic_shared_memory_type = mmap
log_destination = stderr
log_min_messages = warning
"""
# Only root and the cluster's own user can enter the folder of the Unix socket; the network needs the password.
_ACCESS = "local all all trust\nhost all all all scram-sha-256\n"


class Postgres(DaemonService):
    """One PostgreSQL server; ready means that it accepts clients over TCP.

    Args:
        host: where it runs.
        address: the address to listen on; over MPTCP it listens on all, or further subflows would find nobody there.
        folder: for the cluster, on a tmpfs; made if need be, and private to the server.
        mptcp: listen for MPTCP (which accepts plain TCP as well).
        max_connections: how many clients may connect.
    """

    def __init__(
        self, host: Host, address: str, folder: Path, *, mptcp: bool = False, max_connections: int = 20
    ) -> None:
        self.host, self.address, self.folder = host, address, Path(folder)
        self._mptcp, self._max_connections = mptcp, max_connections
        self._privileges = Privileges.found()

    def __enter__(self) -> Self:
        """Makes the cluster and starts the server.

        Raises:
            MissingCapability: PostgreSQL is not installed.
            StartFailed: it did not start; with the end of its log.
        """
        self._make_cluster()
        command = [str(programs() / "postgres"), "-D", str(self._data)]
        prefix = self._privileges.prefix(private_ipc=True)
        log = self.folder / "postgres.log"
        argv = [*prefix, *over_mptcp(self._mptcp), *command]
        self._daemon = Daemon(self.host, "PostgreSQL", argv, log, stop_signal=signal.SIGINT, hint=_HINT)
        try:
            self._daemon.start(self._is_ready)
        except BaseException:
            self._remove_cluster()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops the server and removes the cluster; its log stays."""
        super().__exit__(kind, error, trace)
        self._remove_cluster()

    def sql(self, script: str | Iterable[str], database: str = "postgres") -> str:
        """Runs a script as the superuser through the Unix socket, stops at its first error, returns what it printed.

        Raises:
            MeasurementFailed: PostgreSQL refused; with its words.
        """
        text = script if isinstance(script, str) else "".join(script)
        options = ["--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--set=ON_ERROR_STOP=1"]
        where = [f"--host={self.folder}", f"--port={PORT}", f"--username={_SUPERUSER}", f"--dbname={database}"]
        try:
            return run([str(programs() / "psql"), *options, *where], stdin=text)
        except CommandFailed as error:
            raise MeasurementFailed(f"PostgreSQL on {self.host.name} refused: {error}") from error

    @property
    def _data(self) -> Path:
        return self.folder / "cluster"

    def _make_cluster(self) -> None:
        options = ["--no-sync", "--no-instructions", "--locale=C", "--encoding=UTF8", "--wal-segsize=4"]
        initdb = [str(programs() / "initdb"), *options, "--auth=trust", f"--username={_SUPERUSER}", str(self._data)]
        self._privileges.prepare_folder(self.folder)
        try:
            run([*self._privileges.prefix(), *initdb], cwd=self.folder)
        except FlightpathError as error:
            self._remove_cluster()
            raise StartFailed(f"{self.host.name}: cannot make a PostgreSQL cluster: {error}", _HINT) from error
        self._write("postgresql.conf", settings(self.folder, self._listens_on, self._max_connections))
        self._write("pg_hba.conf", _ACCESS)

    def _remove_cluster(self) -> None:
        shutil.rmtree(self._data, ignore_errors=True)

    @property
    def _listens_on(self) -> str:
        return "*" if self._mptcp else self.address

    def _write(self, name: str, text: str) -> None:
        path = self._data / name
        path.write_text(text)
        self._privileges.give(path)

    def _is_ready(self) -> bool:
        return self._says_ready() and self._accepts_clients()

    def _says_ready(self) -> bool:
        """What pg_ctl looks at, since it costs nothing to ask."""
        try:
            lines = (self._data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) >= 8 and lines[7].strip() == "ready"

    def _accepts_clients(self) -> bool:
        options = ["--quiet", f"--host={self.address}", f"--port={PORT}"]
        return succeeds_in(self.host, [str(programs() / "pg_isready"), *options])


def settings(folder: Path, listens_on: str, max_connections: int) -> str:
    """The text of `postgresql.conf`."""
    quoted = str(folder).replace("'", "''")
    where = f"listen_addresses = '{listens_on}'\nport = {PORT}\nunix_socket_directories = '{quoted}'\n"
    return f"{where}max_connections = {max_connections}\n\n{_SETTINGS}"


def programs() -> Path:
    """The folder of PostgreSQL's programs, the newest version that is installed.

    Raises:
        MissingCapability: there is none.
    """
    found = [folder for folder in _INSTALLED.glob("*/bin") if os.access(folder / "initdb", os.X_OK)]
    if not found:
        raise MissingCapability("PostgreSQL is not installed", SETUP_HINT)
    return max(found, key=lambda folder: [int(part) for part in folder.parent.name.split(".") if part.isdigit()])
