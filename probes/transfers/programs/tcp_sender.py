"""A source for TCP: sends as fast as it can, and samples what the kernel knows about the connection (TCP_INFO).

    python -m probes.transfers.programs.tcp_sender ADDRESS PORT --seconds 5 --congestion-control vegas

It prints `connected ALGORITHM` when it is, and at the end one JSON object: the samples in columns, `time_ns` (on
CLOCK_MONOTONIC) and the fields of `flightpath.tcp_info.TcpInfo`.
"""

import argparse
import contextlib
import dataclasses
import json
import socket
import threading
import time

from flightpath import tcp_info

_CHUNK = bytes(1 << 18)
_INFO_BYTES = 256


def main() -> None:
    """Runs the program."""
    options = _options()
    family = socket.AF_INET6 if ":" in options.address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        if options.source:
            connection.bind((options.source, 0))
        connection.connect((options.address, options.port))
        if options.congestion_control:  # after connecting, or the route's own (congctl) would replace it
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, options.congestion_control.encode())
        algorithm = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).split(b"\0")[0].decode()
        print(f"connected {algorithm}", flush=True)
        samples = _send(connection, options.seconds, options.interval_ms / 1e3)
    print(json.dumps(_columns(samples)))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("port", type=int)
    parser.add_argument("--source", help="the address to send from")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--interval-ms", type=float, default=5)
    parser.add_argument("--congestion-control", help="that of the route or of the host by default")
    return parser.parse_args()


def _send(connection: socket.socket, seconds: float, interval_s: float) -> list[tuple[int, bytes]]:
    """Sends for some seconds; returns the raw samples, which are parsed when the transfer is over."""
    samples = [_sample(connection)]
    filler = threading.Thread(target=_fill, args=[connection], daemon=True)
    filler.start()
    due_s = time.monotonic()
    end_s = due_s + seconds
    while due_s < end_s and filler.is_alive():
        due_s = max(due_s + interval_s, time.monotonic())
        time.sleep(max(0.0, due_s - time.monotonic()))
        samples.append(_sample(connection))
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)  # ends the filler
    filler.join()
    return samples


def _fill(connection: socket.socket) -> None:
    """Sends until the connection ends."""
    with contextlib.suppress(OSError):
        while True:
            connection.sendall(_CHUNK)


def _sample(connection: socket.socket) -> tuple[int, bytes]:
    return time.monotonic_ns(), connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)


def _columns(samples: list[tuple[int, bytes]]) -> dict[str, list[int | None]]:
    infos = [tcp_info.parse(raw) for _, raw in samples]
    names = [field.name for field in dataclasses.fields(tcp_info.TcpInfo)]
    return {"time_ns": [ns for ns, _ in samples], **{name: [getattr(info, name) for info in infos] for name in names}}


if __name__ == "__main__":
    main()
