"""Series of byte strings in one input: each with a number (a port, a kind) and its length before it."""

import struct
from collections.abc import Iterable, Iterator

_HEADER = struct.Struct("!BH")


def pack(records: Iterable[tuple[int, bytes]]) -> bytes:
    return b"".join(_HEADER.pack(number, len(content)) + content for number, content in records)


def unpack(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The records in any bytes."""
    at = 0
    while at + _HEADER.size <= len(data):
        number, length = _HEADER.unpack_from(data, at)
        at += _HEADER.size
        yield number, data[at : at + length]
        at += length
