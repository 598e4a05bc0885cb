"""Reads streams and records when their bytes arrive, and every silence.

    python -I -S stream_client.py '{"address": "10.0.0.2", "port": 5300, "connections": 2, "seconds": 5, ...}'

It prints `connected NS` after the first byte on every connection, and at the end one JSON object. With 0 seconds it
opens the connections one after the other, and prints the object alone. Times are on CLOCK_MONOTONIC, which all
processes of a machine share.
"""

import json
import selectors
import socket
import sys
import time
from typing import Any

_CHUNK = 1 << 20


def first_byte(settings: dict[str, Any]) -> tuple[socket.socket, int, int]:
    """Connects and waits for the first byte; returns the socket, and the ns until connected and until that byte."""
    family = socket.AF_INET6 if ":" in settings["address"] else socket.AF_INET
    protocol = socket.IPPROTO_MPTCP if settings["mptcp"] else 0
    begin = time.monotonic_ns()
    stream = socket.socket(family, socket.SOCK_STREAM, protocol)
    stream.settimeout(settings["timeout_s"])
    stream.connect((settings["address"], settings["port"]))
    connected = time.monotonic_ns()
    if not stream.recv(1):
        raise ConnectionError("the server closed the connection")
    return stream, connected - begin, time.monotonic_ns() - begin


def read(streams: list[socket.socket], settings: dict[str, Any]) -> dict[str, Any]:
    """Reads all streams for the given time; returns bytes per stream and per interval, and every silence."""
    selector, buffer = selectors.DefaultSelector(), bytearray(_CHUNK)
    for number, stream in enumerate(streams):
        stream.setblocking(False)
        selector.register(stream, selectors.EVENT_READ, number)
    interval_ns, silence_ns = (round(settings[name] * 1e9) for name in ("interval_s", "silence_s"))
    start = time.monotonic_ns()
    end = start + round(settings["seconds"] * 1e9)
    bins = [0] * (-(-(end - start) // interval_ns))
    totals, last_ns = [0] * len(streams), [start] * len(streams)
    silences = []
    while (now := time.monotonic_ns()) < end:
        ready = selector.select((end - now) / 1e9)
        now = time.monotonic_ns()
        for key, _ in ready:
            received = streams[key.data].recv_into(buffer)
            if received == 0:
                raise ConnectionError("the server closed the connection")
            totals[key.data] += received
            bins[min((now - start) // interval_ns, len(bins) - 1)] += received
            if now - last_ns[key.data] >= silence_ns:
                silences.append((last_ns[key.data], now))
            last_ns[key.data] = now
    silences += [(last, end) for last in last_ns if end - last >= silence_ns]
    return {"start_ns": start, "bytes": totals, "bins": bins, "silences_ns": silences}


def main() -> int:
    """Runs the program; the exit code is 1, with a message on stderr, if a connection failed."""
    settings = json.loads(sys.argv[1])
    try:
        opened = []
        for _ in range(settings["connections"]):
            opened.append(first_byte(settings))
            if not settings["seconds"]:
                opened[-1][0].close()
        streams, connect_ns, first_byte_ns = map(list, zip(*opened, strict=True))
        report = {"connect_ns": connect_ns, "first_byte_ns": first_byte_ns}
        if settings["seconds"]:
            print("connected", time.monotonic_ns(), flush=True)
            report |= read(streams, settings)
    except OSError as error:
        print(f"{settings['address']} port {settings['port']}: {error}", file=sys.stderr)
        return 1
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
