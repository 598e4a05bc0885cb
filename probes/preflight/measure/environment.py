"""This machine as it is: without it two measurements could differ for a reason that nobody has written down."""

import os
import platform
import socket
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from flightpath.identity import identity

_SYSCTLS = (
    "net/core/rmem_max",
    "net/core/wmem_max",
    "net/ipv4/tcp_rmem",
    "net/ipv4/tcp_wmem",
    "net/ipv4/tcp_congestion_control",
    "net/ipv4/tcp_window_scaling",
    "net/ipv4/tcp_mtu_probing",
    "net/ipv4/tcp_no_metrics_save",
    "net/mptcp/enabled",
)


def environment() -> Mapping[str, Any]:
    """Kernel, processors, the network's settings and the libraries, as JSON values."""
    return {
        **identity(),
        "host": socket.gethostname(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "paramiko": version("paramiko"),
        "cryptography": version("cryptography"),
        "sysctls": {name.replace("/", "."): told for name in _SYSCTLS if (told := _sysctl(name)) is not None},
    }


def now() -> str:
    """This machine's time, in UTC, as results tell it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _sysctl(name: str) -> str | None:
    try:
        return " ".join((Path("/proc/sys") / name).read_text().split())
    except OSError:  # other kernels, or not visible in this namespace
        return None
