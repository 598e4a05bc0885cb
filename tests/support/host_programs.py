"""Programs that hosts of networks run without the project: `python host_programs.py NAME ARGUMENTS`."""

import contextlib
import hashlib
import itertools
import json
import select
import socket
import struct
import sys
import threading
import time

PORT, SERVING_PORT, UDP_PORT = 6000, 5001, 4754


def program(name: str, *words: object) -> list[str]:
    """The command that runs one of these functions."""
    return [sys.executable, "-I", "-S", __file__, name, *map(str, words)]


def family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def content(size: int) -> bytes:
    block = hashlib.sha256(b"flightpath").digest() * 2048
    return (block * (size // len(block) + 1))[:size]


def receive(address: str, size: str) -> None:
    """Accepts a connection and prints whether it receives content(size)."""
    listener = socket.create_server((address, PORT), family=family(address))
    print("listening", flush=True)
    connection, _ = listener.accept()
    digest, left = hashlib.sha256(), int(size)
    while chunk := connection.recv(1 << 20):
        digest.update(chunk)
        left -= len(chunk)
    is_same = left == 0 and digest.digest() == hashlib.sha256(content(int(size))).digest()
    print("same" if is_same else "different", flush=True)


def send(address: str, size: str, algorithm: str = "cubic") -> None:
    """Connects and sends content(size); ends when the receiver has all of it."""
    with socket.socket(family(address)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
        connection.connect((address, PORT))
        connection.sendall(content(int(size)))
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)


def count(address: str, expected: str) -> None:
    """Receives numbered datagrams; prints how many came, came twice, and came out of order, and the longest pause."""
    with socket.socket(family(address), socket.SOCK_DGRAM) as receiver:
        receiver.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        receiver.bind((address, PORT))
        print("listening", flush=True)
        seen, twice, disorder, highest, at_ns, longest_ns = set(), 0, 0, -1, 0, 0
        while highest < int(expected) - 1:
            (number,) = struct.unpack("!I", receiver.recv(65536)[:4])
            now_ns = time.monotonic_ns()
            longest_ns, at_ns = max(longest_ns, now_ns - at_ns if at_ns else 0), now_ns
            twice += number in seen
            disorder += number < highest
            seen.add(number)
            highest = max(highest, number)
    print(len(seen), twice, disorder, longest_ns, flush=True)


def emit(address: str, total: str, size: str, per_second: str) -> None:
    """Sends numbered datagrams at a steady pace, and the last one several times, so that the receiver ends."""
    interval, due = 1 / float(per_second), time.monotonic()
    with socket.socket(family(address), socket.SOCK_DGRAM) as sender:
        for number in range(int(total)):
            sender.sendto(struct.pack("!I", number) + bytes(int(size) - 4), (address, PORT))
            due += interval
            if (left := due - time.monotonic()) > 0:
                time.sleep(left)
        for _ in range(20):
            time.sleep(0.02)
            sender.sendto(struct.pack("!I", int(total) - 1) + bytes(int(size) - 4), (address, PORT))


def pong(data: bytes, number: int) -> bytes | None:
    """The answer to a ping in GRE in UDP, with this sequence number if the ping has one; None for other packets."""
    flags, protocol = struct.unpack("!HH", data[:4])
    packet = bytearray(data[8 if flags else 4 :])
    if protocol != 0x0800 or packet[9] != 1 or packet[20] != 8:
        return None
    packet[12:16], packet[16:20] = packet[16:20], packet[12:16]
    packet[20] = 0
    checksum = int.from_bytes(packet[22:24], "big") + 0x0800  # RFC 1624: the type was 8
    packet[22:24] = ((checksum & 0xFFFF) + (checksum >> 16)).to_bytes(2, "big")
    return struct.pack("!HH", flags, protocol) + (struct.pack("!I", number) if flags else b"") + packet


def reference(seconds: str, *addresses: str) -> None:
    """A peer like MPT-GRE's reference implementation: sends plain keepalives on each path, and answers pings.

    Prints the number of each path on which a keepalive comes.
    """
    paths = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in addresses[::2]]
    for path, local, remote in zip(paths, addresses[::2], addresses[1::2], strict=True):
        path.bind((local, UDP_PORT))
        path.connect((remote, UDP_PORT))
    tunnel = [bytes(12) + bytes([10, 99, 0, host]) for host in (2, 1)]
    keepalive = b"\0\0\x08\0" + bytes([0xA1, 0, 0, 0, 0, 4, 0, 0]) + b"".join(tunnel)
    number, due = 0, time.monotonic()
    print("listening", flush=True)
    while True:
        if time.monotonic() >= due:
            due += float(seconds)
            for path in paths:
                with contextlib.suppress(ConnectionRefusedError):  # of an earlier one
                    path.send(keepalive)
        for path in select.select(paths, [], [], max(0, due - time.monotonic()))[0]:
            data = b""
            with contextlib.suppress(ConnectionRefusedError):  # while the other end has not started
                data = path.recv(2048)
            if data[4:5] == b"\xa1":
                assert data == keepalive[:12] + tunnel[1] + tunnel[0]
                print(paths.index(path), flush=True)
            elif data and (answer := pong(data, number)) is not None:
                path.send(answer)
                number += 1


def forge(source: str, target: str, count: str) -> None:
    """Sends datagrams with the peer's address and port: control messages without the key, and nonsense."""
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP) as raw:
        raw.bind((source, 0))
        for number in range(int(count)):
            forged = b"\0\0\x88\xb5" + bytes([0xF0, 1, 0, 3]) + number.to_bytes(4, "big") * 29 + bytes(32)
            for payload in (forged, b"\0\0\x88\xb5\xf0", b"\x30\0\x08\0\x45", b"\0\0\x08\0\x45\0", b"\0"):
                raw.sendto(struct.pack("!HHHH", UDP_PORT, UDP_PORT, 8 + len(payload), 0) + payload, (target, 0))


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
            connection = socket.create_connection((address, SERVING_PORT), timeout=20)
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
        here.bind((address, PORT))
        print("listening", flush=True)
        while True:
            data, sender = here.recvfrom(2048)
            here.sendto(data, sender)


def climb(address: str) -> None:
    """Sends datagrams to `echo`, the next few when the last few are back, or lost."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here:
        here.connect((address, PORT))
        here.settimeout(5)
        while True:
            for _ in range(3):  # more in flight would be a jump, see campaign/soak/tunnel.py
                here.send(bytes(20))
            with contextlib.suppress(TimeoutError):
                for _ in range(3):
                    here.recv(2048)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
