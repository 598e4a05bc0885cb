"""Takes whatever comes on a TCP port, from any number of connections: `python tcp_sink.py PORT`; runs in a host."""

import selectors
import socket
import sys

_CHUNK_BYTES = 1 << 20


def main() -> None:
    """The program; it ends when it is killed."""
    ready = selectors.DefaultSelector()
    # One socket for both families.
    listener = socket.create_server(("", int(sys.argv[1])), family=socket.AF_INET6, dualstack_ipv6=True, backlog=256)
    ready.register(listener, selectors.EVENT_READ)
    print("listening", flush=True)
    unused = bytearray(_CHUNK_BYTES)
    while True:
        for key, _ in ready.select():
            if key.fileobj is listener:
                ready.register(listener.accept()[0], selectors.EVENT_READ)
            elif not _receive(key.fileobj, unused):
                ready.unregister(key.fileobj)
                key.fileobj.close()


def _receive(connection: socket.socket, unused: bytearray) -> bool:
    """Whether more may come."""
    try:
        # MSG_TRUNC: the kernel counts the bytes and throws them away (tcp(7)), which costs the machine no copy.
        return connection.recv_into(unused, _CHUNK_BYTES, socket.MSG_TRUNC) > 0
    except OSError:
        return False


if __name__ == "__main__":
    main()
