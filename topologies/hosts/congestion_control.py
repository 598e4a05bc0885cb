"""One congestion control for every connection of a host, without touching the machine's own settings.

In a network namespace the kernel refuses to change the default to an algorithm that the initial namespace does not
allow. Two things are allowed, and together cover all sockets: a route may name the algorithm (`congctl`; connecting
sockets, and plain TCP sockets that are accepted), and whoever administers the namespace may set TCP_CONGESTION on a
listening socket, from which accepted MPTCP connections and their later subflows inherit it.
"""

import contextlib
import os
import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import native
from flightpath import libc
from flightpath.errors import FlightpathError
from topologies.hosts.multihomed import MultihomedHost

_PIDFD_GETFD = 438
_BEFORE_ALGORITHM = {"ts", "sack", "ecn", "ecnseen", "fastopen"}


def set_on_listeners(host: MultihomedHost) -> int:
    """Sets the host's congestion control on every TCP or MPTCP socket that listens in it; returns how many."""
    if host.congestion_control is None:
        return 0
    done = 0
    for listener in _listeners(host):
        with listener:
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, host.congestion_control.encode())
            done += 1
    return done


def preload_environment(host: MultihomedHost, *, mptcp: bool = False) -> dict[str, str]:
    """The environment of a program whose listeners come and go too fast for `set_on_listeners`
    (`native/hosts/sockets.c`).

    Args:
        host: in which it is to run, with the power to choose the host's congestion control.
        mptcp: its TCP sockets are to be MPTCP's.
    """
    chosen = {"SOCKETS_CONGESTION_CONTROL": host.congestion_control} if host.congestion_control else {}
    return {"LD_PRELOAD": str(native.binary("sockets.so")), **chosen, **({"SOCKETS_MPTCP": "1"} if mptcp else {})}


def in_use(host: MultihomedHost) -> Counter[str]:
    """How many of the host's established TCP connections and subflows use which algorithm, as the kernel tells."""
    told = host.run(["ss", "-tinH", "state", "established"])
    details = [line.split() for line in told.splitlines() if line[:1].isspace()]
    return Counter(next(word for word in words if word not in _BEFORE_ALGORITHM) for words in details if words)


def _listeners(host: MultihomedHost) -> Iterator[socket.socket]:
    namespace = Path(f"/proc/{host.pid}/ns/net").stat().st_ino
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "ns/net").stat().st_ino == namespace:
                yield from _listeners_of(int(process.name))


def _listeners_of(pid: int) -> Iterator[socket.socket]:
    handle = os.pidfd_open(pid)
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            if not str(entry.readlink()).startswith("socket:"):
                continue
            try:
                duplicate = libc.call("syscall", _PIDFD_GETFD, handle, int(entry.name), 0)
            except PermissionError as error:
                message = f"cannot look into the sockets of process {pid}: {error.strerror}"
                raise FlightpathError(message) from error
            except OSError:  # the process, or the socket, has gone meanwhile
                continue
            found = socket.socket(fileno=duplicate)
            if _is_listening_on_ip(found):
                yield found
            else:
                found.close()
    finally:
        os.close(handle)


def _is_listening_on_ip(candidate: socket.socket) -> bool:
    return (
        candidate.family in (socket.AF_INET, socket.AF_INET6)
        and candidate.type == socket.SOCK_STREAM
        and candidate.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1
    )
