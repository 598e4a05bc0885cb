"""Waits until a web page can be fetched: `python -I -S http_check.py ADDRESS PORT PATH SECONDS`.

A program of its own, because only a process in the host's network namespace can connect there. It imports little, so
`python -I -S` starts it in a few hundredths of a second.
"""

import socket
import sys
import time


def has_page(connection: socket.socket, path: str) -> bool:
    """Whether a GET request for this path over a connection gets status 200."""
    connection.sendall(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
    return connection.recv(64).split()[1:2] == [b"200"]


def main() -> int:
    """Returns 0 as soon as the page can be fetched, or 1 when the time is over."""
    address, port, path, seconds = sys.argv[1:]
    deadline = time.monotonic() + float(seconds)
    while True:
        try:
            with socket.create_connection((address, int(port)), timeout=5) as connection:
                if has_page(connection, path):
                    return 0
        except OSError:
            pass
        if time.monotonic() > deadline:
            return 1
        time.sleep(0.01)


if __name__ == "__main__":
    sys.exit(main())
