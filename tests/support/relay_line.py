"""The line of a relay as a Python class, and frames to send over it."""

import ctypes
import json
import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.support.c_builds import library, pure_sources
from tests.support.relay_link import assert_nothing_unaccounted

_DRIVER = Path(__file__).with_name("line_driver.c")
MS = 1_000_000
SECOND = 1000 * MS
NEVER = 2**64 - 1
LARGEST = 10 + 65536 + 64
VNET = struct.Struct("<BBHHHH")
_VNET_FIELDS = ("flags", "gso_type", "hdr_len", "gso_size", "csum_start", "csum_offset")
TCP4, UDP4, TCP6, UDP_L4 = 1, 3, 4, 5
ECN = 0x80  # of the vnet header's gso_type
FIN, PSH, ACK, CWR = 0x01, 0x08, 0x10, 0x80
VARIANTS = [
    {},
    {"version": 6},
    {"udp": True, "gso_size": 1200},
    {"udp": True, "version": 6, "gso_size": 1201},
    {"options": 0, "gso_size": 100},
]
"""GSO packets of all kinds, as arguments of `gso_packet`."""
WITH_FLAGS = {"tcp_flags": ACK | FIN | PSH | CWR, "gso_type": TCP4 | ECN}


@cache
def driver() -> ctypes.CDLL:
    return library("line", _DRIVER, *pure_sources("RELAY"), libraries=("-lm",))


@dataclass(frozen=True)
class Departure:
    """A frame that left: when it was due, its bytes with the vnet header, and how often it is written."""

    due: int
    data: bytes
    copies: int

    @property
    def wire_bytes(self) -> int:
        return len(self.data) - VNET.size


class Line:
    """One direction of a link, at which frames have arrived in its first moment."""

    def __init__(self, text: str, *frames: bytes, seed: int = 1, stream: int = 0, now: int = 0) -> None:
        error = ctypes.create_string_buffer(512)
        self.driver = driver().driver_new(text.encode(), seed, stream, now, error, 512)
        assert self.driver, error.value
        for frame in frames:
            self.send(frame, now)

    def arrive(self, size: int, now: int) -> bool:
        """Sends a frame of so many wire bytes; returns whether there was room."""
        before = self.stats()["dropped_bytes"]
        self.send(plain_frame(size), now)
        return self.stats()["dropped_bytes"] == before

    def send(self, data: bytes, now: int) -> None:
        assert driver().driver_arrive(self.driver, data, len(data), now), "malformed"

    def departures(self, now: int) -> list[Departure]:
        left, out = [], ctypes.create_string_buffer(LARGEST)
        due, copies = ctypes.c_uint64(), ctypes.c_uint32()
        while length := driver().driver_depart(self.driver, now, out, ctypes.byref(due), ctypes.byref(copies)):
            left.append(Departure(due.value, ctypes.string_at(out, length), copies.value))
        return left

    def next(self, now: int) -> int:
        return driver().line_next(self.driver, now)

    def change(self, text: str, now: int, *, down: bool = False) -> None:
        driver().driver_change(self.driver, text.encode(), down, now)

    def stats(self) -> dict:
        text = ctypes.create_string_buffer(8192)
        driver().driver_stats(self.driver, text, len(text))
        return json.loads(text.value)

    def assert_all_accounted_for(self) -> None:
        assert_nothing_unaccounted(self.stats())


def plain_frame(size: int, mark: int = 0) -> bytes:
    """A frame of so many wire bytes that is not IP; `mark` is its last two bytes."""
    return bytes(VNET.size) + bytes(12) + b"\x88\xb5" + bytes(size - 16) + mark.to_bytes(2, "big")


def plain_frames(count: int, size: int = 1000) -> list[bytes]:
    """Frames that are marked by their numbers."""
    return [plain_frame(size, number) for number in range(count)]


def content(size: int) -> bytes:
    return bytes(number * 7 % 251 for number in range(size))


def mark_of(departure: Departure) -> int:
    return int.from_bytes(departure.data[-2:], "big")


