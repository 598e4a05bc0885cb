"""Where an algorithm that the kernel has came from: a BPF program and a module of the same name are two experiments."""

import enum
from pathlib import Path

from congestion import loader, registry
from flightpath.errors import FlightpathError

_MODULES = Path("/sys/module")
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


class Origin(enum.StrEnum):
    """How a congestion control came into the kernel."""

    BUILT_IN = "built-in"
    MODULE = "module"
    BPF = "bpf"


def available() -> tuple[str, ...]:
    """The congestion controls that the kernel has now."""
    return tuple(_AVAILABLE.read_text().split())


def origin(name: str) -> Origin | None:
    """Where an algorithm that the kernel has now came from; None: it has none of that name.

    Without root, a program that somebody else has loaded cannot be told from one that is built in.
    """
    if name not in available():
        return None
    # A module has a state, which code that is built in has not.
    if (_MODULES / f"tcp_{name}" / "initstate").exists():
        return Origin.MODULE
    return Origin.BPF if registry.record(name) or _is_registered(name) else Origin.BUILT_IN


def _is_registered(name: str) -> bool:
    if not loader.is_root():
        return False
    try:
        return name in loader.registered()
    except FlightpathError:  # no bpf() here, so no programs
        return False
