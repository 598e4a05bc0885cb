"""SFTP's replies taken from a stream of pieces: a reply of 256 KiB comes in many packets, and is never put together."""

import struct
from collections.abc import Callable

from paramiko.ssh_exception import SSHException

DATA, STATUS = 103, 101
OK, EOF = 0, 1
_HEAD = 9  # length, type, request id
_LONGEST_STATUS = 64 * 1024

DataBegins = Callable[[int, int], None]
DataComes = Callable[[memoryview], None]
StatusComes = Callable[[int, int, str], None]


class Replies:
    """Takes apart what arrives on an SFTP channel (draft-ietf-secsh-filexfer-02, section 7).

    Args:
        data_begins: gets the request's id and the number of bytes that follow.
        data: gets these bytes, in pieces.
        status: gets the request's id, the status code and its text.
    """

    def __init__(self, data_begins: DataBegins, data: DataComes, status: StatusComes) -> None:
        self._data_begins, self._data, self._status = data_begins, data, status
        self._left = 0
        self._head = bytearray()

    def take(self, view: memoryview) -> None:
        """The next piece, of any size.

        Raises:
            SSHException: this is no reply to a read or a write.
        """
        size = len(view)
        if size <= self._left:  # nearly always
            self._left -= size
            self._data(view)
            return
        at = 0
        while at < size:
            if self._left:
                taken = min(self._left, size - at)
                self._left -= taken
                self._data(view[at : at + taken])
            else:
                taken = min(self._wanted() - len(self._head), size - at)
                self._head += view[at : at + taken]
                if len(self._head) == self._wanted():
                    self._complete()
            at += taken

    def _wanted(self) -> int:
        """How long the head is, as far as one can tell by now: a status belongs to it, data do not."""
        if len(self._head) < _HEAD:
            return _HEAD
        length, kind = struct.unpack_from(">IB", self._head)
        if kind == DATA:
            return _HEAD + 4
        if kind != STATUS or not 9 <= length <= _LONGEST_STATUS:
            raise SSHException(f"the far end answered with SFTP message {kind} of {length} bytes")
        return 4 + length

    def _complete(self) -> None:
        length, kind, request = struct.unpack_from(">IBI", self._head)
        if len(self._head) == _HEAD and self._wanted() > _HEAD:
            return
        (number,) = struct.unpack_from(">I", self._head, _HEAD)
        if kind == DATA:
            if number != length - _HEAD:
                raise SSHException(f"the far end's data of {number} bytes come in a message of {length}")
            self._left = number
            self._head.clear()
            self._data_begins(request, number)
            return
        text = _text(self._head[_HEAD + 4 :])
        self._head.clear()
        self._status(request, number, text)


def _text(told: bytearray) -> str:
    if len(told) < 4:
        return ""
    (length,) = struct.unpack_from(">I", told)
    return told[4 : 4 + length].decode(errors="replace")
