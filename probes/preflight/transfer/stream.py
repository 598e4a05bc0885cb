"""One stream of a transfer: its share of a file, and what the process that watches it needs of it."""

import threading
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass

from flightpath.errors import FlightpathError
from probes.preflight.transfer.curve import CurveRecorder


@dataclass(frozen=True)
class Part:
    """The work of one stream: a part of a remote file.

    Attributes:
        begin, end: offsets from the file's beginning, in bytes.
        total: bytes to move; if more than the part has, it is moved repeatedly; None means until it is stopped.
    """

    number: int
    path: str
    begin: int
    end: int
    total: int | None


class Stream(ABC):
    """Moves a part of a remote file over one connection or channel, which it has for itself.

    Attributes:
        recorder: recorder of the bytes that were moved and confirmed.
        ended: set when everything was moved, the stream was stopped, or it failed.
        tick_s: how often `pump` is to be called.
    """

    tick_s = 0.05

    def __init__(self, part: Part) -> None:
        self.part = part
        self._requested, self._position = 0, part.begin
        self.recorder = CurveRecorder()
        self.started_ns = 0
        self.ended = threading.Event()
        self.failure: FlightpathError | None = None

    @abstractmethod
    def start(self) -> None:
        """Sends the first requests."""

    def pump(self) -> None:  # noqa: B027 (most need none)
        """Does what is due now; called from time to time by the process that watches the stream."""

    def read_ahead(self, size: int) -> None:  # noqa: B027 (where the far end sends without being asked for each piece)
        """Requests up to `size` bytes ahead of what has come, from now on."""

    def stop(self) -> None:
        """Ends the stream; what still arrives does not count."""
        self.ended.set()

    def _next_range(self, size: int) -> tuple[int, int] | None:
        """Returns offset and length of the next request of at most `size` bytes; None if all has been requested."""
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

    def _count(self, size: int) -> None:
        self.recorder.add(size, time.monotonic_ns())
        if self.recorder.total == self.part.total:
            self.ended.set()
