"""The TCP socket of a measured connection: made with the options of the specification, and sampled while it is used."""

import contextlib
import errno
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flightpath import tcp_info
from flightpath.errors import MeasurementFailed, MissingCapability, UsageError
from probes.preflight.records import KernelSample, SocketFacts
from probes.preflight.spec import Family, TransferSpec

_IPPROTO_MPTCP = 262
_TCP_WINDOW_CLAMP = 10
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
_IP_MTU, _IPV6_MTU = 14, 24
_NUMERIC = socket.NI_NUMERICHOST | socket.NI_NUMERICSERV
_FAMILIES = {Family.ANY: socket.AF_UNSPEC, Family.IPV4: socket.AF_INET, Family.IPV6: socket.AF_INET6}


@dataclass(frozen=True)
class Address:
    """An address of the far end; `host` is numeric."""

    family: int
    host: str
    port: int

    @property
    def version(self) -> int:
        return 6 if self.family == socket.AF_INET6 else 4


def look_up(host: str, port: int, family: Family) -> tuple[Address, ...]:
    """Returns all addresses of a name, in the order in which to try them."""
    try:
        results = socket.getaddrinfo(host, port, _FAMILIES[family], socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        version = "" if family is Family.ANY else f" of IPv{family}"
        reason = error.strerror if isinstance(error, socket.gaierror) else str(error)
        raise MeasurementFailed(f"{host}: no address{version} is known for this name: {reason}") from error
    # A link-local address keeps its interface in this form: fe80::1%eth0.
    return tuple(Address(kind, socket.getnameinfo(at, _NUMERIC)[0], port) for kind, _, _, _, at in results)


def connect(addresses: Sequence[Address], spec: TransferSpec) -> tuple[socket.socket, Address, float]:
    """Connects to the first address that answers; returns the socket, the address, and the handshake's seconds."""
    reasons = []
    for address in addresses:
        with contextlib.ExitStack() as stack:
            connection = stack.enter_context(_new_socket(address, spec))
            try:
                _set_options(connection, spec)
                begun = time.monotonic_ns()
                connection.connect((address.host, address.port))
                took = (time.monotonic_ns() - begun) / 1e9
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                stack.pop_all()
                return connection, address, took
            except OSError as error:
                reasons.append(f"{address.host} port {address.port}: {_reason(error, spec.connect_limit_s)}")
    raise MeasurementFailed("; ".join(reasons), "check the host and the port, and that a server runs there")


def sample(connection: socket.socket) -> KernelSample | None:
    """Returns TCP_INFO now, on CLOCK_MONOTONIC, as a record; None if the connection is closed."""
    try:
        info = tcp_info.read(connection)
    except OSError:
        return None
    rate = info.delivery_rate_bytes
    return KernelSample(
        at_s=time.monotonic(),
        rtt_ms=info.rtt_us / 1e3,
        rtt_variation_ms=info.rtt_variation_us / 1e3,
        minimum_rtt_ms=info.minimum_rtt_us / 1e3 if info.minimum_rtt_us else None,
        receive_rtt_ms=info.receive_rtt_us / 1e3,
        cwnd_packets=info.cwnd,
        mss_bytes=info.sent_mss,
        retransmitted_packets=info.retransmissions,
        lost_packets=info.lost,
        reordering_seen=info.reordering_seen,
        delivery_rate_bps=None if rate is None else rate * 8.0,
        receive_space_bytes=info.receive_space,
        window_limited_s=_seconds(info.window_limited_us),
        send_buffer_limited_s=_seconds(info.send_buffer_limited_us),
        busy_s=_seconds(info.busy_us),
        out_of_order_packets=info.out_of_order,
        subflows=tcp_info.subflows(connection),
    )


def path_mtu(connection: socket.socket) -> int | None:
    """Returns the kernel's path MTU of this connection in bytes, if it has one."""
    v6 = connection.family == socket.AF_INET6
    try:
        return connection.getsockopt(socket.IPPROTO_IPV6 if v6 else socket.IPPROTO_IP, _IPV6_MTU if v6 else _IP_MTU)
    except OSError:  # MPTCP's sockets lack the option
        try:
            return tcp_info.read(connection).path_mtu or None
        except OSError:
            return None


def congestion_control(connection: socket.socket) -> str:
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).split(b"\0")[0].decode()


def facts_of(connection: socket.socket, *, cipher: str, server: str, host_key: str) -> SocketFacts:
    """Returns the properties of a connection, and of what is spoken on it.

    Raises:
        OSError: the connection is closed.
    """
    local, remote = connection.getsockname(), connection.getpeername()
    return SocketFacts(
        local=(local[0], local[1]),
        remote=(remote[0], remote[1]),
        family=6 if connection.family == socket.AF_INET6 else 4,
        mptcp=tcp_info.subflows(connection) > 0,
        congestion_control=congestion_control(connection),
        send_buffer_bytes=connection.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF),
        receive_buffer_bytes=connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
        mss_bytes=tcp_info.read(connection).sent_mss,
        path_mtu=path_mtu(connection),
        cipher=cipher,
        server=server,
        host_key=host_key,
    )


def _new_socket(address: Address, spec: TransferSpec) -> socket.socket:
    try:
        return socket.socket(address.family, socket.SOCK_STREAM, _IPPROTO_MPTCP if spec.mptcp else 0)
    except OSError as error:
        if not spec.mptcp:
            raise
        raise MissingCapability(
            f"this machine opens no MPTCP sockets: {error.strerror}", "sudo sysctl -w net.mptcp.enabled=1"
        ) from error


def _set_options(connection: socket.socket, spec: TransferSpec) -> None:
    connection.settimeout(spec.connect_limit_s)
    for option, forced, size in (
        (socket.SO_SNDBUF, _SO_SNDBUFFORCE, spec.send_buffer_bytes),
        (socket.SO_RCVBUF, _SO_RCVBUFFORCE, spec.receive_buffer_bytes),
    ):
        if size is not None:
            try:  # only CAP_NET_ADMIN may go beyond net.core.[rw]mem_max, others get at most that
                connection.setsockopt(socket.SOL_SOCKET, forced, size)
            except OSError:
                connection.setsockopt(socket.SOL_SOCKET, option, size)
    if spec.congestion_control is not None:
        _set_congestion_control(connection, spec.congestion_control)
    for name, option, value in (
        ("--mss", socket.TCP_MAXSEG, spec.mss_bytes),
        ("--window-clamp", _TCP_WINDOW_CLAMP, spec.window_clamp_bytes),
    ):
        if value is not None:
            try:
                connection.setsockopt(socket.IPPROTO_TCP, option, value)
            except OSError as error:
                kind = "an MPTCP socket" if spec.mptcp else "a TCP socket"
                raise UsageError(f"{name}: this kernel refuses {value} on {kind}: {error.strerror}") from error


def _set_congestion_control(connection: socket.socket, name: str) -> None:
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
    except OSError as error:
        available = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
        if error.errno == errno.EPERM:
            raise MissingCapability(
                f"--congestion-control: ordinary users may not choose {name!r} on this machine",
                f'sudo sysctl -w net.ipv4.tcp_allowed_congestion_control="{" ".join(available)}"',
            ) from error
        raise MissingCapability(
            f"--congestion-control: this kernel has no {name!r}; it has {', '.join(available)}",
            f"sudo modprobe tcp_{name}, if the kernel comes with it",
        ) from error


def _reason(error: OSError, limit_s: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {limit_s:g} s"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused: nothing listens there"
    return error.strerror or str(error)


def _seconds(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / 1e6
