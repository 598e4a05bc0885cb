"""`python ping_program.py ADDRESS SECONDS INTERVAL`: pings; prints the send time and the round trip of each ping.

ping(8) waits for the last milliseconds of its interval in a busy loop, which would stop a virtual clock. This program
runs inside a host, with the standard library alone.
"""

import json
import os
import select
import socket
import struct
import sys
import time

_ECHO_REQUEST, _ECHO_REPLY = 8, 0
_HEADER = struct.Struct("!BBHHH")
_IP_HEADER_BYTES = 20
_LAST_REPLIES_S = 2.0


def _main(address: str, seconds: float, interval_s: float) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as icmp:
        icmp.connect((address, 0))
        print(json.dumps(_round_trips(icmp, round(seconds / interval_s), interval_s)))


def _round_trips(icmp: socket.socket, count: int, interval_s: float) -> list[tuple[float, float]]:
    sent_s: list[float] = []
    round_trips: list[tuple[float, float]] = []
    begin_s = time.monotonic()
    for number in range(count):
        sent_s.append(time.monotonic())
        icmp.send(_request(number))
        _collect(icmp, begin_s + (number + 1) * interval_s, sent_s, round_trips)
    _collect(icmp, time.monotonic() + _LAST_REPLIES_S, sent_s, round_trips)
    return round_trips


def _collect(icmp: socket.socket, until_s: float, sent_s: list[float], round_trips: list[tuple[float, float]]) -> None:
    """Collects replies until a time."""
    while (left_s := until_s - time.monotonic()) > 0:
        if select.select([icmp], [], [], left_s)[0]:
            reply = icmp.recv(2048)
            kind, _code, _sum, identity, number = _HEADER.unpack_from(reply, _IP_HEADER_BYTES)
            if kind == _ECHO_REPLY and identity == _identity():
                round_trips.append((sent_s[number], time.monotonic() - sent_s[number]))


def _identity() -> int:
    return os.getpid() & 0xFFFF


def _request(number: int) -> bytes:
    words = [_ECHO_REQUEST << 8, 0, _identity(), number]
    total = sum(words)
    checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    return _HEADER.pack(_ECHO_REQUEST, 0, checksum, _identity(), number)


if __name__ == "__main__":
    _main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]))
