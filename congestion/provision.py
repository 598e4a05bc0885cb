"""Gets a congestion control into the kernel: built in, else its module, else BPF; and keeps it while it is needed."""

import contextlib
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from congestion import loader, registry, sources
from congestion.origin import Origin, available, origin
from flightpath.errors import MissingCapability, UsageError


@dataclass(frozen=True)
class Held:
    """An algorithm that the kernel has.

    Attributes:
        name: what TCP_CONGESTION takes.
        origin: where it came from.
        user: open as long as it is needed; None: it stays by itself.
    """

    name: str
    origin: Origin
    user: socket.socket | None


def ensure(algorithm: str) -> Origin:
    """Makes a congestion control available until this process and those that it forked have ended.

    Args:
        algorithm: its name, or a C file of one's own (`mine.bpf.c`, see congestion/README.md).

    Returns:
        Where it came from.

    Raises:
        MissingCapability: this machine has no way to get it, or this user may not.
        UsageError: the file is no algorithm, or the kernel refuses it; says why and where.
    """
    found = provision(algorithm)
    if found.user is not None:
        found.user.detach()  # the kernel closes it with the process: that is the end of the need
    return found.origin


@contextlib.contextmanager
def held(algorithm: str) -> Iterator[Held]:
    """As `ensure`, for the time of a block."""
    found = provision(algorithm)
    try:
        yield found
    finally:
        if found.user is not None:
            found.user.close()


def name_of(algorithm: str) -> str:
    """What TCP_CONGESTION takes for an algorithm, given by name or as a file, without loading it.

    Raises:
        UsageError: the file is no algorithm.
    """
    source = sources.source_of(algorithm)
    if source is None or not sources.is_file(algorithm):
        return algorithm
    return loader.name_in(sources.build(source), source)


def provision(algorithm: str, *, name_prefix: str = "") -> Held:
    """As `ensure`; the caller closes `user` when the algorithm is no longer needed.

    Args:
        algorithm: name or file.
        name_prefix: of an algorithm of ours that is wanted beside the kernel's own of that name.
    """
    if sources.is_file(algorithm) or name_prefix:
        return _from_file(algorithm, name_prefix)
    if not loader.is_root():
        return _without_root(algorithm)
    if algorithm in available() and registry.record(algorithm) is None:
        return Held(algorithm, origin(algorithm), None)
    with registry.one_at_a_time():
        return _by_name(algorithm)


def _by_name(name: str) -> Held:
    registry.remove_orphan(name)
    if user := registry.join(name):
        return Held(name, Origin.BPF, user)
    if name in available():
        return Held(name, origin(name), None)
    if _load_module(name):
        return Held(name, Origin.MODULE, None)
    source = sources.source_of(name)
    if source is None:
        raise nowhere(name)
    return Held(name, Origin.BPF, loader.hold(sources.build(source), source, registry.RECORDS))


def _from_file(algorithm: str, name_prefix: str) -> Held:
    source = sources.source_of(algorithm)
    if source is None:
        raise nowhere(algorithm)
    built = sources.build(source, name_prefix=name_prefix)
    name = loader.name_in(built, source)
    if not loader.is_root():
        return _without_root(name)
    with registry.one_at_a_time():
        registry.remove_orphan(name)
        if user := registry.join(name):
            _require_same(name, built, source, user)
            return Held(name, Origin.BPF, user)
        if name in available():
            raise UsageError(
                f"congestion control {source.name}: the kernel has another {name!r} already", "give it another .name"
            )
        return Held(name, Origin.BPF, loader.hold(built, source, registry.RECORDS))


def _require_same(name: str, built: Path, source: Path, user: socket.socket) -> None:
    """A file that was changed while a run uses it would be two algorithms with one name."""
    found = registry.record(name)
    if found is not None and found.object == built:
        return
    users = registry.ask(user, "who")
    user.close()
    raise UsageError(
        f"congestion control {source.name}: another version of {name!r} is loaded and in use (by: {users})",
        f"let that end, or: sudo python3 -m congestion unload {name}",
    )


def _without_root(name: str) -> Held:
    found = origin(name)
    if found is not None:
        return Held(name, found, None)
    if name in sources.shipped():
        raise MissingCapability(
            f"this kernel has no congestion control {name!r}, and only root may load it",
            f"run it with sudo, or load it once: sudo python3 -m congestion load {name}",
        )
    raise nowhere(name)


def _load_module(name: str) -> bool:
    if name.isidentifier() and (modprobe := shutil.which("modprobe", path="/usr/sbin:/sbin:/usr/bin")):
        subprocess.run([modprobe, "--quiet", f"tcp_{name}"], check=False, capture_output=True)
    return name in available()


def nowhere(name: str) -> MissingCapability:
    """The error for an algorithm that neither the kernel nor Flightpath has."""
    return MissingCapability(
        f"this kernel has no congestion control {name!r}; it has {', '.join(available())}; "
        f"as BPF there are {', '.join(sources.shipped())}",
        "choose one of these, or write your own: congestion/README.md",
    )
