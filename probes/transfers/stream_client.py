"""Reads streams in a host and notes when their bytes arrived: only there does one see how long nothing came.

A program of its own, because only a process in the host's network namespace can connect there:

    python -I -S stream_client.py '{"address": "10.0.0.2", "port": 5300, "connections": 2, "seconds": 5, ...}'

It prints a line `connected NS` once every connection has had its first byte, and at the end one JSON object. With 0
seconds it prints the object alone, and has only one connection at a time. All times are of CLOCK_MONOTONIC, which every
process of a machine shares.
"""

import json
import selectors
import socket
import sys
import time
from typing import Any

_CHUNK = 1 << 20
_IPPROTO_MPTCP = 262


def first_byte(settings: dict[str, Any]) -> tuple[socket.socket, int, int]:
    """Connects and waits for the first byte; returns the socket, and what either took in ns."""
    family = socket.AF_INET6 if ":" in settings["address"] else socket.AF_INET
    protocol = _IPPROTO_MPTCP if settings["mptcp"] else 0
    begin = time.monotonic_ns()
    stream = socket.socket(family, socket.SOCK_STREAM, protocol)
    stream.settimeout(settings["timeout_s"])
    stream.connect((settings["address"], settings["port"]))
    connected = time.monotonic_ns()
    if not stream.recv(1):
        raise ConnectionError("the server closed the connection")
    return stream, connected - begin, time.monotonic_ns() - begin


def read(streams: list[socket.socket], settings: dict[str, Any]) -> dict[str, Any]:
    """Reads all streams for the given time: bytes per stream and interval, and every silence that is long enough."""
    selector, buffer = selectors.DefaultSelector(), bytearray(_CHUNK)
    for number, stream in enumerate(streams):
        stream.setblocking(False)
        selector.register(stream, selectors.EVENT_READ, number)
    interval_ns, silence_ns = settings["interval_ns"], settings["silence_ns"]
    start = time.monotonic_ns()
    end = start + round(settings["seconds"] * 1e9)
    bins = [0] * (-(-(end - start) // interval_ns))
    totals, heard = [0] * len(streams), [start] * len(streams)
    silences = []
    while (now := time.monotonic_ns()) < end:
        ready = selector.select((end - now) / 1e9)
        now = time.monotonic_ns()
        for key, _ in ready:
            received = key.fileobj.recv_into(buffer)
            if received == 0:
                raise ConnectionError("the server closed the connection")
            totals[key.data] += received
            bins[min((now - start) // interval_ns, len(bins) - 1)] += received
            if now - heard[key.data] >= silence_ns:
                silences.append((heard[key.data], now))
            heard[key.data] = now
    silences += [(last, end) for last in heard if end - last >= silence_ns]
    return {"start_ns": start, "bytes": totals, "bins": bins, "silences_ns": silences}


def main() -> int:
    """Exit code 1 and a sentence on stderr if a connection failed."""
    settings = json.loads(sys.argv[1])
    try:
        opened = []
        for _ in range(settings["connections"]):
            opened.append(first_byte(settings))
            if not settings["seconds"]:
                opened[-1][0].close()
        told = {"connect_ns": [each[1] for each in opened], "first_byte_ns": [each[2] for each in opened]}
        if settings["seconds"]:
            print("connected", time.monotonic_ns(), flush=True)
            told |= read([each[0] for each in opened], settings)
    except OSError as error:
        print(f"{settings['address']} port {settings['port']}: {error}", file=sys.stderr)
        return 1
    print(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
