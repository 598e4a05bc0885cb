"""Datagrams there and back, a few at a time: `ladder.py serve ADDRESS`, `ladder.py climb ADDRESS`."""

import contextlib
import socket
import sys

PORT, MAX_IN_FLIGHT = 6100, 3


def serve(address: str) -> None:
    """Sends back what comes."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here:
        here.bind((address, PORT))
        print("listening", flush=True)
        while True:
            data, sender = here.recvfrom(2048)
            here.sendto(data, sender)


def climb(address: str) -> None:
    """Sends the next few when the last few are back, or lost."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here:
        here.connect((address, PORT))
        here.settimeout(5)  # more on the way at once would be a jump, see numbered.py
        while True:
            for _ in range(MAX_IN_FLIGHT):
                here.send(bytes(20))
            with contextlib.suppress(TimeoutError):
                for _ in range(MAX_IN_FLIGHT):
                    here.recv(2048)


if __name__ == "__main__":
    {"serve": serve, "climb": climb}[sys.argv[1]](sys.argv[2])
