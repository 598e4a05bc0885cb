"""The blocks of a recording's file, and their names; without numpy, which a cell that is measured need not load."""

import json
import re
import struct
from collections.abc import Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any

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


def append_description(path: Path, description: Mapping[str, Any]) -> None:
    """Completes a recording, whose program does not know the network."""
    body = json.dumps(description).encode()
    with path.open("ab") as file:
        file.write(HEADER.pack(Block.DESCRIPTION, len(body), 0) + body)
