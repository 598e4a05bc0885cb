"""Runs `native/congestion_loader`, which makes all bpf() calls."""

import socket
import subprocess
from pathlib import Path

import native
from congestion import verifier
from flightpath.errors import FlightpathError, MissingCapability, UsageError
from flightpath.processes import is_machine_root as is_root

_REFUSED, _MISSING, _TAKEN = 2, 3, 5
_TIMEOUT_S = 60


def name_in(built: Path, source: Path) -> str:
    """The name of the algorithm in an object.

    Raises:
        UsageError: the object has no algorithm.
    """
    done = _call("name", str(built))
    if done.returncode:
        raise UsageError(f"congestion control {source.name}: {done.stderr.strip()}", "see congestion/README.md")
    return done.stdout.strip()


def check(built: Path, source: Path) -> None:
    """Lets the kernel's verifier check an object without registering it.

    Raises:
        UsageError: the kernel refuses the program; says why and in which line.
        MissingCapability: this user may not load it, or this kernel loads none.
    """
    _raise_for(_call("check", str(built)), built, source)


def register(built: Path, source: Path, folder: Path) -> socket.socket:
    """Registers an algorithm, and starts the daemon that keeps it registered while any connection to it is open.

    Returns the first connection. The daemon has its socket and its record in the folder.

    Raises:
        UsageError: the kernel refuses the program, or its name is taken.
        MissingCapability: as `check`.
    """
    connection, daemon_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with daemon_end:
        done = _call("register", str(built), str(folder), stdin=daemon_end)
    if done.returncode:
        connection.close()
    _raise_for(done, built, source)
    return connection


def registered() -> dict[str, int]:
    """The algorithms that are registered from BPF on this machine, by any tool, with their map's number.

    Raises:
        MissingCapability: this user may not list them; only root may.
    """
    done = _call("list")
    if done.returncode:
        raise _no_rights(done.stderr)
    pairs = (line.split() for line in done.stdout.splitlines())
    return {name: int(number) for number, name in pairs}


def unregister(map_id: int, name: str) -> None:
    """Ends a registration that a killed daemon left; only kernels before 6.4 keep one.

    Raises:
        FlightpathError: the kernel refuses, or the map is not this algorithm's any more.
    """
    done = _call("unregister", str(map_id), name)
    if done.returncode:
        raise FlightpathError(f"congestion control {name}: cannot end its registration: {done.stderr.strip()}")


def _call(*arguments: str, stdin: socket.socket | int = subprocess.DEVNULL) -> subprocess.CompletedProcess[str]:
    argv = [str(native.binary("congestion_loader")), *arguments]
    return subprocess.run(argv, stdin=stdin, capture_output=True, text=True, errors="replace", timeout=_TIMEOUT_S)


def _raise_for(done: subprocess.CompletedProcess[str], built: Path, source: Path) -> None:
    if done.returncode == 0:
        return
    if done.returncode == _MISSING or (done.returncode == _REFUSED and not is_root()):
        raise _no_rights(done.stderr)
    if done.returncode == _TAKEN:
        raise UsageError(f"congestion control {source.name}: {done.stderr.strip()}", "give it another .name")
    if done.returncode != _REFUSED:
        raise FlightpathError(f"congestion control {source.name}: {done.stderr.strip()}")
    raise verifier.refusal(done.stderr, source, built.with_suffix(".log"))


def _no_rights(stderr: str) -> MissingCapability:
    lines = stderr.strip().splitlines()
    return MissingCapability(
        f"BPF programs cannot be loaded here: {lines[-1] if lines else 'no reason given'}",
        "run it with sudo (a user namespace's root is not enough), or once: sudo python3 -m congestion load NAME",
    )
