"""The blocks of a recording's file, and their names; without numpy, which a cell that is measured need not load."""

import json
import re
import struct
import zlib
from collections.abc import Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any, BinaryIO

FOLDER = "recordings"
HEADER = struct.Struct("=IIQ")


class Block(IntEnum):
    """Contents of a block (native/recorder/record_file.h)."""

    ENTRIES = 1
    ARRIVALS = 2
    SOCKETS = 3
    FLOWS = 4
    DESCRIPTION = 5


def file_name(label: str) -> str:
    """Returns the name of the recording's file of a cell; characters other than letters and digits become dashes."""
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', label)}.packets"


ROW_BYTES = {Block.ENTRIES: 29, Block.ARRIVALS: 10, Block.SOCKETS: 64, Block.FLOWS: 56, Block.DESCRIPTION: 1}
"""Bytes of a row in a block of each kind, if it is not compressed."""

COMPRESSED = 0x80000000
"""Bit in a block's kind: after its header is the length of its rows as zlib has compressed them, and then these."""

LENGTH = struct.Struct("=I")
_LEVEL = 1
"""Higher levels take ten times as long, and save a tenth."""


def append_description(path: Path, description: Mapping[str, Any]) -> None:
    """Completes a recording, whose program does not know the network, and compresses it."""
    body = json.dumps(description).encode()
    with path.open("ab") as file:
        file.write(HEADER.pack(Block.DESCRIPTION, len(body), 0) + body)
    smaller = path.with_suffix(".compressed")
    try:
        with path.open("rb") as source, smaller.open("wb") as target:
            _compress(source, target)
        smaller.replace(path)
    except OSError:  # a full disk: it is as good as it was
        smaller.unlink(missing_ok=True)


def _compress(source: BinaryIO, target: BinaryIO) -> None:
    while header := source.read(HEADER.size):
        kind, rows, base = HEADER.unpack(header)
        body = zlib.compress(source.read(ROW_BYTES[kind] * rows), _LEVEL)
        target.write(HEADER.pack(kind | COMPRESSED, rows, base) + LENGTH.pack(len(body)) + body)
