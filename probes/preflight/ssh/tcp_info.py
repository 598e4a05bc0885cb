"""TCP_INFO of a measured connection as a record."""

import socket

from flightpath.tcp_info import read, subflows
from probes.preflight.records import KernelSample


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
        retransmitted_packets=info.retransmissions,
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


def _seconds(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / 1e6
