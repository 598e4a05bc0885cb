"""Measures response times: `python3 measure.py ADDRESS SECONDS REQUESTS_PER_S`. Is it right? Mend what is not.

The last line that it prints is what counts: how many requests there were, and two percentiles of their response times.
"""

import json
import socket
import statistics
import sys
import time

PORT = 5400


def ask(connection, number):
    """Sends one request and waits for its answer."""
    connection.write(f"{number}\n".encode())
    connection.flush()
    connection.readline()


def main():
    address, seconds, rate = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    times_s = []
    with socket.create_connection((address, PORT)) as link, link.makefile("rwb") as connection:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        begin_s = time.monotonic()
        while time.monotonic() - begin_s < seconds:
            sent_s = time.monotonic()
            ask(connection, len(times_s))
            answered_s = time.monotonic()
            times_s.append(answered_s - sent_s)
            time.sleep(max(0, 1 / rate - (answered_s - sent_s)))
    cuts = statistics.quantiles(times_s, n=100)
    print(json.dumps({"requests": len(times_s), "p50_ms": 1e3 * cuts[49], "p99_ms": 1e3 * cuts[98]}))


main()
