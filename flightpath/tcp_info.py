"""TCP_INFO and MPTCP_INFO, the kernel's state of a connection, and its counters of TCP and MPTCP."""

import socket
import struct
from dataclasses import dataclass, field, fields
from typing import Any

SOL_MPTCP = 284
_MPTCP_INFO = 1
_WANTED_BYTES = 256
_NOT_MEASURED = 0xFFFF_FFFF


def _at(offset: int, kind: str) -> int:
    """Declares a field of `struct tcp_info`, which only ever grows at its end, by offset and `struct` format."""
    return field(metadata={"offset": offset, "layout": struct.Struct(f"={kind}")})


@dataclass(frozen=True)
class TcpInfo:
    """Fields of `struct tcp_info` (linux/tcp.h), in the kernel's units; None where an older kernel lacks one."""

    ca_state: int = _at(1, "B")
    sent_mss: int = _at(16, "I")
    unacked: int = _at(24, "I")
    lost: int = _at(32, "I")
    path_mtu: int = _at(60, "I")
    rtt_us: int = _at(68, "I")
    rtt_variation_us: int = _at(72, "I")
    ssthresh: int = _at(76, "I")
    cwnd: int = _at(80, "I")
    receive_rtt_us: int = _at(92, "I")
    receive_space: int = _at(96, "I")
    retransmissions: int = _at(100, "I")
    pacing_rate_bytes: int | None = _at(104, "Q")
    acked_bytes: int | None = _at(120, "Q")
    minimum_rtt_us: int | None = _at(148, "I")
    delivery_rate_bytes: int | None = _at(160, "Q")
    busy_us: int | None = _at(168, "Q")
    window_limited_us: int | None = _at(176, "Q")
    send_buffer_limited_us: int | None = _at(184, "Q")
    delivered: int | None = _at(192, "I")
    reordering_seen: int | None = _at(220, "I")
    out_of_order: int | None = _at(224, "I")


def parse(raw: bytes) -> TcpInfo:
    """Parses the value of TCP_INFO; newer kernels return more than is declared here, older ones less."""
    values: dict[str, Any] = {each.name: _value(raw, **each.metadata) for each in fields(TcpInfo)}
    if values["minimum_rtt_us"] == _NOT_MEASURED:
        values["minimum_rtt_us"] = None
    return TcpInfo(**values)


def read(connection: socket.socket) -> TcpInfo:
    """Reads TCP_INFO of a connection; of an MPTCP connection, that of the first subflow.

    Raises:
        OSError: the connection is closed.
    """
    return parse(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _WANTED_BYTES))


def subflows(connection: socket.socket) -> int:
    """Returns the number of subflows of an MPTCP connection; 0 for TCP, also after a fallback."""
    try:
        raw = connection.getsockopt(SOL_MPTCP, _MPTCP_INFO, _WANTED_BYTES)
    except OSError:
        return 0
    return raw[0] + 1  # the kernel counts those besides the first


def counters(text: str, group: str) -> dict[str, int]:
    """Parses a group in /proc/net/snmp or netstat, such as `MPTcpExt`: a line with names, one with values."""
    lines = [line.split()[1:] for line in text.splitlines() if line.startswith(f"{group}:")]
    return dict(zip(lines[0], map(int, lines[1]), strict=True)) if lines else {}


def _value(raw: bytes, offset: int, layout: struct.Struct) -> int | None:
    return layout.unpack_from(raw, offset)[0] if len(raw) >= offset + layout.size else None
