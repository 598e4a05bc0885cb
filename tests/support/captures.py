"""Reads the captures of the kernel's own MPTCP in `data/mptcp`: what two hosts sent, and what `ss` said of it."""

import gzip
import struct
from collections.abc import Iterator
from pathlib import Path

from controllers.packets.mptcp_options import MptcpOptions, parse_options
from controllers.packets.segments import Segment, parse_segment
from flightpath.project import PROJECT

FOLDER = PROJECT / "tests" / "data" / "mptcp"
JOINED = ("ipv4", "ipv6")
CAPTURES = (*JOINED, "one_path", "fallback", "tcp")

_FILE_HEADER = struct.Struct("<LHHlLLL")
_RECORD_HEADER = struct.Struct("<LLLL")
_MAGIC = 0xA1B2C3D4
_ETHERNET = 1


def read_pcap(path: Path) -> Iterator[tuple[float, bytes]]:
    """Time and frame of each record of a file in the classic format, of this machine's byte order."""
    content = gzip.decompress(path.read_bytes())
    magic, *_, link_type = _FILE_HEADER.unpack_from(content)
    assert (magic, link_type) == (_MAGIC, _ETHERNET), f"{path}: not a capture of Ethernet"
    at = _FILE_HEADER.size
    while at < len(content):
        seconds, microseconds, length, _ = _RECORD_HEADER.unpack_from(content, at)
        at += _RECORD_HEADER.size
        yield seconds + microseconds / 1e6, content[at : at + length]
        at += length


def frames(name: str) -> list[bytes]:
    """The frames of a capture, in the order in which they were seen."""
    return [frame for _, frame in read_pcap(FOLDER / f"{name}.pcap.gz")]


def segments(name: str) -> list[tuple[Segment, MptcpOptions]]:
    """The segments of a capture with their MPTCP options."""
    found = [parse_segment(frame) for frame in frames(name)]
    return [(segment, parse_options(segment.options)) for segment in found if segment is not None]


def kernels_token(name: str) -> int:
    """The token that the server's kernel gave the connection, as `ss -M` printed it while it was open."""
    lines = (FOLDER / f"{name}.server.ss.txt").read_text().splitlines()
    (row,) = (number for number, line in enumerate(lines) if line.startswith("mptcp"))
    (token,) = (word for word in lines[row + 1].split() if word.startswith("token:"))
    return int(token.removeprefix("token:"), 16)
