"""A TCP server that answers each request, which is a number of eight bytes, with so many bytes.

    python -m services.reply_server PORT MPTCP(0|1)

Answers come in the order of the requests of a connection.
"""

import socket
import struct
import sys
import threading

from services.stream_server import listen

_NUMBER = struct.Struct(">Q")
_PIECE = memoryview(bytes(1 << 18))


def answer(connection: socket.socket) -> None:
    """Answers the requests of a connection until its client closes it; the last segment of an answer does not wait."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection, connection.makefile("rb") as requests:
        while len(word := requests.read(_NUMBER.size)) == _NUMBER.size:
            (left,) = _NUMBER.unpack(word)
            while left:
                left -= connection.send(_PIECE[:left])


if __name__ == "__main__":
    port, mptcp = sys.argv[1:]
    listener = listen(int(port), mptcp=mptcp == "1")
    listener.setblocking(True)
    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
