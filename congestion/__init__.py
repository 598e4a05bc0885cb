"""Congestion controls by name: what this kernel has, and how to get one that it does not have loaded yet."""

import shutil
import subprocess
from pathlib import Path

from flightpath.errors import MissingCapability

_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def available() -> tuple[str, ...]:
    """The congestion controls that the kernel has now, built in or loaded."""
    return tuple(_AVAILABLE.read_text().split())


def ensure(name: str) -> None:
    """Makes a congestion control available: nothing to do if the kernel has it, else its module is loaded (root only).

    Modules are the whole machine's, so this is called before a run moves into its sandbox.

    Raises:
        MissingCapability: the kernel has neither.
    """
    if name in available():
        return
    if name.isidentifier() and (modprobe := shutil.which("modprobe", path="/usr/sbin:/sbin:/usr/bin")):
        subprocess.run([modprobe, "--quiet", f"tcp_{name}"], check=False, capture_output=True)
    if name not in available():
        raise MissingCapability(
            f"this kernel has no congestion control {name!r}; it has {', '.join(available())}",
            f"load it as root with `modprobe tcp_{name}`, or choose another with --congestion-control",
        )
