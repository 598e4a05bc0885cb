"""Sends over TCP as fast as it goes, and notes what the kernel tells of the connection: a window has no other witness.

It runs in a host, as a program: `python tcp_sender.py ADDRESS PORT --seconds 5 --congestion-control vegas`. When it is
connected it says `connected`; at the end it prints a line of CSV for each time it has looked (`COLUMNS`), of TCP_INFO.
"""

import argparse
import contextlib
import socket
import struct
import sys
import threading
import time

COLUMNS = (
    "time_ns",
    "ca_state",
    "mss_bytes",
    "unacked",
    "lost",
    "retransmitted",
    "rtt_us",
    "min_rtt_us",
    "ssthresh",
    "cwnd",
    "pacing_bps",
    "acked_bytes",
    "delivered",
)
_INFO_BYTES = 200
# Offsets in struct tcp_info (linux/tcp.h), which only ever grows at its end.
_FIELDS = (
    ("B", 1),  # tcpi_ca_state
    ("I", 16),  # tcpi_snd_mss
    ("I", 24),  # tcpi_unacked
    ("I", 32),  # tcpi_lost
    ("I", 100),  # tcpi_total_retrans
    ("I", 68),  # tcpi_rtt
    ("I", 148),  # tcpi_min_rtt
    ("I", 76),  # tcpi_snd_ssthresh
    ("I", 80),  # tcpi_snd_cwnd
    ("Q", 104),  # tcpi_pacing_rate, bytes/s
    ("Q", 120),  # tcpi_bytes_acked
    ("I", 192),  # tcpi_delivered
)
_UNLIMITED_PACING = (1 << 64) - 1
_CHUNK = bytes(1 << 18)


def main() -> None:
    """The program."""
    options = _options()
    family = socket.AF_INET6 if ":" in options.address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        if options.source:
            connection.bind((options.source, 0))
        connection.connect((options.address, options.port))
        if options.congestion_control:  # not before: a route's own (congctl) would take its place
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, options.congestion_control.encode())
        used = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).split(b"\0")[0].decode()
        print(f"connected {used}", flush=True)
        rows = _send(connection, options.seconds, options.interval_ms / 1e3)
    sys.stdout.writelines(",".join(map(str, row)) + "\n" for row in rows)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("port", type=int)
    parser.add_argument("--source", help="the address to send from")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--interval-ms", type=float, default=5)
    parser.add_argument("--congestion-control", help="otherwise the route's, or the host's")
    return parser.parse_args()


def _send(connection: socket.socket, seconds: float, interval_s: float) -> list[tuple[int, ...]]:
    rows = [_look(connection)]
    filler = threading.Thread(target=_fill, args=[connection], daemon=True)
    filler.start()
    end_s = due_s = time.monotonic()
    end_s += seconds
    while due_s < end_s and filler.is_alive():
        due_s = max(due_s + interval_s, time.monotonic())
        time.sleep(max(0.0, due_s - time.monotonic()))
        rows.append(_look(connection))
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)  # ends the filler
    filler.join()
    return rows


def _fill(connection: socket.socket) -> None:
    """Until the connection ends; the rows tell how far it came."""
    with contextlib.suppress(OSError):
        while True:
            connection.sendall(_CHUNK)


def _look(connection: socket.socket) -> tuple[int, ...]:
    at_ns = time.monotonic_ns()
    told = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
    values = [struct.unpack_from(kind, told, offset)[0] for kind, offset in _FIELDS]
    pacing = COLUMNS.index("pacing_bps") - 1
    values[pacing] = 0 if values[pacing] == _UNLIMITED_PACING else values[pacing] * 8
    return at_ns, *values


if __name__ == "__main__":
    main()
