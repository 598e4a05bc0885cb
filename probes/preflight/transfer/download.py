"""One stream of a download: reads are asked for far ahead, so that the path is full and nothing waits for a round trip.

What is ahead is bounded in bytes, and nothing that arrives is kept, so memory does not grow with the file.
"""

import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from paramiko import Channel, Message

from flightpath.errors import FlightpathError, MeasurementFailed
from probes.preflight.transfer.course import CourseLog
from probes.preflight.transfer.replies import EOF, Replies
from probes.preflight.transfer.sinks import Sink

_READ = 5
_WINDOW_ADJUST = b"\x5d"
_MOST_REQUESTS_AT_ONCE = 256
_LARGEST_ADJUSTMENT = 1024 * 1024


@dataclass(frozen=True)
class Share:
    """What one stream has to move.

    Attributes:
        begin, end: the part of the file.
        total: bytes; more than the part has means over and over, None means until it is stopped.
    """

    begin: int
    end: int
    total: int | None


class Download:
    """Reads a share of a remote file over one SFTP channel.

    `take` is the consumer of the channel's data and runs in the transport's thread; `pump` asks for more and may be
    called from any thread. Nothing here blocks on the network but `pump`.

    Args:
        channel: the SFTP channel.
        handle: of the open remote file.
        share: what to read.
        request_bytes: of one read.
        ahead_bytes: at first, at most so many are asked for and not yet there.
        window_bytes: SSH's window, as it was opened.
        sink: where the bytes go.
        rate_bps: at most so many bits per second are asked for; None for no limit.
        clear: whether a message may be sent now without waiting (no key exchange is going on).
    """

    def __init__(
        self,
        channel: Channel,
        handle: bytes,
        share: Share,
        *,
        request_bytes: int,
        ahead_bytes: int,
        window_bytes: int,
        sink: Sink,
        rate_bps: float | None,
        clear: Callable[[], bool],
    ) -> None:
        self._channel, self._handle, self._share, self._sink, self._clear = channel, handle, share, sink, clear
        self._request, self._ahead, self._rate_bps = request_bytes, ahead_bytes, rate_bps
        if rate_bps is not None:  # a hundredth of a second each, or the limit would hold only on average
            self._request = max(512, min(request_bytes, int(rate_bps / 800)))
        self._adjust_at = max(1, min(window_bytes // 4, _LARGEST_ADJUSTMENT))
        self._replies = Replies(self._data_begins, self._data, self._status)
        self._lock = threading.Lock()
        self._asked: dict[int, tuple[int, int]] = {}
        self._again: list[tuple[int, int]] = []
        self._next_id, self._planned, self._position = 0, 0, share.begin
        self._write_at = 0
        # Two threads count: of each pair, the first is changed by the transport's alone, the second under the lock.
        self._consumed, self._adjusted = 0, 0
        self._answered, self._requested = 0, 0
        self.log = CourseLog()
        self.started_ns = 0
        self.ended = threading.Event()
        self.failure: FlightpathError | None = None

    @property
    def disk_ns(self) -> int:
        """Time spent writing so far."""
        return self._sink.disk_ns

    def start(self) -> None:
        """Asks for the first bytes."""
        self.started_ns = time.monotonic_ns()
        self.pump()

    def take(self, view: memoryview) -> None:
        """The channel's data: counts and writes them, and asks for more. Failures end the stream, not the thread."""
        try:
            self._consumed += len(view)
            self._replies.take(view)
        except FlightpathError as error:
            self._fail(error)
            return
        starving = self._rate_bps is None and self._outstanding < self._ahead * 0.75
        due = starving or self._consumed - self._adjusted >= self._adjust_at
        if due and self._clear() and self._lock.acquire(blocking=False):
            try:
                self._send_due()
            finally:
                self._lock.release()

    def pump(self) -> None:
        """Asks for as much as may be asked for now; waits if keys are being exchanged."""
        with self._lock:
            self._send_due()

    def look_further(self, ahead_bytes: int) -> None:
        """From now on, so many bytes may be asked for and not yet there, if that is more than before."""
        self._ahead = max(self._ahead, ahead_bytes)

    def stop(self) -> None:
        """No more is wanted: what still arrives does not count."""
        self.ended.set()

    def close(self) -> None:
        """Closes the sink."""
        self._sink.close()

    @property
    def _outstanding(self) -> int:
        return self._requested - self._answered

    def _send_due(self) -> None:
        if self.ended.is_set() or not self._channel.transport.is_active():
            return
        size = self._consumed - self._adjusted
        if size >= self._adjust_at:
            self._adjusted += size
            message = Message()
            message.add_byte(_WINDOW_ADJUST)
            message.add_int(self._channel.remote_chanid)
            message.add_int(size)
            self._channel.transport._send_user_message(message)
        requests = []
        while len(requests) < _MOST_REQUESTS_AT_ONCE and (found := self._next_range()):
            requests.append(self._read(*found))
        if requests:
            self._channel.sendall(b"".join(requests))

    def _next_range(self) -> tuple[int, int] | None:
        if self._again:
            return self._again.pop()
        if self._outstanding > 0 and self._outstanding + self._request > self._ahead:
            return None
        size = min(self._request, self._share.end - self._position)
        if self._share.total is not None:
            size = min(size, self._share.total - self._planned)
        if size <= 0 or self._too_early(size):
            return None
        found = self._position, size
        self._planned += size
        self._position += size
        if self._position >= self._share.end:
            self._position = self._share.begin
        return found

    def _too_early(self, size: int) -> bool:
        if self._rate_bps is None:
            return False
        return (self._planned + size) * 8 > self._rate_bps * ((time.monotonic_ns() - self.started_ns) / 1e9 + 0.01)

    def _read(self, offset: int, size: int) -> bytes:
        self._requested += size
        self._asked[self._next_id] = offset, size
        length = 1 + 4 + 4 + len(self._handle) + 8 + 4
        head = struct.pack(">IBII", length, _READ, self._next_id, len(self._handle))
        self._next_id = (self._next_id + 1) & 0xFFFF_FFFF
        return head + self._handle + struct.pack(">QI", offset, size)

    def _data_begins(self, request: int, size: int) -> None:
        try:
            offset, wanted = self._asked.pop(request)
        except KeyError:
            raise MeasurementFailed("the far end answered a request that was not made") from None
        self._answered += wanted
        if size > wanted:
            raise MeasurementFailed(f"the far end sent {size} bytes where {wanted} were asked for")
        if size < wanted:  # allowed: a server may have a smaller limit than the request
            self._again.append((offset + size, wanted - size))
        self._write_at = offset

    def _data(self, view: memoryview) -> None:
        if self.ended.is_set():
            return
        size = len(view)
        self._sink.write(view, self._write_at)
        self._write_at += size
        self.log.add(size, time.monotonic_ns())
        if self.log.total == self._share.total:
            self.ended.set()

    def _status(self, request: int, code: int, text: str) -> None:
        offset, wanted = self._asked.pop(request, (0, 0))
        self._answered += wanted
        if code == EOF:
            raise MeasurementFailed(
                f"the remote file ended at byte {offset}, before all of it had come: it is shorter than it was",
                "does somebody write to it?",
            )
        raise MeasurementFailed(f"the far end could not read its file at byte {offset}: {text or f'status {code}'}")

    def _fail(self, error: FlightpathError) -> None:
        if self.failure is None and not self.ended.is_set():
            self.failure = error
        self.ended.set()
