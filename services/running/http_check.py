"""Reports by its exit code whether a web page can be fetched: `python -I -S http_check.py ADDRESS PORT PATH`.

A program of its own, because only a process in the host's network namespace can connect there. It imports little, so
`python -I -S` starts it in a few hundredths of a second.
"""

import socket
import sys


def has_page(connection: socket.socket, path: str) -> bool:
    """Returns whether a GET request for this path over a connection gets status 200."""
    connection.sendall(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
    return connection.recv(64).split()[1:2] == [b"200"]


if __name__ == "__main__":
    address, port, path = sys.argv[1:]
    with socket.create_connection((address, int(port)), timeout=5) as connection:
        sys.exit(0 if has_page(connection, path) else 1)
