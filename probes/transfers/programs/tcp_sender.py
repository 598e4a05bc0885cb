"""A source for TCP: sends as fast as it can, and samples what the kernel knows about the connection (TCP_INFO).

    python -m probes.transfers.programs.tcp_sender '{"address": "10.0.0.2", "port": 5301, "seconds": 5, ...}'

It prints `connected ALGORITHM` when it is, and at the end one JSON object: the samples in columns, `time_ns` (on
CLOCK_MONOTONIC) and the fields of `flightpath.tcp_info.TcpInfo`.
"""

import contextlib
import dataclasses
import json
import socket
import sys
import threading
import time

from flightpath import tcp_info

_CHUNK = bytes(1 << 18)
_INFO_BYTES = 256


def main() -> None:
    settings = json.loads(sys.argv[1])
    family = socket.AF_INET6 if ":" in settings["address"] else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        if settings["source"]:
            connection.bind((settings["source"], 0))
        connection.connect((settings["address"], settings["port"]))
        if wanted := settings["congestion_control"]:  # after connecting, or the route's own (congctl) would replace it
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, wanted.encode())
        algorithm = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).split(b"\0")[0].decode()
        print(f"connected {algorithm}", flush=True)
        samples = _send(connection, settings["seconds"], settings["interval_s"])
    infos = [tcp_info.parse(raw) for _, raw in samples]
    names = [field.name for field in dataclasses.fields(tcp_info.TcpInfo)]
    columns = {name: [getattr(info, name) for info in infos] for name in names}
    print(json.dumps({"time_ns": [ns for ns, _ in samples], **columns}))


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
    with contextlib.suppress(OSError):
        while True:
            connection.sendall(_CHUNK)


def _sample(connection: socket.socket) -> tuple[int, bytes]:
    return time.monotonic_ns(), connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)


if __name__ == "__main__":
    main()
