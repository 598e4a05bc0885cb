"""The measured connection's socket, made by us: an SSH library's own would leave buffers, MSS and MPTCP to chance."""

import errno
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flightpath import tcp_info
from flightpath.errors import MeasurementFailed, MissingCapability, UsageError
from probes.preflight.spec import Family, TransferSpec

_IPPROTO_MPTCP = 262
_TCP_WINDOW_CLAMP = 10
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
_IP_MTU, _IPV6_MTU = 14, 24
_FAMILIES = {Family.ANY: socket.AF_UNSPEC, Family.IPV4: socket.AF_INET, Family.IPV6: socket.AF_INET6}


@dataclass(frozen=True)
class Address:
    """Where to connect to: an address of the far end, without any name left to look up."""

    family: int
    host: str
    port: int

    @property
    def version(self) -> int:
        """4 or 6."""
        return 6 if self.family == socket.AF_INET6 else 4


def look_up(host: str, port: int, family: Family) -> tuple[Address, ...]:
    """All addresses of a name, in the order in which to try them.

    Raises:
        MeasurementFailed: it has none, or not of this family.
    """
    try:
        found = socket.getaddrinfo(host, port, _FAMILIES[family], socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        version = "" if family is Family.ANY else f" of IPv{family}"
        reason = error.strerror if isinstance(error, socket.gaierror) else str(error)
        raise MeasurementFailed(f"{host}: no address{version} is known for this name: {reason}") from error
    return tuple(Address(kind, _with_scope(where), where[1]) for kind, _, _, _, where in found)


def connect(addresses: Sequence[Address], spec: TransferSpec) -> tuple[socket.socket, float]:
    """A connection to the first address that answers, and the seconds that its handshake took.

    Raises:
        MeasurementFailed: none answers; with the reason of each.
        UsageError: this kernel refuses an option's value.
        MissingCapability: this kernel lacks MPTCP or the congestion control.
    """
    reasons = []
    for address in addresses:
        made = _prepared(address, spec)
        try:
            begun = time.monotonic_ns()
            made.connect((address.host, address.port))
            took = (time.monotonic_ns() - begun) / 1e9
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return made, took
        except OSError as error:
            made.close()
            reasons.append(f"{address.host} port {address.port}: {_in_words(error, spec.connect_limit_s)}")
        except BaseException:
            made.close()
            raise
    raise MeasurementFailed("; ".join(reasons), "is it the right machine and port, and does an SSH server run there?")


def path_mtu(connection: socket.socket) -> int | None:
    """What the kernel takes for the largest packet on the way of this connection, in bytes."""
    v6 = connection.family == socket.AF_INET6
    try:
        return connection.getsockopt(socket.IPPROTO_IPV6 if v6 else socket.IPPROTO_IP, _IPV6_MTU if v6 else _IP_MTU)
    except OSError:  # MPTCP's own sockets do not tell
        try:
            return tcp_info.read(connection).path_mtu or None
        except OSError:
            return None


def congestion_control(connection: socket.socket) -> str:
    """The algorithm of this end."""
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).split(b"\0")[0].decode()


def _prepared(address: Address, spec: TransferSpec) -> socket.socket:
    try:
        made = socket.socket(address.family, socket.SOCK_STREAM, _IPPROTO_MPTCP if spec.mptcp else 0)
    except OSError as error:
        if not spec.mptcp:
            raise
        raise MissingCapability(
            f"this machine opens no MPTCP sockets: {error.strerror}", "sudo sysctl -w net.mptcp.enabled=1"
        ) from error
    try:
        made.settimeout(spec.connect_limit_s)
        _set_options(made, spec)
    except BaseException:
        made.close()
        raise
    return made


def _set_options(made: socket.socket, spec: TransferSpec) -> None:
    if spec.send_buffer_bytes is not None:
        _set_buffer(made, socket.SO_SNDBUF, _SO_SNDBUFFORCE, spec.send_buffer_bytes)
    if spec.receive_buffer_bytes is not None:
        _set_buffer(made, socket.SO_RCVBUF, _SO_RCVBUFFORCE, spec.receive_buffer_bytes)
    if spec.congestion_control is not None:
        _set_congestion_control(made, spec.congestion_control)
    for name, option, value in (
        ("--mss", socket.TCP_MAXSEG, spec.mss_bytes),
        ("--window-clamp", _TCP_WINDOW_CLAMP, spec.window_clamp_bytes),
    ):
        if value is not None:
            try:
                made.setsockopt(socket.IPPROTO_TCP, option, value)
            except OSError as error:
                kind = "an MPTCP socket" if spec.mptcp else "a TCP socket"
                raise UsageError(f"{name}: this kernel refuses {value} on {kind}: {error.strerror}") from error


def _set_buffer(made: socket.socket, option: int, forced: int, size: int) -> None:
    """Beyond net.core.[rw]mem_max only who administers the namespace gets what was asked; others get the maximum."""
    try:
        made.setsockopt(socket.SOL_SOCKET, forced, size)
    except OSError:
        made.setsockopt(socket.SOL_SOCKET, option, size)


def _set_congestion_control(made: socket.socket, name: str) -> None:
    try:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
    except OSError as error:
        known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
        if error.errno == errno.EPERM:
            raise MissingCapability(
                f"--congestion-control: {name!r} is not allowed to ordinary users here",
                f'sudo sysctl -w net.ipv4.tcp_allowed_congestion_control="{" ".join(known)}"',
            ) from error
        raise MissingCapability(
            f"--congestion-control: this kernel has no {name!r}; it has {', '.join(known)}",
            f"sudo modprobe tcp_{name}, if the kernel comes with it",
        ) from error


def _with_scope(where: tuple) -> str:
    """The address as text that `connect` takes; a link-local one keeps its interface."""
    host = where[0]
    return f"{host}%{socket.if_indextoname(where[3])}" if len(where) == 4 and where[3] and "%" not in host else host


def _in_words(error: OSError, limit_s: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {limit_s:g} s"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused: nothing listens there"
    return error.strerror or str(error)
