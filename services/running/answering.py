"""Asks a web page from inside a host until it comes: without it a service would be called ready that no client reaches.

A program of its own, because only a process in the host's network namespace can ask there. It imports little, and
`python -I -S` runs it in a few hundredths of a second.
"""

import socket
import sys
import time


def answers(address: str, port: int, path: str) -> bool:
    """Whether a GET of this path gets status 200."""
    try:
        with socket.create_connection((address, port), timeout=5) as connection:
            connection.sendall(f"GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n".encode())
            return connection.recv(64).split()[1:2] == [b"200"]
    except OSError:
        return False


def main() -> int:
    """Exit code 0 as soon as the page comes, 1 after the given time."""
    address, port, path, seconds = sys.argv[1:]
    deadline = time.monotonic() + float(seconds)
    while not answers(address, int(port), path):
        if time.monotonic() > deadline:
            return 1
        time.sleep(0.01)
    return 0


if __name__ == "__main__":
    sys.exit(main())
