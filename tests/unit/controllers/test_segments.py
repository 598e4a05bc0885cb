"""TCP segments in frames: whatever a host sends, and checksums that it left to its card."""

import struct
from ipaddress import IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.packets.checksums import complete_tcp_checksum
from controllers.packets.segments import ACK, FIN, RST, SYN, parse_segment
from tests.support.captures import CAPTURES, frames, segments
from tests.support.relay_line import checksum
from tests.support.tcp_frames import ipv4, ipv6, tcp

OPTIONS = bytes([1, 1, 1, 0])


def extension(following: int, length: int = 8, *, unit: int = 8) -> bytes:
    return bytes([following, (length - 8) // unit]) + bytes(length - 2)


def test_flags_identify_the_segments_of_a_handshake():
    asks_for_ecn = SYN | 0xC0
    flags = (SYN, asks_for_ecn, SYN | ACK, ACK, SYN | RST, SYN | FIN, SYN | ACK | RST)
    seen = [parse_segment(ipv4(tcp(flags=each))) for each in flags]
    assert [segment.flags for segment in seen if segment.is_syn] == [SYN, asks_for_ecn]
    assert [segment.flags for segment in seen if segment.is_syn_ack] == [SYN | ACK]


@pytest.mark.parametrize(
    "frame",
    [
        ipv4(tcp(), options=bytes(40)),
        ipv4(tcp(), fragment=0),
        ipv4(tcp()) + bytes(20),  # Ethernet pads to 60 bytes
        ipv6(extension(60, 16) + extension(43) + extension(6) + tcp(), following=0),
        ipv6(extension(6, 24, unit=4) + tcp(), following=51),
        ipv6(extension(0) * 6 + extension(6) + tcp(), following=0),
    ],
)
def test_headers_before_tcp_and_padding_are_skipped(frame):
    segment = parse_segment(frame)
    assert (segment.flow.source_port, segment.flags, segment.payload_bytes) == (1000, SYN, 0)


@pytest.mark.parametrize(
    "frame",
    {
        "VLAN": ipv4(tcp())[:12] + b"\x81\x00\x00\x01" + ipv4(tcp())[12:],
        "UDP": ipv4(tcp(), protocol=17),
        "version 6 under IPv4's ethertype": ipv4(tcp())[:14] + b"\x65" + ipv4(tcp())[15:],
        "version 4 under IPv6's ethertype": ipv6(tcp())[:14] + b"\x40" + ipv6(tcp())[15:],
        "first fragment": ipv4(tcp(), fragment=0x2000),
        "last fragment": ipv4(tcp(), fragment=0x0001),
        "IPv4 shorter than its header": ipv4(tcp(), more=-21),
        "IPv4 that ends within TCP's header": ipv4(tcp(), more=-1),
        "IPv4 header of 16 bytes": ipv4(tcp())[:14] + b"\x44" + ipv4(tcp())[15:],
        "IPv4 options beyond the packet": ipv4(tcp()[:19])[:14] + b"\x4f" + ipv4(tcp()[:19])[15:],
        "IPv6 jumbogram": ipv6(tcp(), more=-20),
        "IPv6 fragment": ipv6(extension(6) + tcp(), following=44),
        "IPv6 extension beyond the packet": ipv6(extension(6, 2048)[:8] + tcp(), following=0),
        "IPv6 extension of one byte": ipv6(b"\x06", following=0),
        "IPv6 with too many extensions": ipv6(extension(0) * 8 + extension(6) + tcp(), following=0),
        "TCP header of 16 bytes": ipv4(tcp()[:12] + b"\x40" + tcp()[13:]),
        "TCP options beyond the packet": ipv4(tcp()[:12] + b"\xf0" + tcp()[13:]) + bytes(60),
    }.items(),
    ids=lambda item: item[0],
)
def test_nothing_else_is_a_segment(frame):
    assert parse_segment(frame[1]) is None


@pytest.mark.parametrize(
    "frame", [ipv4(tcp(OPTIONS, b"data")), ipv6(extension(6) + tcp(OPTIONS, b"data"), following=0)]
)
def test_a_frame_that_is_cut_off_is_damaged_unless_it_is_said_to_be_longer(frame):
    whole = parse_segment(frame)
    headers = len(frame) - 4
    for length in range(len(frame)):
        assert parse_segment(frame[:length]) is None
        cut = parse_segment(frame[:length], wire_bytes=len(frame))
        assert cut == (whole if length >= headers else None)
        assert parse_segment(frame[:length], wire_bytes=len(frame) - 1) is None


@pytest.mark.parametrize("name", CAPTURES)
def test_every_frame_of_a_capture_is_read_with_every_byte_of_its_payload(name):
    seen = segments(name)
    assert len(seen) == len(frames(name))
    client = [segment.flow for segment, _ in seen if segment.is_syn]
    assert sum(segment.payload_bytes for segment, _ in seen if segment.flow == client[0]) == 200
    assert sum(segment.payload_bytes for segment, _ in seen if segment.flow == client[0].reversed()) == 200
    assert {segment.flow for segment, _ in seen} == {*client, *(flow.reversed() for flow in client)}
    assert {segment.flow.version for segment, _ in seen} == {6 if name == "ipv6" else 4}
    assert len(client) == (4 if name in ("ipv4", "ipv6") else 1)


EMBEDDED = ("::ffff:10.0.0.1", "::10.0.0.1", "::1", "1:0:0:2::3", "1:0:2:3:4:5:6:7")


@given(st.binary(min_size=16, max_size=16) | st.sampled_from([IPv6Address(text).packed for text in EMBEDDED]))
def test_addresses_look_as_in_a_network_description(address):
    frame = ipv6(tcp())
    segment = parse_segment(frame[:22] + address + frame[38:])
    assert segment.flow.source == str(IPv6Address(address))


AT = 16


def pseudo_header(frame: bytes, segment: bytes) -> bytes:
    addresses = frame[26:34] if frame[12:14] == b"\x08\x00" else frame[22:54]
    return addresses + struct.pack("!HH", 6, len(segment))


def left_to_the_card(make, content: bytes) -> tuple[bytes, int]:
    """A frame as a host hands it out with checksum offload, and where its TCP segment begins."""
    frame = make(content)
    begins = len(frame) - len(content)
    partial = ~checksum(pseudo_header(frame, content)) & 0xFFFF
    return frame[: begins + AT] + struct.pack("!H", partial) + frame[begins + AT + 2 :], begins


@given(st.binary(max_size=60), st.sampled_from((ipv4, ipv6)), st.integers(0, 30))
def test_a_completed_segment_adds_up_as_a_receiver_demands(payload, make, padding):
    frame, begins = left_to_the_card(make, tcp(payload=payload))
    completed = complete_tcp_checksum(frame + bytes(padding))
    assert completed != frame + bytes(padding)
    assert completed[: begins + AT] + completed[begins + AT + 2 :] == (
        frame[: begins + AT] + frame[begins + AT + 2 :] + bytes(padding)
    )
    segment = completed[begins : len(frame)]
    assert checksum(pseudo_header(completed, segment) + segment) == 0
    assert complete_tcp_checksum(completed) == completed


@pytest.mark.parametrize("make", [ipv4, ipv6])
def test_a_wrong_checksum_stays_wrong(make):
    frame, begins = left_to_the_card(make, tcp())
    wrong = frame[: begins + AT] + b"\x12\x34" + frame[begins + AT + 2 :]
    assert complete_tcp_checksum(wrong) == wrong


def test_a_packet_that_ends_before_its_segment_begins_stays_as_it_is():
    frame = bytearray(ipv6(tcp()))
    frame[18:20] = struct.pack("!H", 4)  # the payload
    frame[20] = 0  # an extension header of 8 bytes, and then TCP
    frame[54:56] = bytes([6, 0])
    assert complete_tcp_checksum(bytes(frame)) == bytes(frame)
