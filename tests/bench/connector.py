"""Makes TCP connections one after the other: `connector.py serve`, or `… connect ADDRESS THREADS SECONDS PAUSE [MOST]`.

Prints what each took from SYN to SYN/ACK, in seconds, as a JSON list. A program of its own, for a host's namespace.
"""

import itertools
import json
import socket
import sys
import threading
import time

PORT = 5400


def serve() -> None:
    """Closes each connection when its client has."""
    listener = socket.create_server(("", PORT), backlog=1024)
    print("listening", flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_close_after_client, args=(connection,), daemon=True).start()


def connect(address: str, threads: int, seconds: float, pause_s: float, most: float = float("inf")) -> list[float]:
    """Connects, closes and pauses, in each thread again and again, until there have been so many in all."""
    took: list[float] = []
    numbers = itertools.count()
    end = time.monotonic() + seconds

    def work() -> None:
        while time.monotonic() < end and next(numbers) < most:
            begun = time.monotonic()
            connection = socket.create_connection((address, PORT), timeout=20)
            took.append(time.monotonic() - begun)
            connection.close()
            time.sleep(pause_s)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return took


def _close_after_client(connection: socket.socket) -> None:
    with connection:
        connection.recv(1)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    print(json.dumps(connect(sys.argv[2], int(sys.argv[3]), *map(float, sys.argv[4:]))))
