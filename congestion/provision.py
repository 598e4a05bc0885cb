"""Provision of congestion controls: the kernel's own, else its module, else a BPF program."""

import contextlib
import enum
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from congestion import loader, registry, sources
from flightpath.commands import search_path
from flightpath.errors import FlightpathError, MissingCapability, UsageError
from flightpath.processes import is_machine_root

_MODULES = Path("/sys/module")
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


class Origin(enum.StrEnum):
    """Source of a congestion control: a module and a BPF program of the same name are different algorithms."""

    BUILT_IN = "built-in"
    MODULE = "module"
    BPF = "bpf"


@dataclass(frozen=True)
class Algorithm:
    """A congestion control that the kernel has.

    If a daemon keeps it registered, `connection` leads to that daemon; closing it lets the daemon unregister.
    """

    name: str
    origin: Origin
    connection: socket.socket | None = None

    def release(self) -> None:
        if self.connection is not None:
            self.connection.close()


def available() -> tuple[str, ...]:
    """Lists the congestion controls that the kernel has now."""
    return tuple(_AVAILABLE.read_text().split())


def origin(name: str) -> Origin | None:
    """Returns the origin of an algorithm; None if the kernel does not have it.

    An ordinary user gets BUILT_IN for a BPF program that another tool has registered, because only root may list those.
    """
    if name not in available():
        return None
    # Built-in code can have a folder too, but only a module has a state.
    if (_MODULES / f"tcp_{name}" / "initstate").exists():
        return Origin.MODULE
    if registry.read_record(name):
        return Origin.BPF
    with contextlib.suppress(FlightpathError):  # a kernel without bpf() has no programs
        if is_machine_root() and name in loader.registered():
            return Origin.BPF
    return Origin.BUILT_IN


def ensure(algorithm: str) -> Origin:
    """Makes a congestion control available until this process and those that it has forked end; returns its origin.

    Args:
        algorithm: its name, or a C file (`mine.bpf.c`, see congestion/README.md).

    Raises:
        MissingCapability: this machine cannot provide it, or this user may not load it.
        UsageError: the file has no algorithm, or the kernel refuses it; has the reason and the line.
    """
    provisioned = provision(algorithm)
    if provisioned.connection is not None:
        provisioned.connection.detach()  # the kernel closes it when the process ends
    return provisioned.origin


@contextlib.contextmanager
def provided(algorithm: str) -> Iterator[Algorithm]:
    """Makes a congestion control available for the time of a block; arguments and errors as `ensure`."""
    provisioned = provision(algorithm)
    try:
        yield provisioned
    finally:
        provisioned.release()


def name_of(algorithm: str) -> str:
    """Returns the name (TCP_CONGESTION) of an algorithm that is given by name or as a file; loads nothing."""
    source = sources.source_of(algorithm)
    if source is None or not sources.is_file(algorithm):
        return algorithm
    return loader.name_in(sources.build(source), source)


def provision(algorithm: str, *, name_prefix: str = "") -> Algorithm:
    """Makes a congestion control available until the caller releases it; errors as `ensure`.

    Args:
        algorithm: as for `ensure`.
        name_prefix: prefix for the name of one of our algorithms, so that the kernel's own can be loaded as well.
    """
    if sources.is_file(algorithm) or name_prefix:
        return _from_file(algorithm, name_prefix)
    if not is_machine_root():
        return _without_root(algorithm)
    if registry.read_record(algorithm) is None and (known := origin(algorithm)):
        return Algorithm(algorithm, known)
    with registry.lock():
        return _by_name(algorithm)


def _by_name(name: str) -> Algorithm:
    registry.remove_orphan(name)
    if connection := registry.connect(name):
        return Algorithm(name, Origin.BPF, connection)
    if known := origin(name):
        return Algorithm(name, known)
    if _load_module(name):
        return Algorithm(name, Origin.MODULE)
    source = sources.source_of(name)
    if source is None:
        raise unknown(name)
    return Algorithm(name, Origin.BPF, loader.register(sources.build(source), source, registry.RECORDS))


def _from_file(algorithm: str, name_prefix: str) -> Algorithm:
    source = sources.source_of(algorithm)
    if source is None:
        raise unknown(algorithm)
    built = sources.build(source, name_prefix=name_prefix)
    name = loader.name_in(built, source)
    if not is_machine_root():
        return _without_root(name)
    with registry.lock():
        registry.remove_orphan(name)
        if connection := registry.connect(name):
            record = registry.read_record(name)
            if record is not None and record.object == built:
                return Algorithm(name, Origin.BPF, connection)
            users = registry.ask(connection, "who")
            connection.close()
            raise UsageError(
                f"congestion control {source.name}: another version of {name!r} is loaded and in use (by: {users})",
                f"wait until that ends, or: sudo flightpath congestion unload {name}",
            )
        if name in available():
            raise UsageError(
                f"congestion control {source.name}: the kernel has another {name!r} already", "give it another .name"
            )
        return Algorithm(name, Origin.BPF, loader.register(built, source, registry.RECORDS))


def _without_root(name: str) -> Algorithm:
    where_from = origin(name)
    if where_from is not None:
        return Algorithm(name, where_from)
    if name in sources.shipped():
        raise MissingCapability(
            f"this kernel has no congestion control {name!r}, and only root may load it",
            f"run it with sudo, or load it once: sudo flightpath congestion load {name}",
        )
    raise unknown(name)


def _load_module(name: str) -> bool:
    if name.isidentifier() and (modprobe := shutil.which("modprobe", path=search_path())):
        subprocess.run([modprobe, "--quiet", f"tcp_{name}"], check=False, capture_output=True)
    return name in available()


def unknown(name: str) -> MissingCapability:
    """Returns the error for an algorithm that neither the kernel nor Flightpath has."""
    return MissingCapability(
        f"this kernel has no congestion control {name!r}; it has {', '.join(available())}; "
        f"as BPF programs there are {', '.join(sources.shipped())}",
        "choose one of these, or write your own: congestion/README.md",
    )
