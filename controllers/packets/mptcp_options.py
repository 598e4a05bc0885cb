"""Parses the MPTCP options of a TCP header (RFC 8684).

It accepts what Linux accepts (net/mptcp/options.c). Other options count as malformed and are ignored, and so is
everything after an option with an impossible length.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from controllers.packets.segments import address_text

MPTCP_KIND = 30

_END, _NOTHING = 0, 1
_KEYS_OF_LENGTH = {4: 0, 12: 1, 20: 2, 22: 2, 24: 2}
"""The number of keys by length: SYN; SYN/ACK; third segment alone, with data, with data and checksum (section 3.1)."""

_LENGTHS_OF_VERSION_0 = (12, 20)
"""RFC 6824, section 3.1: even the SYN carries a key."""

_CHECKSUM, _EXTENSION, _DENY_JOIN, _SHA256 = 0x80, 0x40, 0x20, 0x01
_JOIN_SYN, _JOIN_SYN_ACK, _JOIN_ACK = 12, 16, 24
_BACKUP, _ECHO = 0x01, 0x01

_ADDRESS_FORMS = {
    (4 + address_bytes + 2 * has_port + 8 * (not echo), echo): (address_bytes, has_port)
    for address_bytes, has_port, echo in product((4, 16), (False, True), (False, True))
}
"""ADD_ADDR (section 3.4.1): by length and echo flag, the length of the address and whether a port follows.

An option that is not an echo ends with 8 bytes of HMAC."""


@dataclass(frozen=True)
class MpCapable:
    """MP_CAPABLE of version 1 (section 3.1).

    Args:
        version: in a SYN it may be more than 1; the other end answers with the version that it supports.
        key: the sender's key, 8 bytes; None in a SYN.
        peer_key: the receiver's key, 8 bytes; only in the third segment of the handshake.
        deny_join_address_0: whether the sender refuses further subflows to the connection's own address and port.
    """

    version: int
    key: bytes | None
    peer_key: bytes | None
    checksum: bool
    deny_join_address_0: bool


@dataclass(frozen=True)
class MpJoin:
    """MP_JOIN (section 3.2).

    The third segment of the handshake carries neither `backup` nor `address_id`, and only the SYN has a token.
    """

    token: int | None
    backup: bool
    address_id: int


@dataclass(frozen=True)
class AddedAddress:
    """ADD_ADDR (section 3.4.1).

    Args:
        address: in the form of `str(ipaddress.ip_address(...))`.
        port: None: the port of the connection.
        echo: whether it acknowledges an ADD_ADDR of the other end.
    """

    address_id: int
    address: str
    port: int | None
    echo: bool


@dataclass(frozen=True)
class MptcpOptions:
    """The MPTCP options of one segment.

    Args:
        capable: the last MP_CAPABLE; None if there is none except of version 0.
        version_0: whether there is an MP_CAPABLE of version 0 (RFC 6824).
        malformed: number of errors. MP_CAPABLE and MP_JOIN in the same segment are one error, and then both are None,
            as in Linux.
    """

    capable: MpCapable | None = None
    join: MpJoin | None = None
    added: tuple[AddedAddress, ...] = ()
    version_0: bool = False
    malformed: int = 0


_NO_OPTIONS = MptcpOptions()


def parse_options(options: bytes) -> MptcpOptions:
    """The MPTCP options among the options of a TCP header. Never raises an exception."""
    parsed = [_parse_option(option) for option in _mptcp_options(options)]
    if not parsed:
        return _NO_OPTIONS
    malformed = sum(it is None for it in parsed)
    capables = [it for it in parsed if isinstance(it, MpCapable)]
    joins = [it for it in parsed if isinstance(it, MpJoin)]
    supported = [it for it in capables if it.version > 0]
    has_both = bool(capables and joins)
    return MptcpOptions(
        capable=supported[-1] if supported and not has_both else None,
        join=joins[-1] if joins and not has_both else None,
        added=tuple(it for it in parsed if isinstance(it, AddedAddress)),
        version_0=len(supported) < len(capables),
        malformed=malformed + has_both,
    )


def token_of(key: bytes) -> int:
    """The token by which MP_JOIN identifies a connection to the end that has this key (section 3.2), in version 1."""
    return int.from_bytes(hashlib.sha256(key).digest()[:4], "big")


def _mptcp_options(options: bytes) -> Iterator[bytes]:
    """All options of MPTCP's kind, with kind and length; an empty one if the list is truncated (RFC 9293, 3.1)."""
    position = 0
    while position < len(options):
        kind = options[position]
        if kind == _END:
            return
        if kind == _NOTHING:
            position += 1
            continue
        length = options[position + 1] if position + 1 < len(options) else 0
        if length < 2 or position + length > len(options):
            yield b""
            return
        if kind == MPTCP_KIND:
            yield options[position : position + length]
        position += length


def _parse_option(option: bytes) -> MpCapable | MpJoin | AddedAddress | str | None:
    """The option; None if it is malformed; a text for subtypes that are not needed here."""
    if len(option) < 3:
        return None
    parser = _PARSERS.get(option[2] >> 4)
    return parser(option) if parser else "another subtype"


def _capable(option: bytes) -> MpCapable | None:
    if len(option) < 4:
        return None
    version, flags = option[2] & 0x0F, option[3]
    if version == 0:
        return MpCapable(0, None, None, False, False) if len(option) in _LENGTHS_OF_VERSION_0 else None
    keys = _KEYS_OF_LENGTH.get(len(option))
    if keys is None or (keys and version != 1) or flags & _EXTENSION or not flags & _SHA256:
        return None
    return MpCapable(
        version=version,
        key=option[4:12] if keys else None,
        peer_key=option[12:20] if keys == 2 else None,
        checksum=bool(flags & _CHECKSUM),
        deny_join_address_0=bool(flags & _DENY_JOIN),
    )


def _join(option: bytes) -> MpJoin | None:
    if len(option) == _JOIN_ACK:
        return MpJoin(token=None, backup=False, address_id=0)
    if len(option) not in (_JOIN_SYN, _JOIN_SYN_ACK):
        return None
    token = int.from_bytes(option[4:8], "big") if len(option) == _JOIN_SYN else None
    return MpJoin(token=token, backup=bool(option[2] & _BACKUP), address_id=option[3])


def _added_address(option: bytes) -> AddedAddress | None:
    echo = bool(option[2] & _ECHO)
    address_bytes, has_port = _ADDRESS_FORMS.get((len(option), echo), (0, False))
    if not address_bytes:
        return None
    address = option[4 : 4 + address_bytes]
    port = int.from_bytes(option[4 + address_bytes :][:2], "big") if has_port else None
    return AddedAddress(address_id=option[3], address=address_text(address), port=port, echo=echo)


_PARSERS = {0: _capable, 1: _join, 3: _added_address}
"""By subtype (section 8.2, table 2)."""
