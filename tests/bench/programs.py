"""Programs that hosts of benchmarks and campaign run without the project: `python programs.py NAME ARGUMENTS`."""

import contextlib
import itertools
import json
import socket
import sys
import threading
import time

_CONNECT_PORT, _ECHO_PORT = 5001, 6100
_MAX_IN_FLIGHT = 3


def connect(address: str, threads: str, seconds: str, pause_s: str, most: str = "inf") -> None:
    """Connects, closes and pauses, again and again in each thread, until `most` connections in all.

    The server is `serving` of steering_tools.py. Prints how long each took from SYN to SYN/ACK, as a JSON list (s).
    """
    took_s: list[float] = []
    numbers = itertools.count()
    end_s = time.monotonic() + float(seconds)

    def work() -> None:
        while time.monotonic() < end_s and next(numbers) < float(most):
            begun_s = time.monotonic()
            connection = socket.create_connection((address, _CONNECT_PORT), timeout=20)
            took_s.append(time.monotonic() - begun_s)
            connection.close()
            time.sleep(float(pause_s))

    workers = [threading.Thread(target=work) for _ in range(int(threads))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(json.dumps(took_s))


def echo(address: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here:
        here.bind((address, _ECHO_PORT))
        print("listening", flush=True)
        while True:
            data, sender = here.recvfrom(2048)
            here.sendto(data, sender)


def climb(address: str) -> None:
    """Sends datagrams to `echo`, the next few when the last few are back, or lost."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here:
        here.connect((address, _ECHO_PORT))
        here.settimeout(5)  # more in flight would be a jump, see campaign/soak/tunnel.py
        while True:
            for _ in range(_MAX_IN_FLIGHT):
                here.send(bytes(20))
            with contextlib.suppress(TimeoutError):
                for _ in range(_MAX_IN_FLIGHT):
                    here.recv(2048)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
