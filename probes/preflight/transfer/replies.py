"""Parser for SFTP's replies to reads and writes, which passes data on as it comes instead of assembling messages."""

import struct
from collections.abc import Callable

from paramiko.ssh_exception import SSHException

OK, EOF = 0, 1
_DATA, _STATUS = 103, 101
_HEAD = 9  # length, type, request id
_LONGEST_STATUS = 64 * 1024


class ReplyParser:
    """Parses the byte stream of an SFTP channel (draft-ietf-secsh-filexfer-02, section 7).

    Args:
        on_data_begin: gets the request's id and the number of data bytes that follow.
        on_data: gets these bytes, in pieces.
        on_status: gets the request's id, the status code and its text.
    """

    def __init__(
        self,
        on_data_begin: Callable[[int, int], None],
        on_data: Callable[[memoryview], None],
        on_status: Callable[[int, int, str], None],
    ) -> None:
        self._on_data_begin, self._on_data, self._on_status = on_data_begin, on_data, on_status
        self._data_left = 0
        self._head = bytearray()

    def feed(self, view: memoryview) -> None:
        """Parses the next bytes, any number of them.

        Raises:
            SSHException: they are no reply to a read or a write.
        """
        size = len(view)
        if size <= self._data_left:  # nearly always
            self._data_left -= size
            self._on_data(view)
            return
        at = 0
        while at < size:
            if self._data_left:
                taken = min(self._data_left, size - at)
                self._data_left -= taken
                self._on_data(view[at : at + taken])
            else:
                taken = min(self._head_size() - len(self._head), size - at)
                self._head += view[at : at + taken]
                if len(self._head) == self._head_size():
                    self._end_head()
            at += taken

    def _head_size(self) -> int:
        """The length of the head as far as it is known: it includes all of a status, and the length of data."""
        if len(self._head) < _HEAD:
            return _HEAD
        length, kind = struct.unpack_from(">IB", self._head)
        if kind == _DATA:
            return _HEAD + 4
        if kind != _STATUS or not 9 <= length <= _LONGEST_STATUS:
            raise SSHException(f"the far end answered with SFTP message {kind} of {length} bytes")
        return 4 + length

    def _end_head(self) -> None:
        length, kind, request, number = struct.unpack_from(">IBII", self._head)
        text = self._head[_HEAD + 4 :]
        self._head.clear()
        if kind == _STATUS:
            size = int.from_bytes(text[:4], "big") if len(text) >= 4 else 0
            self._on_status(request, number, text[4 : 4 + size].decode(errors="replace"))
            return
        if number != length - _HEAD:
            raise SSHException(f"the far end sent {number} bytes of data in a message of {length}")
        self._data_left = number
        self._on_data_begin(request, number)
