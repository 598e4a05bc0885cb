"""Two ends of a tunnel without a kernel: the test supplies what the device reads, and what arrives when on which path.

Built from the C files of `mptgre`. Expected bytes come from `relay_line.segmented`, which was written from the RFCs.
"""

import ctypes
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.relay_line import NATIVE, VNET, plain_frame, segmented, super_frame, tunnel_sources

MS = 1_000_000
SECOND = 1000 * MS
NEVER = 2**64 - 1
WRR, RTT, REDUNDANT, FLOWHASH = range(4)
ETHERNET = 14
_DRIVER = Path(__file__).with_name("tunnel_driver.c")
_LARGEST = 70_000


def build(folder: Path) -> ctypes.CDLL:
    """The driver as a library."""
    library = folder / "tunnel.so"
    flags = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", f"-I{NATIVE}"]
    subprocess.run(["cc", *flags, "-o", library, str(_DRIVER), *tunnel_sources(), "-lm", "-lcrypto"], check=True)
    c = ctypes.CDLL(str(library))
    for name in ("end_new", "driver_peer"):
        getattr(c, name).restype = ctypes.c_void_p
    for name in ("end_sent", "end_written", "end_control"):
        getattr(c, name).restype = ctypes.c_size_t
    for name in ("end_due", "end_counter", "driver_lead"):
        getattr(c, name).restype = ctypes.c_uint64
    for name in ("driver_check", "driver_mac", "peer_hear_plain", "plain_answer"):
        getattr(c, name).restype = ctypes.c_bool
    return c


@dataclass(frozen=True)
class Datagram:
    """What a path carries: a GRE header, with or without a sequence number, and a packet."""

    path: int
    data: bytes

    @property
    def sequence(self) -> int | None:
        return int.from_bytes(self.data[4:8], "big") if self.data[0] & 0x10 else None

    @property
    def packet(self) -> bytes:
        return self.data[8 if self.data[0] & 0x10 else 4 :]


class End:
    """One end of a tunnel: its sender and its receiver."""

    def __init__(
        self,
        c: ctypes.CDLL,
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
        self.c = c
        numbers = (ctypes.c_int(paths), ctypes.c_int(scheduler), ctypes.c_uint32(run))
        flags = (ctypes.c_bool(sequenced), ctypes.c_bool(offloads))
        order = (ctypes.c_uint32(window), ctypes.c_bool(by_paths), ctypes.c_bool(backwards))
        limit = ctypes.c_uint64(round(limit_ms * MS))
        self.end = ctypes.c_void_p(c.end_new(*numbers, *flags, ctypes.c_uint32(mtu), *order, limit))
        for path in range(paths):
            self.path(path)

    def path(
        self, path: int, *, up: bool = True, backup: bool = False, weight: float = 1, rtt_ms: float = 0, bps: int = 0
    ) -> None:
        """Sets the state of a path."""
        state = (ctypes.c_int(path), ctypes.c_bool(up), ctypes.c_bool(backup), ctypes.c_double(weight))
        self.c.end_path(self.end, *state, ctypes.c_uint64(round(rtt_ms * MS)), ctypes.c_uint64(bps))

    def send(self, *packets: bytes, flush: bool = True) -> list[Datagram]:
        """Reads packets (with vnet headers) from the device; returns what leaves on which path, path by path."""
        for data in packets:
            self.c.end_read(self.end, data, ctypes.c_size_t(len(data)))
        if flush:
            self.c.end_flush(self.end)
        path, out = ctypes.c_int(), ctypes.create_string_buffer(_LARGEST)
        found = []
        while length := self.c.end_sent(self.end, ctypes.byref(path), out):
            found.append(Datagram(path.value, out.raw[:length]))
        return found

    def receive(self, path: int, data: bytes, now: int = 0, segment: int = 0) -> None:
        """A datagram arrives, or several of `segment` bytes each."""
        self.c.end_receive(
            self.end,
            ctypes.c_int(path),
            data,
            ctypes.c_size_t(len(data)),
            ctypes.c_size_t(segment),
            ctypes.c_uint64(now),
        )

    def written(self, now: int = 0) -> list[bytes]:
        """Delivers what can be delivered; returns what the device gets (with vnet headers)."""
        self.c.end_deliver(self.end, ctypes.c_uint64(now))
        out = ctypes.create_string_buffer(_LARGEST)
        found = []
        while length := self.c.end_written(self.end, out):
            found.append(out.raw[:length])
        return found

    def control(self) -> list[bytes]:
        """Control messages that have arrived."""
        path, out = ctypes.c_int(), ctypes.create_string_buffer(_LARGEST)
        found = []
        while length := self.c.end_control(self.end, ctypes.byref(path), out):
            found.append(out.raw[:length])
        return found

    def counter(self, name: str) -> int:
        return self.c.end_counter(self.end, name.encode())

    def due(self, now: int = 0) -> int:
        return self.c.end_due(self.end, ctypes.c_uint64(now))


def read_from_device(**variant) -> tuple[bytes, list[bytes]]:
    """A super-packet as read from the device, and the packets that it consists of."""
    payload = variant.pop("payload")
    frame = super_frame(payload, **variant)
    return without_ethernet(frame), [segment[ETHERNET:] for segment in segmented(frame)]


def without_ethernet(frame: bytes) -> bytes:
    flags, kind, headers, size, start, offset = VNET.unpack(frame[: VNET.size])
    vnet = VNET.pack(flags, kind, headers, size, start - ETHERNET if flags else 0, offset)
    return vnet + frame[VNET.size + ETHERNET :]


def packets_of(written: list[bytes]) -> list[bytes]:
    """The packets that the device gets, with super-packets cut apart."""
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
    frame = plain_frame(size + ETHERNET)  # for its zeros
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, size, number & 0xFFFF, 0, 64, 17, 0, b"\x0a\0\0\1", b"\x0a\0\0\2")
    return header + struct.pack("!HHHH", 1, 2, size - 20, 0) + number.to_bytes(4, "big") + frame[: size - 32]


def number_of(packet: bytes) -> int:
    return int.from_bytes(packet[28:32], "big")


def numbered(sequence: int, packet: bytes) -> bytes:
    """A datagram with a sequence number."""
    return struct.pack("!HHI", 0x1000, 0x0800, sequence % 2**32) + packet


def single(packet: bytes) -> bytes:
    """A packet as read from the device, with a complete checksum."""
    return bytes(VNET.size) + packet
