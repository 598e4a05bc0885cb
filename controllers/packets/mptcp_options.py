"""Parses the MPTCP options of a TCP header (RFC 8684).

Only those that open and join connections are needed here. It accepts what Linux accepts (net/mptcp/options.c); others
of these count as malformed and are ignored, and so is everything after an option with an impossible length.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

MPTCP_KIND = 30

_END, _NOTHING = 0, 1
_KEYS_OF_LENGTH = {4: 0, 12: 1, 20: 2, 22: 2, 24: 2}
"""The number of keys by length: SYN; SYN/ACK; third segment alone, with data, with data and checksum (section 3.1)."""

_LENGTHS_OF_VERSION_0 = (12, 20)
"""RFC 6824, section 3.1: even the SYN carries a key."""

_EXTENSION, _SHA256 = 0x40, 0x01
_JOIN_SYN, _JOIN_SYN_ACK, _JOIN_ACK = 12, 16, 24
_BACKUP = 0x01


@dataclass(frozen=True)
class MpCapable:
    """MP_CAPABLE of version 1 (section 3.1).

    Args:
        version: in a SYN it may be more than 1; the other end answers with the version that it supports.
        key: the sender's key, 8 bytes; None in a SYN.
    """

    version: int
    key: bytes | None


@dataclass(frozen=True)
class MpJoin:
    """MP_JOIN (section 3.2): only the SYN has a token, and the third segment of the handshake no `backup`."""

    token: int | None
    backup: bool


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
    version_0: bool = False
    malformed: int = 0


_NO_OPTIONS = MptcpOptions()


def parse_options(options: bytes) -> MptcpOptions:
    """Returns the MPTCP options among the options of a TCP header. Never raises an exception."""
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
        version_0=len(supported) < len(capables),
        malformed=malformed + has_both,
    )


def token_of(key: bytes) -> int:
    """Returns the token by which MP_JOIN (version 1) names a connection to the end that has this key (section 3.2)."""
    return int.from_bytes(hashlib.sha256(key).digest()[:4], "big")


def _mptcp_options(options: bytes) -> Iterator[bytes]:
    """Yields MPTCP's options with kind and length; an empty one if the list is truncated (RFC 9293, 3.1)."""
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


def _parse_option(option: bytes) -> MpCapable | MpJoin | str | None:
    """Returns the option; None if it is malformed; a text for subtypes that are not needed here."""
    if len(option) < 3:
        return None
    parser = _PARSERS.get(option[2] >> 4)
    return parser(option) if parser else "another subtype"


def _capable(option: bytes) -> MpCapable | None:
    if len(option) < 4:
        return None
    version, flags = option[2] & 0x0F, option[3]
    if version == 0:
        return MpCapable(0, None) if len(option) in _LENGTHS_OF_VERSION_0 else None
    keys = _KEYS_OF_LENGTH.get(len(option))
    if keys is None or (keys and version != 1) or flags & _EXTENSION or not flags & _SHA256:
        return None
    return MpCapable(version, option[4:12] if keys else None)


def _join(option: bytes) -> MpJoin | None:
    if len(option) == _JOIN_ACK:
        return MpJoin(token=None, backup=False)
    if len(option) not in (_JOIN_SYN, _JOIN_SYN_ACK):
        return None
    token = int.from_bytes(option[4:8], "big") if len(option) == _JOIN_SYN else None
    return MpJoin(token, bool(option[2] & _BACKUP))


_PARSERS = {0: _capable, 1: _join}
"""By subtype (section 8.2, table 2)."""
