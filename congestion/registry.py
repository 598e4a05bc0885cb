"""Which algorithms Flightpath has registered, and for whom: without it nobody could tell ours from another's.

Each is held by a background process (`native/bpf/registration.c`), told by the kernel when the last of its users
has ended, however. With it goes the registration: the kernel drops it with its last reference. So nothing can be left
over, except on kernels before 6.4, if the holder itself is killed: those keep a registration until they are told.
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
_ANSWER_BYTES, _ANSWER_S = 16384, 10


@dataclass(frozen=True)
class Record:
    """What a holder wrote about itself.

    Attributes:
        name: of the algorithm.
        pid, started: the holder; its start is in clock ticks since boot, so that the pair names it for ever.
        map_id: the kernel's number of what it registered.
        linked: whether the registration goes with the holder (Linux 6.4).
        object: the BPF object that it was made of.
    """

    name: str
    pid: int
    started: int
    map_id: int
    linked: bool
    object: Path


@dataclass(frozen=True)
class Orphan:
    """What a holder that was killed left: its record, and on old kernels the algorithm itself."""

    name: str
    was_registered: bool


def record(name: str) -> Record | None:
    """What is recorded of an algorithm; None: nothing."""
    try:
        told = json.loads((RECORDS / f"{name}.json").read_text())
    except (OSError, ValueError):
        return None
    return Record(**{**told, "object": Path(told["object"])})


def join(name: str) -> socket.socket | None:
    """Becomes a user of an algorithm that is held already; None: it is not, or not for this user."""
    user = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    user.settimeout(_ANSWER_S)
    with contextlib.suppress(OSError):
        user.connect(str(RECORDS / f"{name}.sock"))
        if user.recv(_ANSWER_BYTES):
            user.settimeout(None)
            return user
    user.close()
    return None


def ask(user: socket.socket, request: str) -> str:
    """Asks a holder: `who`, `keep` or `release` (`congestion_loader --help`)."""
    user.send(request.encode())
    return user.recv(_ANSWER_BYTES).rstrip(b"\0").decode()


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """While an algorithm is looked for and loaded, nobody else does so.

    Raises:
        MissingCapability: this user may not keep records.
    """
    try:
        RECORDS.mkdir(mode=0o755, exist_ok=True)
        lock = (RECORDS / "lock").open("w")
    except OSError as error:
        raise MissingCapability(f"cannot record who holds a congestion control: {error}", "run it with sudo") from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def clean() -> list[Orphan]:
    """Removes what holders that were killed have left, and nothing else; returns what it was.

    An algorithm is taken back only if it is still the one that the record names by the kernel's own number.

    Raises:
        MissingCapability: this user may not.
    """
    if not any(RECORDS.glob("*.json")):
        return []
    with one_at_a_time():
        found = [remove_orphan(path.stem) for path in sorted(RECORDS.glob("*.json"))]
    return [orphan for orphan in found if orphan is not None]


def remove_orphan(name: str) -> Orphan | None:
    """Removes what is left of an algorithm whose holder was killed; None: there is no such thing."""
    found = record(name)
    if found is None or is_alive(found):
        return None
    is_ours = not found.linked and loader.registered().get(found.name) == found.map_id
    if is_ours:
        loader.unregister(found.map_id, found.name)
    for suffix in (".json", ".sock"):
        (RECORDS / f"{found.name}{suffix}").unlink(missing_ok=True)
    return Orphan(found.name, is_ours)


def is_alive(found: Record) -> bool:
    """Whether the holder of a record lives: not one that has its number now, nor one that nobody has buried yet."""
    process = Process.read(found.pid)
    return process is not None and process.started == found.started
