"""The clock of a guest in virtual time, controlled from outside.

A guest's clock jumps ahead whenever all programs wait. It asks before each jump (`time-travel=ext:SOCKET`; the messages
are those of Linux's `um_timetravel.h`), and its pace answers: at once, or when as much real time has passed. A program
in the guest can also stop its clock, with all that runs in it, by a write to `HOLD`, until `release`. A guest makes a
copy of itself while it waits, if it is asked to (`kernel.patch`), and the copy connects to the same socket.
"""

import contextlib
import os
import queue
import socket
import struct
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple, Self

from flightpath.errors import MeasurementFailed
from flightpath.overrides import override

SOCKET = "clock"
"""Name of the socket to which the guest connects."""

HOLD = Path("/sys/kernel/um-ext-time/bc-message")
"""File in the guest: a number that is written to it stops the clock, within the write."""

_MESSAGE = struct.Struct("=IIQ")  # operation, sequence number, time in ns
_FOREVER_NS = 2**63 - 1
_LEAD_NS = 20_000_000
"""Lead of a guest over real time without asking, if it has computed for longer than this."""
_STEP_NS = 10_000_000
"""Lead of a guest whose clock somebody may stop meanwhile."""
_COPY_LIMIT_S = 120
"""Limit for the answer to a request for a copy, which takes the time to copy the memory."""

_STOPPED_S = 0.02
"""Period in which a clock that stands still looks whether it may go on, in real seconds."""
_CONNECTING_S = 60.0
"""Limit for the connection of a copy, which it makes first of all, in real seconds."""
_COPY = 2**32 - 1
"""Sequence number of the request for a copy."""


class _Operation(IntEnum):
    ACK = 0
    START = 1
    REQUEST = 2
    WAIT = 3
    RUN = 6
    FREE_UNTIL = 7
    TIME_OF_DAY = 8
    BROADCAST = 9
    COPY = 100


class Jump(NamedTuple):
    """Answer to a guest that wants to jump ahead.

    Attributes:
        wait_s: real seconds after which it should be asked again; 0: it may jump.
        free_until_ns: time up to which the guest then need not ask.
    """

    wait_s: float
    free_until_ns: int = 0


class Pace(ABC):
    """How fast a guest's clock may go."""

    @abstractmethod
    def jump(self, wanted_ns: int) -> Jump:
        """Returns whether a guest may jump to a time, in ns since its start."""


class AtOnce(Pace):
    """The clock jumps whenever all programs wait: the guest asks once."""

    @override
    def jump(self, wanted_ns: int) -> Jump:
        return Jump(0, _FOREVER_NS)


class RealPace(Pace):
    """The clock passes no faster than real time, for a person at the keyboard; else hours would pass while they read.

    Time that the guest spends computing is not caught up.

    Args:
        has_booted: whether the guest has booted; until then the clock may jump ahead.
    """

    def __init__(self, has_booted: Callable[[], bool]) -> None:
        self._has_booted, self._keeps_pace = has_booted, False
        self._began_ns = time.monotonic_ns()

    @override
    def jump(self, wanted_ns: int) -> Jump:
        self._keeps_pace = self._keeps_pace or self._has_booted()
        allowed_ns = time.monotonic_ns() - self._began_ns
        if self._keeps_pace and wanted_ns > allowed_ns:
            return Jump((wanted_ns - allowed_ns) / 1e9)
        free_ns = min(allowed_ns, wanted_ns + _LEAD_NS)
        self._began_ns += allowed_ns - max(free_ns, wanted_ns)
        return Jump(0, free_ns)


class Stops(Pace):
    """The clock jumps whenever all programs wait, but stands still before a time that somebody moves.

    Attributes:
        reached: set while the clock stands still: whatever happens before that time has happened.
    """

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._until_ns, self._changing = _FOREVER_NS, threading.Lock()

    @override
    def jump(self, wanted_ns: int) -> Jump:
        with self._changing:
            if wanted_ns < self._until_ns:
                return Jump(0, min(self._until_ns, wanted_ns + _STEP_NS))
            self.reached.set()
            return Jump(_STOPPED_S)

    def go_until(self, time_ns: int = _FOREVER_NS) -> None:
        """Lets the clock go on to a time, in ns since the guest's start: to its end by default, and by 0 no further."""
        with self._changing:
            self._until_ns = time_ns
            self.reached.clear()


