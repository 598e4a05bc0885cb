"""Captures as pcapng: every packet with its time and length, in whole blocks, however the data is split."""

import json
import struct
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flightpath import pcapng

PACKETS = st.lists(
    st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 10**9 - 1), st.integers(0, 2**16), st.binary(max_size=200)),
    max_size=8,
)


def capture(packets, magic=0xA1B23C4D) -> bytes:
    """Makes a capture in pcap format."""
    head = struct.pack("=IHHiIII", magic, 2, 4, 0, 0, 128, 1)
    records = (struct.pack("=IIII", *when, len(kept), length) + kept for *when, length, kept in packets)
    return head + b"".join(records)


def blocks(file: bytes) -> list[tuple[int, bytes]]:
    """Returns kind and body of each block; checks that the lengths at both ends agree."""
    parsed, at = [], 0
    while at < len(file):
        kind, length = struct.unpack_from("=II", file, at)
        assert length % 4 == 0 and struct.unpack_from("=I", file, at + length - 4) == (length,)
        parsed.append((kind, file[at + 8 : at + length - 4]))
        at += length
    return parsed


def converted(data: bytes, tmp_path, max_bytes: int = 1 << 20) -> tuple[dict, bytes]:
    file = tmp_path / "x.pcapng"
    argv = [sys.executable, "-I", "-S", pcapng.__file__, "h1-eth0", str(file), str(max_bytes)]
    done = subprocess.run(argv, input=data, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout), file.read_bytes()


@given(packets=PACKETS, cuts=st.lists(st.integers(0, 2000), max_size=6), in_ns=st.booleans())
def test_packets_are_the_same_wherever_the_bytes_are_cut_in_nanoseconds_or_microseconds(packets, cuts, in_ns):
    magic, unit_ns = (0xA1B23C4D, 1) if in_ns else (0xA1B2C3D4, 1000)
    data, reader, parsed, at = capture(packets, magic), pcapng.PcapReader(), [], 0
    for cut in [*sorted(cut for cut in cuts if cut < len(data)), len(data)]:
        parsed += reader.packets(data[at:cut])
        at = cut
    assert parsed == [(s * 10**9 + units * unit_ns, length, kept) for s, units, length, kept in packets]


def test_a_file_has_its_interface_and_each_packet_in_nanoseconds(tmp_path):
    packets = [(1_700_000_000, 123_456_789, 1500, b"a" * 128), (1_700_000_001, 5, 61, b"b" * 61)]
    report, file = converted(capture(packets), tmp_path)
    (section, _), (interface, description), *rest = blocks(file)
    assert (section, interface) == (0x0A0D0D0A, 1) and b"h1-eth0" in description
    assert struct.unpack_from("=HHI", description) == (1, 0, 128)
    assert struct.pack("=HHB", 9, 1, 9) in description, "nanoseconds"
    assert report == {"packets": 2, "bytes": len(file), "full": False}
    for (kind, body), (s, ns, length, kept) in zip(rest, packets, strict=True):
        _, high, low, size, wire = struct.unpack_from("=IIIII", body)
        assert (kind, (high << 32) + low, size, wire) == (6, s * 10**9 + ns, len(kept), length)
        assert body[20 : 20 + size] == kept


def test_a_full_file_ends_with_a_whole_block(tmp_path):
    data = capture([(1, number, 100, bytes(100)) for number in range(20_000)])
    report, file = converted(data, tmp_path, max_bytes=300_000)
    assert report["full"] and 300_000 <= len(file) == report["bytes"] < 1_000_000
    assert len(blocks(file)) == report["packets"] + 2


def test_what_is_no_capture_is_refused():
    with pytest.raises(ValueError, match="not a capture of tcpdump"):
        list(pcapng.PcapReader().packets(b"x" * 100))
