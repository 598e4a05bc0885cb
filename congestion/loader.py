"""Calls `native/congestion_loader`: everything that asks something of the kernel's bpf() is there."""

import socket
import subprocess
from pathlib import Path

import native
from congestion import verifier
from flightpath.errors import FlightpathError, MissingCapability, UsageError
from flightpath.user_namespaces import is_machine_root as is_root

_REFUSED, _MISSING, _TAKEN = 2, 3, 5
_LIMIT_S = 60


def name_in(built: Path, source: Path) -> str:
    """What the algorithm in an object is called.

    Raises:
        UsageError: nothing in it is an algorithm.
    """
    done = _call(["name", str(built)])
    if done.returncode:
        raise UsageError(f"congestion control {source.name}: {done.stderr.strip()}", "see congestion/README.md")
    return done.stdout.strip()


def check(built: Path, source: Path) -> None:
    """Asks the kernel's verifier, and registers nothing; errors as `hold`."""
    _raise_for(_call(["check", str(built)]), built, source)


def hold(built: Path, source: Path, folder: Path) -> socket.socket:
    """Registers an algorithm for as long as the socket that is returned, or another of the holder's, is open.

    Raises:
        UsageError: the kernel refuses the program; says why and where. Or its name is taken.
        MissingCapability: this user may not load it, or the kernel takes none.
    """
    user, first_user = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with first_user:
        done = _call(["hold", str(built), str(folder)], stdin=first_user)
    if done.returncode:
        user.close()
        _raise_for(done, built, source)
    return user


def registered() -> dict[str, int]:
    """The algorithms that are registered from BPF on this machine, ours or not, with their map's number; root only.

    Raises:
        MissingCapability: this user may not ask.
    """
    done = _call(["list"])
    if done.returncode:
        raise _no_rights(done.stderr)
    pairs = (line.split() for line in done.stdout.splitlines())
    return {name: int(number) for number, name in pairs}


def unregister(map_id: int, name: str) -> None:
    """Takes back what a holder that was killed left; only kernels before 6.4 leave it."""
    done = _call(["unregister", str(map_id), name])
    if done.returncode:
        raise FlightpathError(f"congestion control {name}: it cannot be taken back: {done.stderr.strip()}")


def _call(arguments: list[str], stdin: socket.socket | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(native.binary("congestion_loader")), *arguments],
        stdin=stdin if stdin is not None else subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=_LIMIT_S,
    )


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


def _no_rights(said: str) -> MissingCapability:
    words = said.strip().splitlines()
    return MissingCapability(
        f"BPF programs cannot be loaded here: {words[-1] if words else 'no reason given'}",
        "run it with sudo (a user namespace's root is not enough), or once: sudo python3 -m congestion load NAME",
    )
