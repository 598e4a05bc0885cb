"""One stream of an upload: writes are sent ahead of their confirmations, as far as the far end's window allows."""

import contextlib
import os
import struct
import threading
import time

from paramiko import Channel
from paramiko.ssh_exception import SSHException

from flightpath.errors import FlightpathError, MeasurementFailed
from probes.preflight.transfer.course import CourseLog
from probes.preflight.transfer.download import Share
from probes.preflight.transfer.replies import OK, Replies

_WRITE = 6


class WriteRefused(MeasurementFailed):
    """The far end did not take what was sent."""


class Upload:
    """Writes a share of a file at the far end over one SFTP channel; what it writes is noise.

    `take` is the consumer of the channel's data and runs in the transport's thread; a thread of its own sends.

    Args:
        channel: the SFTP channel.
        handle: of the open remote file.
        share: what to write.
        request_bytes: of one write.
        ahead_bytes: at most so many are sent and not yet confirmed.
        rate_bps: at most so many bits per second; None for no limit.
    """

    disk_ns = 0

    def __init__(
        self,
        channel: Channel,
        handle: bytes,
        share: Share,
        *,
        request_bytes: int,
        ahead_bytes: int,
        rate_bps: float | None,
    ) -> None:
        self._channel, self._handle, self._share = channel, handle, share
        self._ahead, self._rate_bps = ahead_bytes, rate_bps
        self._request = request_bytes if rate_bps is None else max(512, min(request_bytes, int(rate_bps / 800)))
        self._noise = os.urandom(self._request)
        self._replies = Replies(self._unexpected, lambda view: None, self._status)
        self._room = threading.Condition()
        self._unconfirmed: dict[int, int] = {}
        self._sent, self._confirmed = 0, 0
        self._thread = threading.Thread(target=self._run, name="upload", daemon=True)
        self.log = CourseLog()
        self.started_ns = 0
        self.ended = threading.Event()
        self.failure: FlightpathError | None = None

    def start(self) -> None:
        """Sends the first bytes."""
        self.started_ns = time.monotonic_ns()
        self._thread.start()

    def take(self, view: memoryview) -> None:
        """The channel's data: confirmations."""
        try:
            self._replies.take(view)
        except FlightpathError as error:
            self._fail(error)

    def pump(self) -> None:
        """Nothing to do: a thread of its own sends."""

    def look_further(self, ahead_bytes: int) -> None:
        """Nothing to do: the far end's window bounds what is sent ahead."""

    def stop(self) -> None:
        """No more is wanted: what is still confirmed does not count."""
        self.ended.set()
        with self._room:
            self._room.notify_all()

    def close(self) -> None:
        """Nothing local is open."""

    def _run(self) -> None:
        position = self._share.begin
        number = 0
        # A connection that breaks is told by whoever watches the transport.
        with contextlib.suppress(EOFError, OSError, SSHException):
            while size := self._next_size(position):
                if not self._wait_for_room(size):
                    return
                self._unconfirmed[number] = size
                self._send(number, position, size)
                number = (number + 1) & 0xFFFF_FFFF
                position += size
                if position >= self._share.end:
                    position = self._share.begin

    def _next_size(self, position: int) -> int:
        size = min(self._request, self._share.end - position)
        return size if self._share.total is None else min(size, self._share.total - self._sent)

    def _wait_for_room(self, size: int) -> bool:
        """Returns whether to go on, once the rate and the unconfirmed bytes allow it."""
        if self._rate_bps is not None:
            due = self.started_ns / 1e9 + (self._sent + size) * 8 / self._rate_bps - 0.01
            if self.ended.wait(max(0.0, due - time.monotonic_ns() / 1e9)):
                return False
        with self._room:
            while self._sent > self._confirmed and self._sent + size - self._confirmed > self._ahead:
                if self.ended.is_set():
                    return False
                self._room.wait(0.1)
        return not self.ended.is_set()

    def _send(self, number: int, offset: int, size: int) -> None:
        length = 1 + 4 + 4 + len(self._handle) + 8 + 4 + size
        head = struct.pack(">IBII", length, _WRITE, number, len(self._handle)) + self._handle
        head += struct.pack(">QI", offset, size)
        self._sent += size
        noise = memoryview(self._noise)
        first = self._channel.out_max_packet_size - len(head)
        self._channel.sendall(head + noise[: min(first, size)])
        at = min(first, size)
        while at < size:
            at += self._channel.send(noise[at:size])

    def _status(self, request: int, code: int, text: str) -> None:
        size = self._unconfirmed.pop(request, 0)
        if code != OK:
            told = text or f"status {code}"
            raise WriteRefused(f"a write was refused after {self.log.total} bytes of a stream ({told})")
        if not self.ended.is_set():
            self.log.add(size, time.monotonic_ns())
        with self._room:
            self._confirmed += size
            self._room.notify()
        if self.log.total == self._share.total:
            self.ended.set()

    def _unexpected(self, request: int, size: int) -> None:
        raise MeasurementFailed("the far end answered a write with data")

    def _fail(self, error: FlightpathError) -> None:
        if self.failure is None and not self.ended.is_set():
            self.failure = error
        self.stop()
