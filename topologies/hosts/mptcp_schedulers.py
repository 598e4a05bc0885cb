"""Packet schedulers of MPTCP: Linux's own, and those of research that the virtual-time kernel has."""

from collections.abc import Iterable
from pathlib import Path

from flightpath.errors import MissingCapability
from topologies.links.fields import require_known

DEFAULT = "default"
RESEARCH = ("blest", "ecf", "redundant", "roundrobin")
"""Schedulers of the virtual-time kernel (`execution/uml/schedulers`)."""

SYSCTL = "net.mptcp.scheduler"
_AVAILABLE = Path("/proc/sys/net/mptcp/available_schedulers")


def check(option: str, name: str) -> None:
    """Raises UsageError for a scheduler that neither this kernel nor the virtual-time kernel has."""
    if name not in (DEFAULT, *RESEARCH):
        require_known(option, name, sorted({DEFAULT, *RESEARCH, *_available()}))


def require(names: Iterable[str]) -> None:
    """Raises MissingCapability for a scheduler that this kernel does not have.

    For the default it reads nothing, because what a cell reads is part of its bits.
    """
    wanted = set(names) - {DEFAULT}
    if missing := sorted(wanted - _available() if wanted else ()):
        raise MissingCapability(
            f"this kernel has no MPTCP scheduler {missing[0]!r}",
            "measure in virtual time, whose kernel has it: --clock virtual (make uml-kernel)",
        )


def _available() -> set[str]:
    return set(_AVAILABLE.read_text().split()) if _AVAILABLE.exists() else set()
