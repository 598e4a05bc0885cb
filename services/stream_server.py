"""Sends bytes without end to every client: `python -I -S stream_server.py PORT MPTCP(0|1)`.

A program of its own, because only a process in the host's network namespace can listen there.
"""

import selectors
import socket
import sys

_IPPROTO_MPTCP = 262
_PIECE = bytes(1 << 18)


def listen(port: int, *, mptcp: bool) -> socket.socket:
    """A socket that accepts connections on all addresses, IPv4 and IPv6."""
    listener = socket.socket(socket.AF_INET6, socket.SOCK_STREAM, _IPPROTO_MPTCP if mptcp else 0)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    listener.bind(("::", port))
    listener.listen(1024)
    listener.setblocking(False)
    return listener


def serve(listener: socket.socket) -> None:
    """Sends to every connection as fast as it accepts data, until the client closes it."""
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj is listener:
                connection, _ = listener.accept()
                connection.setblocking(False)
                selector.register(connection, selectors.EVENT_WRITE)
                continue
            try:
                key.fileobj.send(_PIECE)
            except BlockingIOError:
                continue
            except OSError:
                selector.unregister(key.fileobj)
                key.fileobj.close()


if __name__ == "__main__":
    serve(listen(int(sys.argv[1]), mptcp=sys.argv[2] == "1"))
