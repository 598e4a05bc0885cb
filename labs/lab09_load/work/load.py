"""Loads the web server: `python3 load.py ADDRESS REQUESTS_PER_S SECONDS [FILE]`.

Requests come at random times, as those of independent users do, and share a few connections that stay open, as behind a
proxy. A response time counts from the moment when the user came, so that waiting for a connection counts, too.
The file gets a line for each user: when the user came, and how long the page took, both in seconds.
"""

import http.client
import json
import pathlib
import queue
import random
import statistics
import sys
import threading
import time

PORT = 8000
CONNECTIONS = 6
PATIENCE_S = 60


def fetch(connection):
    """Fetches the page."""
    connection.request("GET", "/")
    connection.getresponse().read()


def serve(connection, users, served):
    """Fetches the page for one user after the other, until there are no more."""
    while (came_s := users.get()) is not None:
        fetch(connection)
        served.append((came_s, time.monotonic() - came_s))


def main():
    address, rate, seconds = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    chance, users, served = random.Random(1), queue.Queue(), []
    connections = [http.client.HTTPConnection(address, PORT, timeout=PATIENCE_S) for _ in range(CONNECTIONS)]
    for connection in connections:
        fetch(connection)  # so that each has its second path before the users come
    threads = [threading.Thread(target=serve, args=(connection, users, served)) for connection in connections]
    for thread in threads:
        thread.start()
    comes_s = begin_s = time.monotonic()
    while comes_s < begin_s + seconds:
        time.sleep(max(0, comes_s - time.monotonic()))
        users.put(comes_s)
        comes_s += chance.expovariate(rate)
    for _ in threads:
        users.put(None)
    for thread in threads:
        thread.join()
    served.sort()
    times_s = [took_s for _, took_s in served]
    if len(sys.argv) > 4:
        lines = [f"{came_s - begin_s:.3f} {took_s:.4f}\n" for came_s, took_s in served]
        pathlib.Path(sys.argv[4]).write_text("".join(lines))
    p95_s = statistics.quantiles(times_s, n=20)[-1] if len(times_s) > 1 else times_s[0]
    print(json.dumps({"requests": len(times_s), "p95_ms": round(1e3 * p95_s, 1)}))


main()
