"""MPTCP options are read as Linux writes and takes them; whatever else the bytes are, nothing is raised."""

import pytest

from controllers.packets.mptcp_options import AddedAddress, MpCapable, MpJoin, MptcpOptions, parse_options
from tests.support.captures import CAPTURES, segments

KEY, PEER_KEY, HMAC = b"sender's", b"receiver", bytes(range(8))
TOKEN, NONCE = b"\x01\x02\x03\x04", bytes(4)
V4, V6 = bytes([10, 0, 0, 1]), bytes.fromhex("fd00") + bytes(13) + b"\x01"
PORT = (8080).to_bytes(2, "big")


def option(subtype: int, low: int, rest: bytes) -> bytes:
    return bytes([30, 3 + len(rest), subtype << 4 | low]) + rest


def capable(rest: bytes = b"", *, version: int = 1, flags: int = 0x01) -> bytes:
    return option(0, version, bytes([flags]) + rest)


SYN_CAPABLE = MpCapable(1, None, None, False, False)


@pytest.mark.parametrize(
    ("rest", "key", "peer_key"),
    [
        (b"", None, None),
        (KEY, KEY, None),
        (KEY + PEER_KEY, KEY, PEER_KEY),
        (KEY + PEER_KEY + b"\0\x64", KEY, PEER_KEY),
        (KEY + PEER_KEY + b"\0\x64\xab\xcd", KEY, PEER_KEY),
    ],
    ids=["SYN", "SYN/ACK", "ACK", "with data", "with data and checksum"],
)
def test_mp_capable_in_every_segment_of_the_handshake(rest, key, peer_key):
    assert parse_options(capable(rest)) == MptcpOptions(capable=MpCapable(1, key, peer_key, False, False))


def test_flags_of_mp_capable():
    assert parse_options(capable(flags=0x81)).capable == MpCapable(1, None, None, True, False)
    assert parse_options(capable(flags=0x21)).capable == MpCapable(1, None, None, False, True)


def test_a_syn_may_ask_for_a_later_version_but_no_key_can_be_of_one():
    assert parse_options(capable(version=2)).capable == MpCapable(2, None, None, False, False)
    assert parse_options(capable(KEY, version=2)) == MptcpOptions(malformed=1)


@pytest.mark.parametrize("rest", [KEY, KEY + PEER_KEY], ids=["SYN or SYN/ACK", "ACK"])
def test_version_0_is_told_but_not_taken_for_ours(rest):
    assert parse_options(capable(rest, version=0)) == MptcpOptions(version_0=True)


def test_mp_join_in_every_segment_of_the_handshake():
    assert parse_options(option(1, 0, b"\x05" + TOKEN + NONCE)).join == MpJoin(0x01020304, False, 5)
    assert parse_options(option(1, 1, b"\x05" + TOKEN + NONCE)).join == MpJoin(0x01020304, True, 5)
    assert parse_options(option(1, 1, b"\x05" + HMAC + NONCE)).join == MpJoin(None, True, 5)
    assert parse_options(option(1, 0, b"\0" + bytes(20))).join == MpJoin(None, False, 0)


@pytest.mark.parametrize(
    ("rest", "echo", "address", "port"),
    [
        (V4, True, "10.0.0.1", None),
        (V4 + PORT, True, "10.0.0.1", 8080),
        (V4 + HMAC, False, "10.0.0.1", None),
        (V4 + PORT + HMAC, False, "10.0.0.1", 8080),
        (V6, True, "fd00::1", None),
        (V6 + PORT, True, "fd00::1", 8080),
        (V6 + HMAC, False, "fd00::1", None),
        (V6 + PORT + HMAC, False, "fd00::1", 8080),
    ],
)
def test_add_addr_in_all_its_forms(rest, echo, address, port):
    assert parse_options(option(3, int(echo), b"\x07" + rest)) == MptcpOptions(
        added=(AddedAddress(7, address, port, echo),)
    )
    assert parse_options(option(3, int(not echo), b"\x07" + rest)) == MptcpOptions(malformed=1)


@pytest.mark.parametrize(
    "options",
    {
        "kind alone": b"\x1e",
        "length of 0": b"\x1e\x00",
        "length of 1": b"\x1e\x01",
        "no subtype": b"\x1e\x02",
        "longer than the header": b"\x1e\x05\x01\x01",
        "another option without length": b"\x02",
        "another option longer than the header": b"\x02\x04\x05",
        "MP_CAPABLE of 3 bytes": option(0, 1, b""),
        "MP_CAPABLE of 5 bytes": capable(b"\0"),
        "MP_CAPABLE with half a key": capable(KEY[:4]),
        "MP_CAPABLE with three keys": capable(KEY * 3 + b"\0"),
        "MP_CAPABLE with the extension bit": capable(flags=0x41),
        "MP_CAPABLE without SHA-256": capable(flags=0x00),
        "MP_CAPABLE of version 0 without a key": capable(version=0),
        "MP_JOIN of 3 bytes": option(1, 0, b""),
        "MP_JOIN without a nonce": option(1, 0, b"\x05" + TOKEN),
        "MP_JOIN of 20 bytes": option(1, 0, bytes(17)),
        "ADD_ADDR of 3 bytes": option(3, 1, b""),
        "ADD_ADDR of version 0": option(3, 4, b"\x07" + V4),
    }.items(),
    ids=lambda item: item[0],
)
def test_what_is_malformed_is_counted_and_not_there(options):
    assert parse_options(options[1]) == MptcpOptions(malformed=1)
    assert parse_options(capable() + options[1]) == MptcpOptions(capable=SYN_CAPABLE, malformed=1)


def test_other_options_are_passed_over_up_to_the_end_of_the_list():
    dss, remove, made_up = option(2, 0, b"\x01" + bytes(4)), option(4, 0, b"\x07"), option(15, 0, b"")
    assert parse_options(b"\x02\x04\x05\xb4\x01\x01" + dss + remove + made_up + capable()) == MptcpOptions(
        capable=SYN_CAPABLE
    )
    assert parse_options(b"\x01\x00" + capable()) == parse_options(b"") == MptcpOptions()


def test_joining_and_opening_at_once_is_neither():
    both = capable() + option(1, 0, b"\x05" + TOKEN + NONCE)
    assert parse_options(both) == MptcpOptions(malformed=1)


def test_of_several_the_last_counts():
    join = [option(1, 0, b"\x05" + token + NONCE) for token in (TOKEN, b"\0\0\0\x09")]
    assert parse_options(join[0] + join[1]).join.token == 9


@pytest.mark.parametrize(("name", "networks"), [("ipv4", "10.0.{}.2"), ("ipv6", "fd00:{}::2")])
def test_the_kernels_offers_of_addresses_and_their_echoes(name, networks):
    added = {one for _, options in segments(name) for one in options.added}
    plain, with_port = networks.format(2), networks.format(3)
    forms = [(1, plain, None), (2, with_port, 9000)]
    assert added == {AddedAddress(*form, echo) for form in forms for echo in (False, True)}


def test_the_kernels_first_data_carries_both_keys():
    ours = [(segment, options.capable) for segment, options in segments("one_path") if options.capable]
    (data,) = [found for segment, found in ours if segment.payload_bytes]
    assert data.checksum
    assert (data.key, data.peer_key) == (ours[2][1].key, ours[1][1].key)


@pytest.mark.parametrize("name", CAPTURES)
def test_nothing_that_the_kernel_writes_is_malformed(name):
    assert [options for _, options in segments(name) if options.malformed or options.version_0] == []