class GuestClock:
    """The clock of a guest that has connected.

    Args:
        pace: how fast the clock may go.
        holds: whether programs may stop it; else it goes on at once.

    Attributes:
        is_held: set while the guest stands still because it has written to `HOLD`.
        wanted_ns: time that the guest last asked for, in ns since its start.
    """

    def __init__(self, pace: Pace, *, holds: bool = False) -> None:
        self._pace, self._holds = pace, holds
        self.is_held = threading.Event()
        self._guest: socket.socket | None = None
        self.wanted_ns = 0
        self._held_by, self._waits = 0, False
        self._copied: queue.SimpleQueue[int] = queue.SimpleQueue()

    def release(self) -> None:
        """Lets a guest that stands still go on."""
        if self.is_held.is_set() and self._guest is not None:
            self.is_held.clear()
            with contextlib.suppress(OSError):  # it has been killed
                self._guest.send(_MESSAGE.pack(_Operation.ACK, self._held_by, 0))

    def revoke_lead(self) -> None:
        """Lets a guest that stands still ask before each jump from now on, whatever it was allowed before."""
        if self._guest is not None:
            self._guest.send(_MESSAGE.pack(_Operation.FREE_UNTIL, 0, 0))

    def converse(self, guest: socket.socket, *, with_copy: bool = False) -> None:
        """Answers until the guest ends, or with `with_copy` until a new copy of a guest is complete."""
        self._guest = guest
        while True:
            jump = self._pace.jump(self.wanted_ns) if self._waits else None
            if jump and not jump.wait_s:
                self._waits = False
                guest.send(
                    _MESSAGE.pack(_Operation.FREE_UNTIL, 0, jump.free_until_ns)
                    + _MESSAGE.pack(_Operation.RUN, 0, self.wanted_ns)
                )
            guest.settimeout(jump.wait_s if jump and self._waits else None)
            with contextlib.suppress(TimeoutError):
                if len(message := guest.recv(_MESSAGE.size, socket.MSG_WAITALL)) < _MESSAGE.size:
                    raise ConnectionResetError
                operation, number, time_ns = _MESSAGE.unpack(message)
                if with_copy and operation == _Operation.ACK:
                    self._waits = True
                    return
                self.wanted_ns = time_ns if operation == _Operation.REQUEST else self.wanted_ns
                self._waits = self._waits or operation == _Operation.WAIT
                self._acknowledge(guest, operation, number, time_ns)

    def ask_for_copy(self) -> int:
        """Asks a guest that waits for a copy of itself; returns the copy's process, or 0 if it is impossible now.

        Raises:
            MeasurementFailed: the guest does not answer.
        """
        assert self._guest is not None
        try:
            self._guest.send(_MESSAGE.pack(_Operation.COPY, _COPY, 0))
            return self._copied.get(timeout=_COPY_LIMIT_S)
        except (OSError, queue.Empty) as error:
            raise MeasurementFailed("the virtual-time kernel makes no copy of itself: it has ended") from error

    def _acknowledge(self, guest: socket.socket, operation: int, number: int, time_ns: int) -> None:
        answer = _MESSAGE.pack(_Operation.ACK, number, time.time_ns() if operation == _Operation.TIME_OF_DAY else 0)
        match operation:
            case _Operation.ACK:
                if number == _COPY:
                    self._copied.put(time_ns)
            case _Operation.START:
                _start(guest, answer)
            case _Operation.BROADCAST if self._holds:
                self._held_by = number
                self.is_held.set()
            case _:
                guest.send(answer)


class ClockController(GuestClock):
    """The clock of one guest, in a thread; a context manager, which must be left when the guest has ended.

    Args:
        folder: for the socket.
        pace: how fast the clock may go.
        holds: whether programs may stop it; else it goes on at once.
    """

    def __init__(self, folder: Path, pace: Pace, *, holds: bool = False) -> None:
        super().__init__(pace, holds=holds)
        self._socket = folder / SOCKET
        self._listening = socket.socket(socket.AF_UNIX)
        self._answering = threading.Thread(target=self._answer, name="clock of the guest", daemon=True)

    def __enter__(self) -> Self:
        self._listening.bind(str(self._socket))
        self._listening.listen(1)
        self._answering.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)  # ends accept()
        self._answering.join()
        self._listening.close()

    def attend_copy(self, clock: GuestClock) -> None:
        """Waits for the copy that a guest was asked for, and controls its clock from then on.

        Raises:
            OSError: the copy has failed.
        """
        self._listening.settimeout(_CONNECTING_S)
        guest, _ = self._listening.accept()
        clock.converse(guest, with_copy=True)
        threading.Thread(target=_until_end, args=(clock, guest), name="clock of the copy", daemon=True).start()

    def _answer(self) -> None:
        with contextlib.suppress(OSError):  # it did not connect, or has been killed
            guest, _ = self._listening.accept()
            _until_end(self, guest)


def _until_end(clock: GuestClock, guest: socket.socket) -> None:
    with guest, contextlib.suppress(OSError):
        clock.converse(guest)


def _start(guest: socket.socket, answer: bytes) -> None:
    # The kernel takes two files from this answer, sent or not; an empty schedule stands for none.
    files = [os.memfd_create(name) for name in ("schedule", "log")]
    try:
        os.ftruncate(files[0], 4096)
        socket.send_fds(guest, [answer], files)
    finally:
        for file in files:
            os.close(file)
