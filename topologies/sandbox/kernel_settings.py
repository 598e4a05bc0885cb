"""Kernel settings in a node's network namespace, by files and system calls, which are faster than programs."""

import array
import contextlib
import fcntl
import os
import socket
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from flightpath import libc
from flightpath.errors import FlightpathError

# From Linux's headers, where Python names none of them.
CLONE_NEWNET = 0x40000000
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _SIOCETHTOOL = 0x8913, 0x8914, 0x8946
_ETHTOOL_GLINK = 0x0A
_IFF_UP = 1
_INTERFACE_FLAGS = struct.Struct("=16sh22x")  # struct ifreq of netdevice(7)
_INTERFACE_POINTER = struct.Struct("=16sQ16x")
_SYSCTLS = Path("/proc/sys")
_BY_INTERFACES = (".disable_ipv6", ".forwarding")
"""Suffixes of sysctls that change interfaces, and so need the kernel's lock for them (RTNL)."""


class InNamespace(Protocol):
    """Interface of a Mininet node: a network namespace, identified by a process in it."""

    name: str
    pid: int
    inNamespace: bool  # noqa: N815 - Mininet's name


def entry(node: InNamespace | None) -> list[str]:
    """Returns the prefix of a command that is to run in a node's network namespace."""
    return [] if node is None or not node.inNamespace else ["nsenter", f"--net=/proc/{node.pid}/ns/net", "--"]


@contextlib.contextmanager
def inside(node: InNamespace | None) -> Iterator[None]:
    """Moves this thread, and the processes that it starts, into a node's network namespace during the block."""
    if node is None or not node.inNamespace:
        yield
        return
    with Path("/proc/thread-self/ns/net").open("rb", buffering=0) as own:
        _enter(f"/proc/{node.pid}/ns/net", node.name)
        try:
            yield
        finally:
            try:
                libc.call("setns", own.fileno(), CLONE_NEWNET)
            except OSError:
                os.abort()  # otherwise this process would continue in the wrong namespace


def write_sysctls(settings: Mapping[str, str | int]) -> None:
    """Sets sysctls in this thread's network namespace, except those that the kernel does not have."""
    for name, value in settings.items():
        if name.endswith(_BY_INTERFACES):
            _wait_for_interfaces()
        try:
            with contextlib.suppress(FileNotFoundError):
                (_SYSCTLS / name.replace(".", "/")).write_text(str(value), encoding="ascii")
        except OSError as error:
            raise FlightpathError(f"sysctl {name}={value}: {error.strerror}") from error


def bring_up(*interfaces: str) -> None:
    """Sets interfaces in this thread's network namespace up."""
    for name in interfaces:
        try:
            _add_flags(name, _IFF_UP)
        except OSError as error:
            raise FlightpathError(f"interface {name} does not come up: {error.strerror}") from error


def use_carrier(*interfaces: str) -> None:
    """Has interfaces of this thread's network namespace send from now on, because they have a carrier now.

    Otherwise the kernel drops their packets until it has dealt with the carrier in the background, which it does for a
    hundred interfaces a second (net/core/link_watch.c). Since Linux 6.8, whoever asks for the carrier is spared that.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for name in interfaces:
            question = array.array("I", (_ETHTOOL_GLINK, 0))  # struct ethtool_value of linux/ethtool.h
            with contextlib.suppress(OSError):  # an interface of another kind, or none any more
                request = _INTERFACE_POINTER.pack(name.encode(), question.buffer_info()[0])
                fcntl.ioctl(any_socket, _SIOCETHTOOL, request)


def _add_flags(interface: str, added: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = _INTERFACE_FLAGS.pack(interface.encode(), 0)
        _name, flags = _INTERFACE_FLAGS.unpack(fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request))
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, _INTERFACE_FLAGS.pack(interface.encode(), flags | added))


def _wait_for_interfaces() -> None:
    """Waits for the lock of interfaces (RTNL), by setting the flags of `lo` to their present values.

    A write to some sysctls does not sleep for this lock: the kernel restarts the system call until the lock is free. In
    virtual time that never ends, because the holder waits for a timer, and computing takes no time.
    """
    with contextlib.suppress(OSError):  # without permission, writing the sysctl fails too, with its own error
        _add_flags("lo", 0)


def _enter(namespace: str, whose: str) -> None:
    problem = "is gone"
    try:
        with Path(namespace).open("rb", buffering=0) as file:
            problem = "cannot be entered"
            libc.call("setns", file.fileno(), CLONE_NEWNET)
    except OSError as error:
        raise FlightpathError(f"the network namespace of {whose} {problem}: {error.strerror}") from error
