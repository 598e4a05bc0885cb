"""Streams by HTTP: a range of a file is fetched by GET, and random bytes are sent by PUT.

HTTP confirms nothing of a file before all of it has come. So an upload counts what the far end's TCP has acknowledged;
the file has arrived when the server's answer has.
"""

import os
import sys
import threading
import time
from abc import abstractmethod
from http.client import HTTPResponse

from flightpath.errors import FlightpathError, MeasurementFailed
from flightpath.overrides import override
from probes.preflight.transfer.sinks import Sink
from probes.preflight.transfer.stream import Part, Stream
from probes.preflight.web.answers import refusal
from probes.preflight.web.session import WEB_ERRORS, WebSession

_MAX_PUT_BYTES = 5 * 1024**3
"""Largest content of a PUT that S3 accepts; a stream that moves more sends several, one after the other."""

_PIECE_BYTES = 64 * 1024
_MIN_PIECE_BYTES = 512
_PIECES_PER_SECOND = 100
"""Minimum number of pieces under a rate limit, so that it holds in short intervals, too."""

_TICK_S = 0.01
_END_S = 1.0


class HttpStream(Stream):
    """Moves a part of a file over one connection, in a thread of its own."""

    max_request_bytes: int

    def __init__(self, session: WebSession, part: Part, rate_bps: float | None) -> None:
        super().__init__(part)
        self._session, self._rate_bps = session, rate_bps
        self._thread = threading.Thread(target=self._run, name="http", daemon=True)
        wanted = _PIECE_BYTES if rate_bps is None else int(rate_bps / 8 / _PIECES_PER_SECOND)
        self._piece_bytes = max(_MIN_PIECE_BYTES, min(_PIECE_BYTES, wanted))

    @override
    def start(self) -> None:
        self.started_ns = time.monotonic_ns()
        self._session.wait_without_limit()
        self._thread.start()

    @override
    def stop(self) -> None:
        super().stop()
        self._session.cut()
        self._thread.join(_END_S)

    def _run(self) -> None:
        try:
            while not self.ended.is_set() and (wanted := self._next_range(self.max_request_bytes)):
                self._move(*wanted)
            self.ended.set()
        except FlightpathError as error:
            self.failure = None if self.ended.is_set() else error
            self.ended.set()
        except WEB_ERRORS as error:  # whoever watches the session says what that means
            self._session.has_failed(error)

    @abstractmethod
    def _move(self, offset: int, size: int) -> None:
        """Moves a range of the file by one request."""

    def _wait_for_rate(self, moved: int) -> None:
        """Waits until the rate limit allows more than these bytes, or the stream has ended."""
        if self._rate_bps is not None:
            due_s = self.started_ns / 1e9 + moved * 8 / self._rate_bps
            self.ended.wait(max(0.0, due_s - time.monotonic_ns() / 1e9))

    def _refusal(self, response: HTTPResponse) -> MeasurementFailed:
        file = self.part.path.partition("?")[0]  # what follows may be a signature
        return refusal(response, self._session.target, file, has_login=self._session.has_login)


class HttpDownload(HttpStream):
    """Reads a part of a remote file."""

    max_request_bytes = sys.maxsize

    def __init__(self, session: WebSession, part: Part, rate_bps: float | None, sink: Sink) -> None:
        super().__init__(session, part, rate_bps)
        self._sink = sink

    @override
    def _move(self, offset: int, size: int) -> None:
        self._session.send("GET", self.part.path, {"Range": f"bytes={offset}-{offset + size - 1}"})
        response = self._session.answer()
        begins = response.getheader("Content-Range", "").startswith(f"bytes {offset}-")
        # A server that knows no ranges sends the file from its beginning.
        if not ((response.status == 206 and begins) or (response.status == 200 and offset == 0)):
            raise self._refusal(response)
        while size and not self.ended.is_set():
            data = response.read1(min(self._piece_bytes, size))
            if not data:
                raise ConnectionError("the answer ended early")
            self._sink.write(memoryview(data), offset)
            offset, size = offset + len(data), size - len(data)
            self._count(len(data))
            self._wait_for_rate(self.recorder.total)


class HttpUpload(HttpStream):
    """Writes random bytes to a remote file, again if it is to move more than one file has."""

    max_request_bytes = _MAX_PUT_BYTES
    tick_s = _TICK_S

    def __init__(self, session: WebSession, part: Part, rate_bps: float | None) -> None:
        super().__init__(session, part, rate_bps)
        self._payload = memoryview(os.urandom(_PIECE_BYTES))
        self._lock = threading.Lock()
        self._sent = 0

    @override
    def pump(self) -> None:
        """Counts what the far end has acknowledged; TLS adds a seven-hundredth, which is not told apart."""
        with self._lock:
            self._confirm(self._sent - self._session.unacknowledged_bytes())

    @override
    def _move(self, offset: int, size: int) -> None:
        self._session.send("PUT", self.part.path, {"Content-Length": str(size)})
        broken: OSError | None = None
        try:
            while size and not self.ended.is_set():
                piece = self._payload[: min(self._piece_bytes, size)]
                self._session.connection.sendall(piece)
                size -= len(piece)
                self._sent += len(piece)
                self._wait_for_rate(self._sent)
        except OSError as error:  # a server that refuses a file may say so before all of it has come, and hang up
            broken = error
        if self.ended.is_set():
            return
        try:
            response = self._session.answer()
        except WEB_ERRORS as error:
            raise broken or error from None
        if response.status not in (200, 201, 204):
            raise self._refusal(response)
        if broken:
            raise broken
        response.read()
        with self._lock:
            self._confirm(self._sent)

    def _confirm(self, total: int) -> None:
        if total > self.recorder.total and not self.ended.is_set():
            self.recorder.add(total - self.recorder.total, time.monotonic_ns())
