"""One congestion control for all connections of a host, without a change of the machine's settings.

In a network namespace the kernel refuses a default algorithm that the initial namespace does not allow. Two other
mechanisms cover all sockets. A route may name the algorithm (`congctl`), for connecting sockets and accepted TCP ones.
And root of the namespace may set TCP_CONGESTION on a listening socket: accepted MPTCP connections and their later
subflows inherit it.
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

_BEFORE_ALGORITHM = {"ts", "sack", "ecn", "ecnseen", "fastopen"}


def set_on_listeners(host: MultihomedHost) -> int:
    """Sets the host's congestion control on all its listening TCP and MPTCP sockets; returns their number."""
    if host.congestion_control is None:
        return 0
    count = 0
    for listener in _listeners(host):
        with listener:
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, host.congestion_control.encode())
            count += 1
    return count


def preload_environment(host: MultihomedHost, *, mptcp: bool = False) -> dict[str, str]:
    """Returns environment variables for a program whose listeners are too short-lived for `set_on_listeners`.

    They preload `native/hosts/sockets.c`, which sets the program's socket options; with `mptcp` it turns TCP sockets
    into MPTCP sockets. The program must run in the host as root, since only root may choose the congestion control.
    """
    algorithm = {"SOCKETS_CONGESTION_CONTROL": host.congestion_control} if host.congestion_control else {}
    return {**native.preloading("sockets.so"), **algorithm, **({"SOCKETS_MPTCP": "1"} if mptcp else {})}


def in_use(host: MultihomedHost) -> Counter[str]:
    """Counts the host's established TCP connections and subflows by algorithm, as ss(8) shows them."""
    lines = host.run(["ss", "-tinH", "state", "established"]).splitlines()
    details = [line.split() for line in lines if line[:1].isspace()]
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
                duplicate = libc.duplicate(handle, int(entry.name))
            except PermissionError as error:
                message = f"cannot open the sockets of process {pid}: {error.strerror}"
                raise FlightpathError(message) from error
            except OSError:  # the process has ended, or closed the socket
                continue
            candidate = socket.socket(fileno=duplicate)
            is_stream = candidate.family in (socket.AF_INET, socket.AF_INET6) and candidate.type == socket.SOCK_STREAM
            if is_stream and candidate.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1:
                yield candidate
            else:
                candidate.close()
    finally:
        os.close(handle)
