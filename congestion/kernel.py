"""The congestion controls that the kernel has now, and where they came from."""

import enum
from pathlib import Path

from congestion import loader, registry
from flightpath.errors import FlightpathError

_MODULES = Path("/sys/module")
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


class Origin(enum.StrEnum):
    """Where a congestion control came from: a module and a BPF program of the same name are different algorithms."""

    BUILT_IN = "built-in"
    MODULE = "module"
    BPF = "bpf"


def available() -> tuple[str, ...]:
    """The congestion controls that the kernel has now."""
    return tuple(_AVAILABLE.read_text().split())


def origin(name: str) -> Origin | None:
    """Where the kernel has an algorithm from; None if it does not have it.

    An ordinary user gets BUILT_IN for a BPF program that another tool has registered: only root may list those.
    """
    if name not in available():
        return None
    # Built-in code can have a folder there, too, but only a module has a state.
    if (_MODULES / f"tcp_{name}" / "initstate").exists():
        return Origin.MODULE
    return Origin.BPF if registry.read_record(name) or _is_registered(name) else Origin.BUILT_IN


def _is_registered(name: str) -> bool:
    if not loader.is_root():
        return False
    try:
        return name in loader.registered()
    except FlightpathError:  # a kernel without bpf() has no programs
        return False
