"""The registration daemons that Flightpath has started: one for each algorithm that it has registered.

A daemon (`native/bpf/registration.c`) keeps its algorithm registered while any process is connected to it; the kernel
closes a process's connection when it ends, however that happens. With the daemon the kernel drops the registration,
so nothing is left over, except on kernels before 6.4: if the daemon is killed there, the registration stays until
`clean` removes it.
"""

import contextlib
import fcntl
import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from congestion import loader
from flightpath.errors import MissingCapability
from flightpath.processes import Process

RECORDS = Path("/run/flightpath-congestion")
_ANSWER_BYTES, _TIMEOUT_S = 16384, 10


@dataclass(frozen=True)
class Record:
    """Record of a daemon, written by itself.

    Attributes:
        pid, started: PID and start, in clock ticks since boot; together they identify the daemon.
        map_id: kernel's id of the registered map.
        linked: whether the registration ends with the daemon (Linux 6.4).
    """

    name: str
    pid: int
    started: int
    map_id: int
    linked: bool
    object: Path

    def is_alive(self) -> bool:
        process = Process.read(self.pid)
        return process is not None and process.started == self.started


@dataclass(frozen=True)
class Orphan:
    """Leftovers of a killed daemon: its record, and on kernels before 6.4 the registration."""

    name: str
    was_registered: bool


def read_record(name: str) -> Record | None:
    """Reads the record of the daemon for an algorithm; returns None if there is none."""
    try:
        fields = json.loads((RECORDS / f"{name}.json").read_text())
    except (OSError, ValueError):
        return None
    return Record(**{**fields, "object": Path(fields["object"])})


def connect(name: str) -> socket.socket | None:
    """Connects to the daemon for an algorithm; returns None if there is no daemon, or this user may not connect."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.settimeout(_TIMEOUT_S)
    with contextlib.suppress(OSError):
        connection.connect(str(RECORDS / f"{name}.sock"))
        if connection.recv(_ANSWER_BYTES):
            connection.settimeout(None)
            return connection
    connection.close()
    return None


def ask(connection: socket.socket, request: str) -> str:
    """Sends a daemon `who`, `keep` or `release` (see `congestion_loader --help`), and returns its answer."""
    connection.send(request.encode())
    return connection.recv(_ANSWER_BYTES).rstrip(b"\0").decode()


@contextlib.contextmanager
def lock() -> Iterator[None]:
    """Locks the records: one process at a time looks for an algorithm and registers it. Daemons end under it, too."""
    try:
        RECORDS.mkdir(mode=0o755, exist_ok=True)
        file = (RECORDS / "lock").open("w")
    except OSError as error:
        raise MissingCapability(f"cannot write to {RECORDS}: {error}", "run it with sudo") from error
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def clean() -> list[Orphan]:
    """Removes the leftovers of killed daemons, and returns them.

    A registration is removed only if its map is still the one in the daemon's record.
    """
    if not any(RECORDS.glob("*.json")):
        return []
    with lock():
        orphans = [remove_orphan(path.stem) for path in sorted(RECORDS.glob("*.json"))]
    return [orphan for orphan in orphans if orphan is not None]


def remove_orphan(name: str) -> Orphan | None:
    """Removes the leftovers of a killed daemon; returns None if there are none."""
    record = read_record(name)
    if record is None or record.is_alive():
        return None
    is_registered = not record.linked and loader.registered().get(name) == record.map_id
    if is_registered:
        loader.unregister(record.map_id, name)
    for suffix in (".json", ".sock"):
        (RECORDS / f"{name}{suffix}").unlink(missing_ok=True)
    return Orphan(name, is_registered)
