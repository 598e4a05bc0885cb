"""A sender that does what `Control` in control.py decides, and the receiver that answers it. Do not change this file.

    python3 transport.py receive SECONDS
    python3 transport.py send ADDRESS SECONDS

Packets are numbered; each is acknowledged, and none is sent again. A packet counts as lost when three later ones were
acknowledged, or nothing was for a while. Like TCP, the sender reports a loss at most once in a round trip.
"""

import importlib.util
import json
import select
import socket
import struct
import sys
import time
from pathlib import Path

PORT, PAYLOAD_BYTES = 4000, 1400
BIN_S = 0.1
_HEADER = struct.Struct("!Qd")
_LATER = 3
_SILENCE_S = 1.0
_MOST_UNDER_WAY = 10_000


class Sender:
    """Keeps as many packets under way as the control's window allows."""

    def __init__(self, control, peer: socket.socket) -> None:
        self._control, self._peer = control, peer
        self._under_way: dict[int, float] = {}
        self._number = self.acknowledged = self.lost = 0
        self._round_trip_ends_with = 0
        self._heard_s = time.monotonic()
        self.rtt_s = 0.0

    def run(self, until_s: float) -> None:
        """Sends until a time, and prints a line each second."""
        report_s = time.monotonic() + 1
        while (now_s := time.monotonic()) < until_s:
            self._send()
            self._receive(min(until_s, now_s + 0.05))
            if time.monotonic() - self._heard_s > _SILENCE_S:
                self._lose(list(self._under_way))
                self._heard_s = time.monotonic()
            if now_s >= report_s:
                self._report()
                report_s += 1

    def _send(self) -> None:
        window = float(self._control.window)
        if not 0 < window < float("inf"):
            sys.exit(f"control.py: the window is {window}; it must be a number of packets")
        while len(self._under_way) < min(max(1.0, window), _MOST_UNDER_WAY):
            now_s = time.monotonic()
            try:
                self._peer.send(_HEADER.pack(self._number, now_s).ljust(PAYLOAD_BYTES, b"."))
            except OSError:  # the receiver is not there yet, or the path is cut: as if lost on the way
                time.sleep(0.01)
            self._under_way[self._number] = now_s
            self._number += 1

    def _receive(self, until_s: float) -> None:
        wait_s = max(0.0, until_s - time.monotonic())
        while select.select([self._peer], [], [], wait_s)[0]:
            try:
                number, sent_s = _HEADER.unpack(self._peer.recv(_HEADER.size))
            except OSError:
                return
            self._heard_s = time.monotonic()
            if self._under_way.pop(number, None) is not None:
                self.acknowledged += 1
                self.rtt_s = self._heard_s - sent_s
                self._control.on_ack(self._heard_s, self.rtt_s)
                self._lose([other for other in self._under_way if other < number - _LATER])
            wait_s = 0.0

    def _lose(self, numbers: list[int]) -> None:
        for number in numbers:
            del self._under_way[number]
        self.lost += len(numbers)
        if numbers and max(numbers) >= self._round_trip_ends_with:
            self._round_trip_ends_with = self._number
            self._control.on_loss(time.monotonic())

    def _report(self) -> None:
        window = float(self._control.window)
        print(
            f"window {window:7.1f}  round trip {self.rtt_s * 1e3:6.1f} ms  lost {self.lost} of {self._number}",
            flush=True,
        )


def send(address: str, seconds: float) -> None:
    """Sends to a receiver for a time."""
    spec = importlib.util.spec_from_file_location("control", Path("control.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.connect((address, PORT))
        Sender(module.Control(), peer).run(time.monotonic() + seconds)


def receive(seconds: float) -> None:
    """Acknowledges packets for a time; prints how many bytes came in each tenth of a second, by sender, as JSON."""
    begin_s, bins = time.monotonic(), {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here:
        here.bind(("", PORT))
        while (left_s := begin_s + seconds - time.monotonic()) > 0:
            if select.select([here], [], [], left_s)[0]:
                packet, (address, port) = here.recvfrom(2 * PAYLOAD_BYTES)
                here.sendto(packet[: _HEADER.size], (address, port))
                counts = bins.setdefault(f"{address}:{port}", [0] * (int(seconds / BIN_S) + 1))
                counts[int((time.monotonic() - begin_s) / BIN_S)] += len(packet)
    print(json.dumps({"begin_s": begin_s, "bytes": list(bins.values())}))


if __name__ == "__main__":
    command, *words = sys.argv[1:]
    receive(float(words[0])) if command == "receive" else send(words[0], float(words[1]))
