"""Receives on a TCP port and says, ten times a second, when it had received how many bytes: `python sink.py PORT`.

It runs in a host. Reading and time are of one process, so that neither waits for the other.
"""

import socket
import sys
import time

INTERVAL_NS = 100_000_000
_CHUNK_BYTES = 1 << 20

listener = socket.create_server(("", int(sys.argv[1])))
print("listening", flush=True)
connection, _ = listener.accept()
total, due_ns = 0, time.monotonic_ns()
unused = bytearray(_CHUNK_BYTES)
# MSG_TRUNC: the kernel counts the bytes and throws them away (tcp(7)), which costs the machine no copy.
while received := connection.recv_into(unused, _CHUNK_BYTES, socket.MSG_TRUNC):
    total += received
    if (now_ns := time.monotonic_ns()) >= due_ns:
        print(now_ns, total, flush=True)
        due_ns = now_ns + INTERVAL_NS
