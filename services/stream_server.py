"""A TCP server that sends bytes without end to every connection, or discards what it receives.

    python -I -S stream_server.py source|sink PORT MPTCP(0|1)

It is a program of its own, because only a process in a host's network namespace can listen there.
"""

import selectors
import socket
import sys
from collections.abc import Callable

_PIECE = bytes(1 << 18)
_UNUSED = bytearray(1 << 20)


def listen(port: int, *, mptcp: bool) -> socket.socket:
    """Opens a socket that accepts connections on all addresses of both families."""
    listener = socket.socket(socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_MPTCP if mptcp else 0)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    listener.bind(("::", port))
    listener.listen(1024)
    listener.setblocking(False)
    return listener


def serve(listener: socket.socket, event: int, transfer: Callable[[socket.socket], int]) -> None:
    """Serves all connections until the program is killed, each when it is ready for an event of `selectors`.

    `transfer` sends or receives, and returns the number of bytes; 0 ends the connection.
    """
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ, listener)
    while True:
        for key, _ in selector.select():
            ready: socket.socket = key.data
            if ready is listener:
                connection, _ = listener.accept()
                connection.setblocking(False)
                selector.register(connection, event, connection)
            elif not _is_open(ready, transfer):
                selector.unregister(ready)
                ready.close()


def send(connection: socket.socket) -> int:
    """Sends as much as the connection takes."""
    return connection.send(_PIECE)


def discard(connection: socket.socket) -> int:
    """Receives what is there. With MSG_TRUNC the kernel counts the bytes and discards them without a copy (tcp(7))."""
    return connection.recv_into(_UNUSED, len(_UNUSED), socket.MSG_TRUNC)


def _is_open(connection: socket.socket, transfer: Callable[[socket.socket], int]) -> bool:
    try:
        return transfer(connection) > 0
    except BlockingIOError:
        return True
    except OSError:
        return False


if __name__ == "__main__":
    role, number, mptcp = sys.argv[1:]
    work = (selectors.EVENT_WRITE, send) if role == "source" else (selectors.EVENT_READ, discard)
    serve(listen(int(number), mptcp=mptcp == "1"), *work)
