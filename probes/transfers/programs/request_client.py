"""Makes requests over one TCP connection, and prints how long each answer took.

    python -I -S request_client.py '{"address": "10.0.0.2", "port": 5302, "mptcp": false, "count": 100,
                                     "size_bytes": 100000, "interval_s": 0, "silence_s": 60}'

It prints one JSON object: `connect_ms`, `seconds` from the beginning to the last byte, and `times_ms` of the requests
in their order, each from the moment at which it was due. It fails if nothing comes for `silence_s`.
"""

import json
import select
import socket
import struct
import sys
import time
from typing import Any

_CHUNK = 1 << 20


def connect(settings: dict[str, Any]) -> socket.socket:
    """Opens the connection."""
    family = socket.AF_INET6 if ":" in settings["address"] else socket.AF_INET
    stream = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_MPTCP if settings["mptcp"] else 0)
    stream.settimeout(settings["silence_s"])
    stream.connect((settings["address"], settings["port"]))
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return stream


def ask(stream: socket.socket, settings: dict[str, Any]) -> list[int]:
    """Makes all requests; returns the ns that each answer took."""
    count, size, buffer = settings["count"], settings["size_bytes"], bytearray(_CHUNK)
    interval_ns = round(settings["interval_s"] * 1e9)
    request, start_ns, received = struct.pack(">Q", size), time.monotonic_ns(), 0
    due_ns: list[int] = []
    done_ns: list[int] = []
    while len(done_ns) < count:
        now = time.monotonic_ns()
        wait_ns = None
        if len(due_ns) < count and (interval_ns or len(due_ns) == len(done_ns)):
            next_ns = start_ns + len(due_ns) * interval_ns if interval_ns else now
            wait_ns = next_ns - now
            if wait_ns <= 0:
                due_ns.append(next_ns)
                stream.sendall(request)
                continue
        if not select.select([stream], [], [], settings["silence_s"] if wait_ns is None else wait_ns / 1e9)[0]:
            if wait_ns is None:
                raise TimeoutError(f"nothing came for {settings['silence_s']:g} s")
            continue
        arrived = stream.recv_into(buffer)
        if arrived == 0:
            raise ConnectionError("the server closed the connection")
        received += arrived
        now = time.monotonic_ns()
        done_ns += [now] * (received // size - len(done_ns))
    return [done - due for done, due in zip(done_ns, due_ns, strict=True)]


def main() -> int:
    """Runs the program; the exit code is 1, with a message on stderr, if the connection failed."""
    settings = json.loads(sys.argv[1])
    begin = time.monotonic_ns()
    try:
        with connect(settings) as stream:
            connect_ns = time.monotonic_ns() - begin
            times_ns = ask(stream, settings)
            seconds = (time.monotonic_ns() - begin) / 1e9
    except OSError as error:
        print(f"{settings['address']} port {settings['port']}: {error}", file=sys.stderr)
        return 1
    report = {"connect_ms": connect_ns / 1e6, "seconds": seconds, "times_ms": [ns / 1e6 for ns in times_ns]}
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
