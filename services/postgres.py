"""A PostgreSQL server in a host, with a cluster that exists as long as the service."""

import shutil
import signal
from collections.abc import Iterable
from pathlib import Path

from flightpath.commands import CommandFailed, run
from flightpath.commands import postgresql_programs as programs
from flightpath.errors import FlightpathError, MeasurementFailed, StartFailed
from flightpath.hosts import Host, succeeds_in
from flightpath.overrides import override
from services.postgres_cluster import CLUSTER, SUPERUSER, make_cluster
from services.running.daemon import DaemonService
from services.running.privileges import Privileges

PORT = 5432

_SETTINGS = """\
max_connections = 20

# Commits. With fsync off, the kernel still has every commit before the client is notified. Only a crash of the machine
# can lose one, and then the whole cluster is lost, because it is in memory. The same goes for full_page_writes.
fsync = off
full_page_writes = off
synchronous_commit = on
wal_level = minimal
max_wal_senders = 0
max_logical_replication_workers = 0
max_wal_size = 512MB
checkpoint_timeout = 1h

# Speed: a few statements run again and again, on little data. Housekeeping would disturb a measurement.
autovacuum = off
jit = off
plan_cache_mode = force_generic_plan
# Statements are planned once, while the tables are empty: PostgreSQL would choose to read whole tables.
enable_seqscan = off
enable_bitmapscan = off
max_parallel_workers_per_gather = 0
track_activities = off
track_counts = off
update_process_title = off
shared_buffers = 32MB

# Nothing may be left outside of the folder, however the cluster ends.
dynamic_shared_memory_type = mmap
log_destination = stderr
log_min_messages = warning
"""
# Only root and the cluster's user can enter the folder of the Unix socket; over the network a password is needed.
_ACCESS = "local all all trust\nhost all all all scram-sha-256\n"


class Postgres(DaemonService):
    """One PostgreSQL server; it is ready when it accepts clients over TCP.

    Args:
        address: address to listen on. With MPTCP it listens on all addresses, for the further subflows.
        folder: folder for the cluster, on a tmpfs; made if it does not exist, and closed to others.
    """

    daemon_name, log_name = "PostgreSQL", "postgres.log"
    hint = "its port may be taken, or its folder full or not writable"
    stop_signal = signal.SIGINT

    def __init__(self, host: Host, address: str, folder: Path, *, mptcp: bool = False) -> None:
        super().__init__(host, folder, port=PORT, mptcp=mptcp, privileges=Privileges.detect())
        self.address, self._data = address, self.folder / CLUSTER

    def sql(self, script: str | Iterable[str], database: str = "postgres") -> str:
        """Runs an SQL script as the superuser, over the Unix socket, up to the first error; returns its output."""
        text = script if isinstance(script, str) else "".join(script)
        options = ["--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--set=ON_ERROR_STOP=1"]
        where = [f"--host={self.folder}", f"--port={PORT}", f"--username={SUPERUSER}", f"--dbname={database}"]
        try:
            return run([str(programs() / "psql"), *options, *where], stdin=text)
        except CommandFailed as error:
            raise MeasurementFailed(f"PostgreSQL on {self.host.name} refused: {error}") from error

    @override
    def _prepare(self) -> None:
        self._privileges.prepare_folder(self.folder)
        try:
            make_cluster(self.folder, self._privileges)
        except FlightpathError as error:
            raise StartFailed(f"{self.host.name}: cannot make a PostgreSQL cluster: {error}", self.hint) from error
        listen = "*" if self._mptcp else self.address
        self._write(self._data / "postgresql.conf", settings(self.folder, listen))
        self._write(self._data / "pg_hba.conf", _ACCESS)

    @override
    def _argv(self) -> list[str]:
        return self._wrapped(str(programs() / "postgres"), "-D", str(self._data), private_ipc=True)

    @override
    def _clean_up(self) -> None:
        """Removes the cluster; its log stays."""
        shutil.rmtree(self._data, ignore_errors=True)

    @override
    def _is_ready(self) -> bool:
        try:  # its PID file says so, where pg_ctl looks too; no program is needed until then
            lines = (self._data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        if len(lines) < 8 or lines[7].strip() != "ready":
            return False
        options = ["--quiet", f"--host={self.address}", f"--port={PORT}"]
        return succeeds_in(self.host, [str(programs() / "pg_isready"), *options])


def settings(folder: Path, listen: str) -> str:
    quoted = str(folder).replace("'", "''")
    return f"listen_addresses = '{listen}'\nport = {PORT}\nunix_socket_directories = '{quoted}'\n\n{_SETTINGS}"
