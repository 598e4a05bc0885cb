"""The clock of a guest in virtual time, controlled from outside.

A guest's clock jumps ahead whenever all programs wait. It asks before each jump (`time-travel=ext:SOCKET`; the messages
are those of Linux's `um_timetravel.h`), and its pace answers: at once, or when as much real time has passed. A program
in the guest can also stop its clock, with all that runs in it, by a write to `HOLD`, until `release`.
"""

import contextlib
import os
import socket
import struct
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple, Self

from flightpath.overrides import override

SOCKET = "clock"
"""Name of the socket to which the guest connects."""

HOLD = Path("/sys/kernel/um-ext-time/bc-message")
"""File in the guest: a number that is written to it stops the clock, within the write."""

_MESSAGE = struct.Struct("=IIQ")  # operation, sequence number, time in ns
_FOREVER_NS = 2**63 - 1
_LEAD_NS = 20_000_000
"""Lead of a guest over real time without asking, if it has computed for longer than this."""


class _Operation(IntEnum):
    ACK = 0
    START = 1
    REQUEST = 2
    WAIT = 3
    RUN = 6
    FREE_UNTIL = 7
    TIME_OF_DAY = 8
    BROADCAST = 9


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


class ClockController:
    """The clock of one guest, in a thread; a context manager, which must be left when the guest has ended.

    Args:
        folder: for the socket.
        pace: how fast the clock may go.
        holds: whether programs may stop it; else it goes on at once.

    Attributes:
        is_held: set while the guest stands still because it has written to `HOLD`.
    """

    def __init__(self, folder: Path, pace: Pace, *, holds: bool = False) -> None:
        self._socket, self._pace, self._holds = folder / SOCKET, pace, holds
        self.is_held = threading.Event()
        self._listening = socket.socket(socket.AF_UNIX)
        self._answering = threading.Thread(target=self._answer, name="clock of the guest", daemon=True)
        self._guest: socket.socket | None = None
        self._held_by = 0

    def __enter__(self) -> Self:
        self._listening.bind(str(self._socket))
        self._listening.listen(1)
        self._answering.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)  # ends accept()
        self._answering.join()
        self._listening.close()

    def release(self) -> None:
        """Lets a guest that stands still go on."""
        if self.is_held.is_set() and self._guest is not None:
            self.is_held.clear()
            with contextlib.suppress(OSError):  # it has been killed
                self._guest.send(_MESSAGE.pack(_Operation.ACK, self._held_by, 0))

    def _answer(self) -> None:
        with contextlib.suppress(OSError):  # it did not connect, or has been killed
            self._guest, _ = self._listening.accept()
            with self._guest:
                self._converse(self._guest)

    def _converse(self, guest: socket.socket) -> None:
        """Answers until the guest ends."""
        wanted_ns, waits = 0, False
        while True:
            jump = self._pace.jump(wanted_ns) if waits else None
            if jump and not jump.wait_s:
                waits = False
                guest.send(
                    _MESSAGE.pack(_Operation.FREE_UNTIL, 0, jump.free_until_ns)
                    + _MESSAGE.pack(_Operation.RUN, 0, wanted_ns)
                )
            guest.settimeout(jump.wait_s if jump and waits else None)
            with contextlib.suppress(TimeoutError):
                if len(message := guest.recv(_MESSAGE.size, socket.MSG_WAITALL)) < _MESSAGE.size:
                    return
                operation, number, time_ns = _MESSAGE.unpack(message)
                wanted_ns = time_ns if operation == _Operation.REQUEST else wanted_ns
                waits = waits or operation == _Operation.WAIT
                self._acknowledge(guest, operation, number)

    def _acknowledge(self, guest: socket.socket, operation: int, number: int) -> None:
        answer = _MESSAGE.pack(_Operation.ACK, number, time.time_ns() if operation == _Operation.TIME_OF_DAY else 0)
        match operation:
            case _Operation.ACK:
                pass
            case _Operation.START:
                _start(guest, answer)
            case _Operation.BROADCAST if self._holds:
                self._held_by = number
                self.is_held.set()
            case _:
                guest.send(answer)


def _start(guest: socket.socket, answer: bytes) -> None:
    # The kernel takes two files from this answer, sent or not; an empty schedule stands for none.
    files = [os.memfd_create(name) for name in ("schedule", "log")]
    try:
        os.ftruncate(files[0], 4096)
        socket.send_fds(guest, [answer], files)
    finally:
        for file in files:
            os.close(file)
