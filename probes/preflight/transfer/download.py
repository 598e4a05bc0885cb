"""One stream of a download by SFTP: reads are requested far ahead, so that the path stays full.

The read-ahead is bounded and nothing that arrives is kept, so memory does not grow with the file.
"""

import threading
import time

from paramiko import SFTPFile

from flightpath.errors import MeasurementFailed
from flightpath.overrides import override
from probes.preflight.ssh.sftp import Sftp
from probes.preflight.transfer.sftp_stream import EOF, Requests, SftpStream
from probes.preflight.transfer.sinks import Sink
from probes.preflight.transfer.stream import Part

_READ = 5
_MAX_REQUESTS_AT_ONCE = 256
_LARGEST_ADJUSTMENT = 1024 * 1024
_TICK_S = 0.02
_REFILL_BELOW = 0.75
"""Fraction of the read-ahead below which more is requested."""


class Download(SftpStream):
    """Reads a part of a remote file.

    `receive` runs in the transport's thread and never waits for the network; `pump` may.
    """

    tick_s = _TICK_S

    def __init__(self, sftp: Sftp, file: SFTPFile, part: Part, requests: Requests, sink: Sink) -> None:
        super().__init__(sftp, file, part, requests)
        self._sink = sink
        self._adjust_at = max(1, min(sftp.window_bytes // 4, _LARGEST_ADJUSTMENT))
        self._may_send = sftp.may_send
        self._lock = threading.Lock()
        self._again: list[tuple[int, int]] = []
        self._write_at = 0
        # Of each pair, the transport's thread changes the first only, and the holder of the lock the second.
        self._received, self._adjusted = 0, 0
        self._answered, self._sent = 0, 0

    @override
    def start(self) -> None:
        self.started_ns = time.monotonic_ns()
        self.pump()

    @override
    def read_ahead(self, size: int) -> None:
        self._ahead = min(size, self._max_ahead)

    @override
    def pump(self) -> None:
        with self._lock:
            self._send_due()

    @override
    def receive(self, view: memoryview) -> None:
        self._received += len(view)
        super().receive(view)
        if self.ended.is_set():
            return
        starving = self._rate_bps is None and self._outstanding < self._ahead * _REFILL_BELOW
        due = starving or self._received - self._adjusted >= self._adjust_at
        if due and self._may_send() and self._lock.acquire(blocking=False):
            try:
                self._send_due()
            finally:
                self._lock.release()

    @property
    def _outstanding(self) -> int:
        return self._sent - self._answered

    def _send_due(self) -> None:
        if self.ended.is_set() or not self._sftp.is_active:
            return
        size = self._received - self._adjusted
        if size >= self._adjust_at:
            self._adjusted += size
            self._sftp.enlarge_window(size)
        requests: list[bytes] = []
        while len(requests) < _MAX_REQUESTS_AT_ONCE and (wanted := self._next_wanted()):
            self._sent += wanted[1]
            requests.append(self._request(_READ, *wanted))
        if requests:
            self._channel.sendall(b"".join(requests))

    def _next_wanted(self) -> tuple[int, int] | None:
        """Returns offset and length of the next read, if one is due."""
        if self._again:
            return self._again.pop()
        if self._outstanding > 0 and self._outstanding + self._request_size > self._ahead:
            return None
        if self._rate_bps is not None:
            elapsed_s = (time.monotonic_ns() - self.started_ns) / 1e9
            if (self._requested + self._request_size) * 8 > self._rate_bps * (elapsed_s + 0.01):
                return None
        return self._next_range(self._request_size)

    @override
    def _data_begins(self, request: int, size: int) -> None:
        try:
            offset, wanted = self._pending.pop(request)
        except KeyError:
            raise MeasurementFailed("the far end answered a request that was not made") from None
        self._answered += wanted
        if size > wanted:
            raise MeasurementFailed(f"the far end sent {size} bytes where {wanted} were requested")
        if size < wanted:  # a server may have a smaller limit than the request
            self._again.append((offset + size, wanted - size))
        self._write_at = offset

    @override
    def _data(self, view: memoryview) -> None:
        if self.ended.is_set():
            return
        self._sink.write(view, self._write_at)
        self._write_at += len(view)
        self._count(len(view))

    @override
    def _status(self, request: int, code: int, text: str) -> None:
        offset, wanted = self._pending.pop(request, (0, 0))
        self._answered += wanted
        if code == EOF:
            raise MeasurementFailed(
                f"the remote file ended at byte {offset}: it is shorter than it was when the transfer began",
                "is another program writing to it?",
            )
        raise MeasurementFailed(f"the far end could not read its file at byte {offset}: {text or f'status {code}'}")
