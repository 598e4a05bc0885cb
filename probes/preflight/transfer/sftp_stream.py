"""One stream over one SFTP channel: what downloads and uploads have in common, and SFTP's replies."""

import struct
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from paramiko import SFTPFile
from paramiko.ssh_exception import SSHException

from flightpath.errors import FlightpathError, MeasurementFailed
from probes.preflight.ssh.sftp import Sftp
from probes.preflight.transfer.stream import Part, Stream

_REQUESTS_PER_SECOND = 100
"""Minimum request rate under a rate limit, so that it holds in short intervals, too."""

_TICK_AT_A_RATE_S = 0.01
_MIN_REQUEST_BYTES = 512
OK, EOF = 0, 1
_DATA, _STATUS = 103, 101
_HEAD = 9  # length, type, request id
_MAX_STATUS_BYTES = 64 * 1024


@dataclass(frozen=True)
class Requests:
    """Limits of a stream's read or write requests.

    Attributes:
        size_bytes: maximum size of one request.
        ahead_bytes: maximum of bytes requested and not yet answered, at the beginning.
        max_ahead_bytes: what that may become.
        rate_bps: maximum of bits per second; None for no limit.
    """

    size_bytes: int
    ahead_bytes: int
    max_ahead_bytes: int
    rate_bps: float | None


class SftpStream(Stream):
    """Moves a part of a remote file over one SFTP channel, which it has for itself."""

    def __init__(self, sftp: Sftp, file: SFTPFile, part: Part, requests: Requests) -> None:
        super().__init__(part)
        self._sftp, self._file = sftp, file  # they close the channel when they are deleted
        self._channel = sftp.get_channel()
        self._channel.settimeout(None)
        self._ahead, self._max_ahead = requests.ahead_bytes, requests.max_ahead_bytes
        self._rate_bps = requests.rate_bps
        self._request_size = requests.size_bytes
        if self._rate_bps is not None:
            self.tick_s = _TICK_AT_A_RATE_S
            wanted = int(self._rate_bps / 8 / _REQUESTS_PER_SECOND)
            self._request_size = max(_MIN_REQUEST_BYTES, min(self._request_size, wanted))
        self._parser = ReplyParser(self._data_begins, self._data, self._status)
        self._pending: dict[int, tuple[int, int]] = {}
        self._next_id = 0

    def receive(self, view: memoryview) -> None:
        """Consumes the channel's data, in the transport's thread; an error ends the stream but not the thread."""
        try:
            self._parser.feed(view)
        except FlightpathError as error:
            if self.failure is None and not self.ended.is_set():
                self.failure = error
            self.stop()

    @abstractmethod
    def _status(self, request: int, code: int, text: str) -> None:
        """Handles the reply to a request that carries no data."""

    def _data_begins(self, request: int, size: int) -> None:
        """Handles the beginning of a reply with data, which `_data` gets."""
        raise MeasurementFailed("the far end answered a write with data")

    def _data(self, view: memoryview) -> None:
        """Handles a piece of the data."""

    def _request(self, kind: int, offset: int, size: int, payload: int = 0) -> bytes:
        """Returns an SFTP request for a range of the file, without its payload, and notes that it is pending."""
        self._pending[self._next_id] = offset, size
        length = 1 + 4 + 4 + len(self._file.handle) + 8 + 4 + payload
        head = struct.pack(">IBII", length, kind, self._next_id, len(self._file.handle))
        self._next_id = (self._next_id + 1) & 0xFFFF_FFFF
        return head + self._file.handle + struct.pack(">QI", offset, size)


class ReplyParser:
    """Parses the byte stream of an SFTP channel (draft-ietf-secsh-filexfer-02, section 7), without assembling messages.

    Args:
        on_data_begin: callback with the request's id and the number of data bytes that follow.
        on_data: callback with these bytes, in pieces.
        on_status: callback with the request's id, the status code and its text.
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
        """Returns the length of the head as far as it is known: it includes all of a status, and the length of data."""
        if len(self._head) < _HEAD:
            return _HEAD
        length, kind = struct.unpack_from(">IB", self._head)
        if kind == _DATA:
            return _HEAD + 4
        if kind != _STATUS or not 9 <= length <= _MAX_STATUS_BYTES:
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
