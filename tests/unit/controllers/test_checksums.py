"""Checksums that a host left to its card are completed, and no others."""

import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.packets.checksums import complete_tcp_checksum
from tests.support.tcp_frames import ipv4, ipv6, tcp, varied

AT = 16


def added(data: bytes) -> int:
    """The sum of RFC 1071, the long way: as one number, modulo 2^16 - 1."""
    return int.from_bytes(data + bytes(len(data) % 2), "big") % 0xFFFF


def pseudo_header(frame: bytes, segment: bytes) -> bytes:
    addresses = frame[26:34] if frame[12:14] == b"\x08\x00" else frame[22:54]
    return addresses + struct.pack("!HH", 6, len(segment))


def left_to_the_card(make, content: bytes) -> tuple[bytes, int]:
    """A frame as a host hands it out with checksum offload, and where its TCP segment begins."""
    frame = make(content)
    begins = len(frame) - len(content)
    partial = added(pseudo_header(frame, content)) or 0xFFFF
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
    assert added(pseudo_header(completed, segment) + segment) == 0  # that is all ones, which is zero
    assert complete_tcp_checksum(completed) == completed


@pytest.mark.parametrize("make", [ipv4, ipv6])
def test_a_wrong_checksum_stays_wrong(make):
    frame, begins = left_to_the_card(make, tcp())
    wrong = frame[: begins + AT] + b"\x12\x34" + frame[begins + AT + 2 :]
    assert complete_tcp_checksum(wrong) == wrong


def test_no_input_fails_or_changes_its_length():
    chance = random.Random(5)
    whole = [left_to_the_card(make, tcp(payload=b"abc"))[0] for make in (ipv4, ipv6)]
    for _ in range(1500):
        frame = varied(chance.choice(whole), chance)
        assert len(complete_tcp_checksum(frame)) == len(frame)


def test_a_packet_that_ends_before_its_segment_begins_stays_as_it_is():
    frame = bytearray(ipv6(tcp()))
    frame[18:20] = struct.pack("!H", 4)  # the payload
    frame[20] = 0  # an extension header of 8 bytes, and then TCP
    frame[54:56] = bytes([6, 0])
    assert complete_tcp_checksum(bytes(frame)) == bytes(frame)
