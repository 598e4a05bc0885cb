"""A link emulator in user space, as network simulators have: a router's packets pass through it, one by one.

`emulator.py HOW MICROSECONDS QUEUE`, in a router with two interfaces; QUEUE: packets that may wait for it.

    one     one thread for both directions, which each packet keeps busy for so long
    sleep   a thread for each direction, which sleeps so long for each packet
    line    each packet is sent on so long after it came, however many are on the way
"""

import ctypes
import fcntl
import os
import queue
import select
import socket
import struct
import subprocess
import sys
import threading
import time

_TUNSETIFF = 0x400454CA
_TUN_WITHOUT_HEADER = 0x1001
_PR_SET_TIMERSLACK = 29
_MAX_BYTES = 65536


def _tun(number: int, packets: str) -> int:
    """Makes a TUN device through which all packets go that arrive on an interface of the router; returns its file."""
    file = os.open("/dev/net/tun", os.O_RDWR)
    name, table = f"emulator{number}", str(200 + number)
    fcntl.ioctl(file, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _TUN_WITHOUT_HEADER))
    (interface,) = (each for _, each in socket.if_nameindex() if each.endswith(f"-eth{number}"))
    for words in (
        ["link", "set", name, "up", "txqueuelen", packets],
        ["route", "add", "default", "dev", name, "table", table],
        ["rule", "add", "iif", interface, "lookup", table],
    ):
        subprocess.run(["ip", *words], check=True)
    return file


def _sleep_for_each(files: list[int], seconds: float) -> None:
    """Sends on what comes, after a pause for each packet."""
    _sleep_exactly()
    while True:
        for file in select.select(files, [], [])[0]:
            packet = os.read(file, _MAX_BYTES)
            time.sleep(seconds)
            os.write(file, packet)


def _receive(file: int, seconds: float, waiting: "queue.SimpleQueue[tuple[float, bytes]]") -> None:
    while True:
        packet = os.read(file, _MAX_BYTES)
        waiting.put((time.monotonic() + seconds, packet))


def _send_when_due(file: int, waiting: "queue.SimpleQueue[tuple[float, bytes]]") -> None:
    _sleep_exactly()
    while True:
        due_s, packet = waiting.get()
        time.sleep(max(0.0, due_s - time.monotonic()))
        os.write(file, packet)


def _sleep_exactly() -> None:
    """Lets this thread's sleep end when it should, in place of up to 50 us later."""
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)


def main(how: str, microseconds: str, packets: str) -> None:
    """Emulates until it is killed."""
    files = [_tun(number, packets) for number in range(2)]
    seconds = float(microseconds) * 1e-6
    if how == "one":
        threads = [threading.Thread(target=_sleep_for_each, args=(files, seconds))]
    elif how == "sleep":
        threads = [threading.Thread(target=_sleep_for_each, args=([file], seconds)) for file in files]
    else:
        lines: list[queue.SimpleQueue[tuple[float, bytes]]] = [queue.SimpleQueue() for _ in files]
        threads = [
            threading.Thread(target=target, args=args)
            for file, line in zip(files, lines, strict=True)
            for target, args in ((_receive, (file, seconds, line)), (_send_when_due, (file, line)))
        ]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
