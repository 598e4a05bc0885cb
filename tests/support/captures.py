"""Reads the captures of the kernel's own MPTCP in `data/mptcp`: what two hosts sent, and what `ss` said of it."""

import gzip

from controllers.packets.mptcp_options import MptcpOptions, parse_options
from controllers.packets.segments import Segment, parse_segment
from flightpath.pcapng import PcapReader
from flightpath.project import PROJECT

FOLDER = PROJECT / "tests" / "data" / "mptcp"
JOINED = ("ipv4", "ipv6")
CAPTURES = (*JOINED, "one_path", "fallback", "tcp")


def frames(name: str) -> list[bytes]:
    content = gzip.decompress((FOLDER / f"{name}.pcap.gz").read_bytes())
    return [frame for _at_ns, _length, frame in PcapReader().packets(content)]


def segments(name: str) -> list[tuple[Segment, MptcpOptions]]:
    found = [parse_segment(frame) for frame in frames(name)]
    return [(segment, parse_options(segment.options)) for segment in found if segment is not None]


def kernels_token(name: str) -> int:
    """The token that the server's kernel gave the connection, as `ss -M` printed it while it was open."""
    lines = (FOLDER / f"{name}.server.ss.txt").read_text().splitlines()
    (row,) = (number for number, line in enumerate(lines) if line.startswith("mptcp"))
    (token,) = (word for word in lines[row + 1].split() if word.startswith("token:"))
    return int(token.removeprefix("token:"), 16)
