"""MPTCP options are read as Linux writes and takes them; whatever else the bytes are, nothing is raised."""

import pytest

from controllers.packets.mptcp_options import MpCapable, MpJoin, MptcpOptions, parse_options

KEY, PEER_KEY, HMAC = b"sender's", b"receiver", bytes(range(8))
TOKEN, NONCE = b"\x01\x02\x03\x04", bytes(4)


def option(subtype: int, low: int, rest: bytes) -> bytes:
    return bytes([30, 3 + len(rest), subtype << 4 | low]) + rest


def capable(rest: bytes = b"", *, version: int = 1, flags: int = 0x01) -> bytes:
    return option(0, version, bytes([flags]) + rest)


SYN_CAPABLE = MpCapable(1, None)


def test_mp_capable_in_every_segment_of_the_handshake():
    assert parse_options(capable()) == MptcpOptions(capable=SYN_CAPABLE)
    ack, length, checksum = KEY + PEER_KEY, b"\0\x64", b"\xab\xcd"
    for rest in (KEY, ack, ack + length, ack + length + checksum):
        assert parse_options(capable(rest)) == MptcpOptions(capable=MpCapable(1, KEY)), rest


def test_a_syn_may_ask_for_a_later_version_but_no_key_can_be_of_one():
    assert parse_options(capable(version=2)).capable == MpCapable(2, None)
    assert parse_options(capable(KEY, version=2)) == MptcpOptions(malformed=1)


def test_version_0_is_reported_and_otherwise_ignored():
    for rest in (KEY, KEY + PEER_KEY):  # a SYN or SYN/ACK; an ACK
        assert parse_options(capable(rest, version=0)) == MptcpOptions(version_0=True)


def test_mp_join_in_every_segment_of_the_handshake():
    assert parse_options(option(1, 0, b"\x05" + TOKEN + NONCE)).join == MpJoin(0x01020304, False)
    assert parse_options(option(1, 1, b"\x05" + TOKEN + NONCE)).join == MpJoin(0x01020304, True)
    assert parse_options(option(1, 1, b"\x05" + HMAC + NONCE)).join == MpJoin(None, True)
    assert parse_options(option(1, 0, b"\0" + bytes(20))).join == MpJoin(None, False)


@pytest.mark.parametrize(
    "options",
    {
        "kind alone": b"\x1e",
        "length of 1": b"\x1e\x01",
        "no subtype": b"\x1e\x02",
        "longer than the header": b"\x1e\x05\x01\x01",
        "another option longer than the header": b"\x02\x04\x05",
        "MP_CAPABLE of 3 bytes": option(0, 1, b""),
        "MP_CAPABLE of 5 bytes": capable(b"\0"),
        "MP_CAPABLE with the extension bit": capable(flags=0x41),
        "MP_CAPABLE without SHA-256": capable(flags=0x00),
        "MP_CAPABLE of version 0 without a key": capable(version=0),
        "MP_JOIN of 3 bytes": option(1, 0, b""),
        "MP_JOIN without a nonce": option(1, 0, b"\x05" + TOKEN),
    }.items(),
    ids=lambda item: item[0],
)
def test_malformed_options_are_counted_and_ignored(options):
    assert parse_options(options[1]) == MptcpOptions(malformed=1)
    assert parse_options(capable() + options[1]) == MptcpOptions(capable=SYN_CAPABLE, malformed=1)


def test_other_options_are_skipped_up_to_the_end_of_the_list():
    dss, remove, made_up = option(2, 0, b"\x01" + bytes(4)), option(4, 0, b"\x07"), option(15, 0, b"")
    others = b"\x02\x04\x05\xb4\x01\x01" + dss + remove + made_up
    assert parse_options(others + capable()) == MptcpOptions(capable=SYN_CAPABLE)
    assert parse_options(b"\x01\x00" + capable()) == parse_options(b"") == MptcpOptions()


def test_joining_and_opening_at_once_is_malformed():
    both = capable() + option(1, 0, b"\x05" + TOKEN + NONCE)
    assert parse_options(both) == MptcpOptions(malformed=1)


def test_the_last_of_several_options_counts():
    join = [option(1, 0, b"\x05" + token + NONCE) for token in (TOKEN, b"\0\0\0\x09")]
    assert parse_options(join[0] + join[1]).join.token == 9
