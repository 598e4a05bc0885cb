"""The properties of this machine that may influence a measurement."""

import os
import platform
import socket
import ssl
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
    """Returns kernel, processors, network settings and library versions, as JSON values."""
    return {
        **identity(),
        "host": socket.gethostname(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "paramiko": version("paramiko"),
        "cryptography": version("cryptography"),
        "openssl": ssl.OPENSSL_VERSION,
        "sysctls": {name.replace("/", "."): value for name in _SYSCTLS if (value := _sysctl(name)) is not None},
    }


def now() -> str:
    """Returns the time in UTC, as results store it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _sysctl(name: str) -> str | None:
    try:
        return " ".join((Path("/proc/sys") / name).read_text().split())
    except OSError:  # not in this kernel, or not visible in this namespace
        return None
