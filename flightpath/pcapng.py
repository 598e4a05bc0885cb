"""Blocks of pcapng files, and a program that converts tcpdump's output: `python pcapng.py INTERFACE FILE MAX_BYTES`.

tcpdump of Debian 12 and 13 writes only the older pcap format, which does not name the interface. Wireshark's dumpcap
writes pcapng, but loses the last packets when it is ended, does not count them as dropped, reports that it is ready too
early, and needs 110 MB of libraries. Blocks are written whole, so that the file is readable even after a kill. The
program uses only the standard library, because it is started for each capture. Source: IETF draft-ietf-opsawg-pcapng,
sections 4.1 to 4.3.
"""

import json
import os
import struct
import sys
from collections.abc import Iterator

_PCAP_NS_MAGIC, _PCAP_US_MAGIC = 0xA1B23C4D, 0xA1B2C3D4
_PCAP_HEADER, _PCAP_RECORD = struct.Struct("=IHHiIII"), struct.Struct("=IIII")
_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_BYTE_ORDER = 0x1A2B3C4D
_OPTION_END, _COMMENT, _NAME, _RESOLUTION = 0, 1, 2, 9
_CHUNK = 1 << 18


class PcapReader:
    """Parses a capture in pcap format, piece by piece."""

    def __init__(self) -> None:
        self.link_type = self.snapshot_bytes = 0
        self._rest, self._unit_ns, self._began = b"", 1, False

    def packets(self, data: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Yields each further packet: time in nanoseconds since 1970, length on the wire, and captured bytes.

        Raises:
            ValueError: the data is not a pcap capture.
        """
        rest, at = self._rest + data, 0
        if not self._began and len(rest) >= _PCAP_HEADER.size:
            magic, _, _, _, _, self.snapshot_bytes, self.link_type = _PCAP_HEADER.unpack_from(rest)
            if magic not in (_PCAP_NS_MAGIC, _PCAP_US_MAGIC):
                raise ValueError("this is not a capture of tcpdump")
            self._began, self._unit_ns, at = True, 1 if magic == _PCAP_NS_MAGIC else 1000, _PCAP_HEADER.size
        while self._began and len(rest) - at >= _PCAP_RECORD.size:
            seconds, fraction, kept, length = _PCAP_RECORD.unpack_from(rest, at)
            end = at + _PCAP_RECORD.size + kept
            if len(rest) < end:
                break
            yield seconds * 10**9 + fraction * self._unit_ns, length, rest[at + _PCAP_RECORD.size : end]
            at = end
        self._rest = rest[at:]


def section() -> bytes:
    """Returns the block with which a file begins."""
    return _block(_SECTION, struct.pack("=IHHq", _BYTE_ORDER, 1, 0, -1))


def interface(name: str, link_type: int, snapshot_bytes: int, comment: str = "") -> bytes:
    """Returns the block of an interface, whose packets have times in nanoseconds."""
    options = _option(_NAME, name.encode()) + _comment(comment) + _option(_RESOLUTION, b"\x09")
    return _block(_INTERFACE, struct.pack("=HHI", link_type, 0, snapshot_bytes) + options + _option(_OPTION_END, b""))


def packet(time_ns: int, length: int, kept: bytes, number: int = 0, comment: str = "") -> bytes:
    """Returns the block of a packet on the interface with a number."""
    fields = struct.pack("=IIIII", number, time_ns >> 32, time_ns & 0xFFFFFFFF, len(kept), length)
    options = _comment(comment) + _option(_OPTION_END, b"") if comment else b""
    return _block(_PACKET, fields + _padded(kept) + options)


def main(name: str, file: str, max_bytes: int) -> None:
    """Writes the file; prints its numbers of packets and bytes, and whether it reached `max_bytes`."""
    target = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    reader, count, size, is_full = PcapReader(), 0, 0, False
    while not is_full and (data := os.read(0, _CHUNK)):
        blocks = []
        for captured in reader.packets(data):
            blocks.append(packet(*captured))
            count += 1
        if size == 0 and reader.link_type:
            blocks.insert(0, section() + interface(name, reader.link_type, reader.snapshot_bytes))
        written = b"".join(blocks)
        os.write(target, written)  # whole blocks in one call
        size += len(written)
        is_full = size >= max_bytes
    print(json.dumps({"packets": count, "bytes": size, "full": is_full}), flush=True)


def _block(kind: int, body: bytes) -> bytes:
    length = len(body) + 12
    return struct.pack("=II", kind, length) + body + struct.pack("=I", length)


def _comment(text: str) -> bytes:
    return _option(_COMMENT, text.encode()) if text else b""


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("=HH", code, len(value)) + _padded(value)


def _padded(value: bytes) -> bytes:
    return value + bytes(-len(value) % 4)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