def ip_packet(size: int, *, flow: int = 1, ecn: int = 0) -> bytes:
    """A UDP packet over IPv4 of so many wire bytes, with a right header checksum."""
    total = size - 14
    header = struct.pack("!BBHHHBBH4s4s", 0x45, ecn, total, 0, 0, 64, 17, 0, b"\x0a\0\0\1", b"\x0a\0\0\2")
    header = header[:10] + checksum(header).to_bytes(2, "big") + header[12:]
    udp = struct.pack("!HHHH", 1000 + flow, 53, total - 20, 0)
    return bytes(VNET.size) + bytes(12) + b"\x08\x00" + header + udp + bytes(total - 28)


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071), independently of the C code."""
    padded = data + bytes(len(data) % 2)
    total = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def pseudo_header(version, protocol, length):
    if version == 6:
        return bytes(range(1, 33)) + struct.pack("!IHBB", length, 0, 0, protocol)
    return bytes(range(1, 9)) + struct.pack("!BBH", 0, protocol, length)


def gso_packet(payload, *, version=4, udp=False, gso_size=1448, options=12, tcp_flags=ACK | PSH, vlan=False, **vnet):
    """A GSO packet as the kernel passes it: lengths of the whole, and the pseudo header's sum as checksum."""
    ethernet = bytes(12) + (b"\x81\x00\0\x07" if vlan else b"") + (b"\x08\x00" if version == 4 else b"\x86\xdd")
    protocol = 17 if udp else 6
    header = 8 if udp else 20 + options
    length = header + len(payload)
    unfinished = ~checksum(pseudo_header(version, protocol, length)) & 0xFFFF
    if udp:
        transport = struct.pack("!HHHH", 1, 2, length, unfinished)
    else:
        offset = (20 + options) // 4 << 4
        transport = struct.pack("!HHIIBBHHH", 1, 2, 0xFFFFFF00, 7, offset, tcp_flags, 99, unfinished, 0)
        transport += bytes([1]) * max(options, 0)
    if version == 4:
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + length, 0xFFFE, 0x4000, 64, protocol, 0) + bytes(range(1, 9))
        ip = ip[:10] + checksum(ip).to_bytes(2, "big") + ip[12:]
    else:
        ip = struct.pack("!IHBB", 6 << 28, length, protocol, 64) + bytes(range(1, 33))
    kind = UDP_L4 if udp else TCP4 if version == 4 else TCP6
    values = (1, kind, 0, gso_size, len(ethernet) + len(ip), 6 if udp else 16)
    fields = dict(zip(_VNET_FIELDS, values, strict=True)) | vnet
    return VNET.pack(*fields.values()) + ethernet + ip + transport + payload


def segmented(data):
    """The segments of a frame on the wire, with all checksums; written from the RFCs, independently of the C code."""
    flags, kind, _, gso_size, start, offset = VNET.unpack(data[: VNET.size])
    frame, kind = data[VNET.size :], kind & ~ECN
    assert flags == 1
    udp = kind == UDP_L4 or (kind == 0 and offset == 6)
    headers = start + (8 if udp else (frame[start + 12] >> 4) * 4)
    network = 18 if frame[12:14] == b"\x81\x00" else 14
    version = frame[network] >> 4
    payload = frame[headers:]
    step = gso_size or len(payload)
    pieces = [payload[at : at + step] for at in range(0, len(payload), step)]
    wire = []
    for number, piece in enumerate(pieces):
        head = bytearray(frame[:headers])
        length = headers - start + len(piece)
        if version == 4:
            struct.pack_into("!H", head, network + 2, headers - network + len(piece))
            (identification,) = struct.unpack_from("!H", head, network + 4)
            struct.pack_into("!H", head, network + 4, (identification + number) & 0xFFFF)
            struct.pack_into("!H", head, network + 10, 0)
            struct.pack_into("!H", head, network + 10, checksum(bytes(head[network:start])))
        else:
            struct.pack_into("!H", head, network + 4, start - network - 40 + length)
        if udp:
            struct.pack_into("!H", head, start + 4, length)
        else:
            (sequence,) = struct.unpack_from("!I", head, start + 4)
            struct.pack_into("!I", head, start + 4, (sequence + number * step) & 0xFFFFFFFF)
            if number < len(pieces) - 1:
                head[start + 13] &= ~(FIN | PSH)
            if number > 0:
                head[start + 13] &= ~CWR & 0xFF
        # The unfinished checksum must be the pseudo header's: of the frame, or of the piece that it is part of.
        whole = headers - start + len(payload)
        (unfinished,) = struct.unpack_from("!H", frame, start + offset)
        pseudo_sum = ~checksum(pseudo_header(version, 17 if udp else 6, whole)) & 0xFFFF
        assert unfinished % 0xFFFF == pseudo_sum % 0xFFFF
        struct.pack_into("!H", head, start + offset, 0)
        done = checksum(pseudo_header(version, 17 if udp else 6, length) + bytes(head[start:]) + piece)
        struct.pack_into("!H", head, start + offset, done)
        wire.append(bytes(head) + piece)
    return wire
