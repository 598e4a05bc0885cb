"""One stream of a transfer over one SFTP channel: what downloads and uploads have in common."""

import struct
import threading
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass

from paramiko import SFTPClient, SFTPFile

from flightpath.errors import FlightpathError, MeasurementFailed
from probes.preflight.transfer.curve import CurveRecorder
from probes.preflight.transfer.replies import ReplyParser

_REQUESTS_PER_SECOND = 100
"""With a rate limit requests are made as small as this needs, so that the limit holds in short intervals too."""

_SMALLEST_REQUEST = 512


@dataclass(frozen=True)
class Part:
    """The work of one stream: a part of a remote file.

    Attributes:
        number: of the stream.
        path: of the file.
        begin, end: of the part, in bytes from the file's beginning.
        total: bytes to move; if more than the part has, it is moved repeatedly; None means until it is stopped.
    """

    number: int
    path: str
    begin: int
    end: int
    total: int | None


@dataclass(frozen=True)
class Requests:
    """How a stream requests reads or writes.

    Attributes:
        size_bytes: of one request, at most.
        ahead_bytes: requested and not yet answered, at most.
        rate_bps: bits per second, at most; None for no limit.
    """

    size_bytes: int
    ahead_bytes: int
    rate_bps: float | None


class Stream(ABC):
    """Moves a part of a remote file over one SFTP channel, which it has for itself.

    Attributes:
        part: what to move.
        recorder: of the bytes that were moved and confirmed.
        started_ns: when `start` was called.
        ended: set when everything was moved, the stream was stopped, or it failed.
        failure: why it failed, or None.
    """

    def __init__(self, sftp: SFTPClient, file: SFTPFile, part: Part, requests: Requests) -> None:
        self.part = part
        self._sftp, self._file = sftp, file  # they close the channel when they are deleted
        self._channel = sftp.get_channel()
        self._channel.settimeout(None)
        self._ahead, self._rate_bps = requests.ahead_bytes, requests.rate_bps
        self._request_size = requests.size_bytes
        if self._rate_bps is not None:
            wanted = int(self._rate_bps / 8 / _REQUESTS_PER_SECOND)
            self._request_size = max(_SMALLEST_REQUEST, min(self._request_size, wanted))
        self._parser = ReplyParser(self._data_begins, self._data, self._status)
        self._pending: dict[int, tuple[int, int]] = {}
        self._next_id, self._requested, self._position = 0, 0, part.begin
        self.recorder = CurveRecorder()
        self.started_ns = 0
        self.ended = threading.Event()
        self.failure: FlightpathError | None = None

    @abstractmethod
    def start(self) -> None:
        """Sends the first requests."""

    def pump(self) -> None:  # noqa: B027 (an upload needs none)
        """Sends the requests that are due now; called from time to time by the process that watches the stream."""

    def allow_ahead(self, size: int) -> None:
        """Lets `size` bytes be requested in advance from now on, unless more were allowed already."""
        self._ahead = max(self._ahead, size)

    def receive(self, view: memoryview) -> None:
        """Consumes the channel's data, in the transport's thread; an error ends the stream but not the thread."""
        try:
            self._parser.feed(view)
        except FlightpathError as error:
            if self.failure is None and not self.ended.is_set():
                self.failure = error
            self.stop()

    def stop(self) -> None:
        """Ends the stream; what still arrives does not count."""
        self.ended.set()

    @abstractmethod
    def _status(self, request: int, code: int, text: str) -> None:
        """The reply to a request that carries no data."""

    def _data_begins(self, request: int, size: int) -> None:
        """The reply to a request that carries data, which `_data` gets."""
        raise MeasurementFailed("the far end answered a write with data")

    def _data(self, view: memoryview) -> None:  # noqa: B027 (an upload gets none)
        """A piece of the data."""

    def _next_range(self, size: int) -> tuple[int, int] | None:
        """Offset and length of the next request of at most `size` bytes; None if all has been requested."""
        size = min(size, self.part.end - self._position)
        if self.part.total is not None:
            size = min(size, self.part.total - self._requested)
        if size <= 0:
            return None
        offset = self._position
        self._requested += size
        self._position += size
        if self._position >= self.part.end:
            self._position = self.part.begin
        return offset, size

    def _request(self, kind: int, offset: int, size: int, payload: int = 0) -> bytes:
        """An SFTP request for a range of the file, without its payload, and notes that it is pending."""
        self._pending[self._next_id] = offset, size
        length = 1 + 4 + 4 + len(self._file.handle) + 8 + 4 + payload
        head = struct.pack(">IBII", length, kind, self._next_id, len(self._file.handle))
        self._next_id = (self._next_id + 1) & 0xFFFF_FFFF
        return head + self._file.handle + struct.pack(">QI", offset, size)

    def _count(self, size: int) -> None:
        self.recorder.add(size, time.monotonic_ns())
        if self.recorder.total == self.part.total:
            self.ended.set()
