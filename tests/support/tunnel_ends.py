"""Two ends of a tunnel without a kernel: the test supplies what the device reads, and what arrives when on which path.

Built from the C files of `mptgre`. Expected bytes come from `relay_line.segmented`, which was written from the RFCs.
"""

import ctypes
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from tests.support.c_builds import library, pure_sources
from tests.support.relay_line import MS, VNET, gso_packet, segmented

WRR, RTT, REDUNDANT, FLOWHASH = range(4)
ETHERNET = 14
_DRIVER = Path(__file__).with_name("tunnel_driver.c")
_LARGEST = 70_000


@cache
def driver() -> ctypes.CDLL:
    return library("tunnel", _DRIVER, *pure_sources("TUNNEL"), libraries=("-lm", "-lcrypto"))


@dataclass(frozen=True)
class Datagram:
    """Frame on a path: a GRE header, with or without a sequence number, and a packet."""

    path: int
    data: bytes

    @property
    def sequence(self) -> int | None:
        return int.from_bytes(self.data[4:8], "big") if self.data[0] & 0x10 else None

    @property
    def packet(self) -> bytes:
        return self.data[8 if self.data[0] & 0x10 else 4 :]


class End:
    """One end of a tunnel: its sender and its receiver.

    What is not defined here is a function of the driver or, if that has none, of the reordering buffer.
    """

    def __init__(
        self,
        paths: int = 2,
        *,
        scheduler: int = WRR,
        run: int = 1,
        sequenced: bool = True,
        offloads: bool = True,
        mtu: int = 1500,
        window: int = 64,
        by_paths: bool = False,
        backwards: bool = False,
        limit_ms: float = 100,
    ) -> None:
        order = (window, by_paths, backwards, round(limit_ms * MS))
        self.end = driver().end_new(paths, scheduler, run, sequenced, offloads, mtu, *order)
        self.reorder = driver().end_reorder(self.end)
        for path in range(paths):
            self.path(path)

    def __getattr__(self, name: str) -> Callable[..., int]:
        if hasattr(driver(), f"end_{name}"):
            return partial(getattr(driver(), f"end_{name}"), self.end)
        return partial(getattr(driver(), f"reorder_{name}"), self.reorder)

    def path(
        self, path: int, *, up: bool = True, backup: bool = False, weight: float = 1, rtt_ms: float = 0, bps: int = 0
    ) -> None:
        driver().end_path(self.end, path, up, backup, weight, round(rtt_ms * MS), bps)

    def send(self, *packets: bytes, flush: bool = True) -> list[Datagram]:
        """Reads packets (with vnet headers) from the device; returns what leaves on which path, path by path."""
        for data in packets:
            self.read(data, len(data))
        if flush:
            self.flush()
        return [Datagram(path, data) for path, data in self._taken("sent")]

    def receive(self, path: int, data: bytes, now: int = 0, segment: int = 0) -> None:
        """A datagram arrives, or several of `segment` bytes each."""
        driver().end_receive(self.end, path, data, len(data), segment, now)

    def written(self, now: int = 0) -> list[bytes]:
        """Delivers what can be delivered; returns what the device gets (with vnet headers)."""
        driver().receiver_flush(self.end, now)
        return [data for _, data in self._taken("written")]

    def control(self) -> list[bytes]:
        return [data for _, data in self._taken("control")]

    def _taken(self, what: str) -> Iterator[tuple[int, bytes]]:
        path, out = ctypes.c_int(), ctypes.create_string_buffer(_LARGEST)
        while length := getattr(driver(), f"end_{what}")(self.end, ctypes.byref(path), out):
            yield path.value, ctypes.string_at(out, length)

    def counter(self, name: str) -> int:
        return driver().end_counter(self.end, name.encode())

    def due(self, now: int = 0) -> int:
        return driver().receiver_due(self.end, now)


def read_from_device(*, payload: bytes, **variant) -> tuple[bytes, list[bytes]]:
    """A GSO packet as read from the device, and the packets that it consists of."""
    frame = gso_packet(payload, **variant)
    return without_ethernet(frame), [segment[ETHERNET:] for segment in segmented(frame)]


def without_ethernet(frame: bytes) -> bytes:
    flags, kind, headers, size, start, offset = VNET.unpack(frame[: VNET.size])
    vnet = VNET.pack(flags, kind, headers, size, start - ETHERNET if flags else 0, offset)
    return vnet + frame[VNET.size + ETHERNET :]


def packets_of(written: list[bytes]) -> list[bytes]:
    """The packets that the device gets, with GSO packets cut apart."""
    found = []
    for data in written:
        flags, kind, headers, size, start, offset = VNET.unpack(data[: VNET.size])
        if not flags:
            found.append(data[VNET.size :])
            continue
        # segmented() knows frames: one with an Ethernet header before it.
        protocol = b"\x08\x00" if data[VNET.size] >> 4 == 4 else b"\x86\xdd"
        vnet = VNET.pack(flags, kind, headers, size, start + ETHERNET, offset)
        frame = vnet + bytes(12) + protocol + data[VNET.size :]
        found += [segment[ETHERNET:] for segment in segmented(frame)]
    return found


def udp_packet(number: int, size: int = 100) -> bytes:
    """A UDP packet of so many bytes over IPv4, without a UDP checksum, that carries a number."""
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, size, number & 0xFFFF, 0, 64, 17, 0, b"\x0a\0\0\1", b"\x0a\0\0\2")
    return header + struct.pack("!HHHH", 1, 2, size - 20, 0) + number.to_bytes(4, "big") + bytes(size - 32)


def number_of(packet: bytes) -> int:
    return int.from_bytes(packet[28:32], "big")


def numbered(sequence: int, packet: bytes) -> bytes:
    """A datagram with a sequence number."""
    return struct.pack("!HHI", 0x1000, 0x0800, sequence % 2**32) + packet


def single(packet: bytes) -> bytes:
    """A packet as read from the device, with a complete checksum."""
    return bytes(VNET.size) + packet
