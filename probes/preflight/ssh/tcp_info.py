"""The kernel's view of a connection: without it nobody could say why a transfer was as fast as it was."""

import socket
import struct
from dataclasses import dataclass

from probes.preflight.records import KernelSample

SOL_MPTCP = 284
_MPTCP_INFO = 1
_WANTED = 256
_UNSIGNED_32 = struct.Struct("=24I")


@dataclass(frozen=True)
class TcpInfo:
    """Fields of `struct tcp_info` (linux/tcp.h), in the kernel's units; None is older kernels' "not told"."""

    sent_mss: int
    lost: int
    path_mtu: int
    rtt_us: int
    rtt_variation_us: int
    cwnd: int
    receive_rtt_us: int
    receive_space: int
    retransmitted: int
    minimum_rtt_us: int | None
    delivery_rate_bytes: int | None
    busy_us: int | None
    window_limited_us: int | None
    send_buffer_limited_us: int | None
    reordering_seen: int | None
    out_of_order: int | None


def parse(raw: bytes) -> TcpInfo:
    """Reads what the kernel returned for TCP_INFO; newer kernels return more than this knows, older ones less."""
    words = _UNSIGNED_32.unpack_from(raw, 8)
    minimum = _field(raw, "I", 148)
    return TcpInfo(
        sent_mss=words[2],
        lost=words[6],
        path_mtu=words[13],
        rtt_us=words[15],
        rtt_variation_us=words[16],
        cwnd=words[18],
        receive_rtt_us=words[21],
        receive_space=words[22],
        retransmitted=words[23],
        minimum_rtt_us=minimum if minimum != 0xFFFF_FFFF else None,
        delivery_rate_bytes=_field(raw, "Q", 160),
        busy_us=_field(raw, "Q", 168),
        window_limited_us=_field(raw, "Q", 176),
        send_buffer_limited_us=_field(raw, "Q", 184),
        reordering_seen=_field(raw, "I", 220),
        out_of_order=_field(raw, "I", 224),
    )


def read(connection: socket.socket) -> TcpInfo:
    """Asks the kernel; of an MPTCP connection, it tells about the first subflow. OSError if it is closed."""
    return parse(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _WANTED))


def subflows(connection: socket.socket) -> int:
    """How many subflows an MPTCP connection has; 0 for TCP, and for one that fell back to it."""
    try:
        raw = connection.getsockopt(SOL_MPTCP, _MPTCP_INFO, _WANTED)
    except OSError:
        return 0
    return raw[0] + 1  # the kernel counts those besides the first


def sample(connection: socket.socket, at_s: float) -> KernelSample | None:
    """The kernel's view now; None if the connection is closed."""
    try:
        info = read(connection)
    except OSError:
        return None
    rate = info.delivery_rate_bytes
    return KernelSample(
        at_s=at_s,
        rtt_ms=info.rtt_us / 1e3,
        rtt_variation_ms=info.rtt_variation_us / 1e3,
        minimum_rtt_ms=info.minimum_rtt_us / 1e3 if info.minimum_rtt_us else None,
        receive_rtt_ms=info.receive_rtt_us / 1e3,
        cwnd_packets=info.cwnd,
        mss_bytes=info.sent_mss,
        retransmitted_packets=info.retransmitted,
        lost_packets=info.lost,
        reordering_seen=info.reordering_seen,
        delivery_rate_bps=None if rate is None else rate * 8.0,
        receive_space_bytes=info.receive_space,
        window_limited_s=_seconds(info.window_limited_us),
        send_buffer_limited_s=_seconds(info.send_buffer_limited_us),
        busy_s=_seconds(info.busy_us),
        out_of_order_packets=info.out_of_order,
        subflows=subflows(connection),
    )


def _field(raw: bytes, kind: str, offset: int) -> int | None:
    field = struct.Struct(f"={kind}")
    return field.unpack_from(raw, offset)[0] if len(raw) >= offset + field.size else None


def _seconds(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / 1e6
