"""A file beside the store for cells that a running experiment cannot write into it yet.

Its space is reserved when the run begins, so that it takes cells even if the disk is full. Each entry is a length, a
CRC-32 and compressed JSON; an entry that was cut off when the process was killed fails its checksum and is left out.
"""

import errno
import json
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from results.store.ownership import give_to_caller
from results.store.rows import json_default

SPOOL_NAME = ".unrecorded"
RESERVED_BYTES = 4 * 2**20
"""Space for some 50 cells with long series."""

_HEADER = struct.Struct("<II")
_NOTHING = bytes(_HEADER.size)


class Spool:
    """The entries of one run's file, which is created if necessary.

    Attributes:
        found_room: whether the disk had the space to be reserved.

    Raises:
        OSError: the file cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / SPOOL_NAME
        self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        give_to_caller(self.path)
        self.found_room = True
        try:
            os.posix_fallocate(self._handle, 0, RESERVED_BYTES)
        except OSError as error:
            self.found_room = error.errno not in (errno.ENOSPC, errno.EDQUOT)
        self._end = sum(_HEADER.size + len(packed) for packed in self._packed())

    def add(self, entry: Mapping[str, Any]) -> None:
        """Appends an entry; it is on the disk when this returns.

        Raises:
            OSError: the file cannot be written, for example because its reserve is used up.
        """
        packed = zlib.compress(json.dumps(entry, default=json_default).encode())
        record = _HEADER.pack(len(packed), zlib.crc32(packed)) + packed + _NOTHING
        written = 0
        while written < len(record):
            written += os.pwrite(self._handle, record[written:], self._end + written)
        os.fsync(self._handle)
        self._end += len(record) - len(_NOTHING)

    @property
    def is_empty(self) -> bool:
        return not self._end

    def entries(self) -> Iterator[dict[str, Any]]:
        for packed in self._packed():
            yield json.loads(zlib.decompress(packed))

    def clear(self) -> None:
        """Removes all entries; the space stays reserved."""
        if self._end:
            os.pwrite(self._handle, _NOTHING, 0)
            os.fsync(self._handle)
            self._end = 0

    def give_up_reserve(self) -> None:
        """Frees the unused space, because the store may need it more."""
        os.ftruncate(self._handle, self._end)

    def close(self, *, remove: bool) -> None:
        """Closes the file, and with `remove` deletes it."""
        os.close(self._handle)
        if remove:
            self.path.unlink(missing_ok=True)

    def _packed(self) -> Iterator[bytes]:
        position = 0
        while len(header := os.pread(self._handle, _HEADER.size, position)) == _HEADER.size:
            length, checksum = _HEADER.unpack(header)
            packed = os.pread(self._handle, length, position + _HEADER.size)
            if not length or len(packed) != length or zlib.crc32(packed) != checksum:
                return
            yield packed
            position += _HEADER.size + length
