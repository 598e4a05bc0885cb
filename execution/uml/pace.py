"""Virtual time that passes no faster than real time, for a person at the keyboard.

A guest's clock usually jumps ahead whenever all programs wait, so hours would pass while somebody reads the screen.
Here the guest asks before each jump (`time-travel=ext:SOCKET`; the messages are those of Linux's `um_timetravel.h`),
and is answered when as much real time has passed. Time that it spends computing is not caught up.
"""

import contextlib
import os
import socket
import struct
import threading
import time
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import Self

SOCKET = "clock"
"""Name of the socket to which the guest connects."""

_MESSAGE = struct.Struct("=IIQ")  # operation, sequence number, time in ns


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


class RealPace:
    """The clock of one guest, in a thread; a context manager, which must be left when the guest has ended.

    Args:
        folder: for the socket.
        has_booted: whether the guest has booted; until then the clock may jump ahead.
    """

    def __init__(self, folder: Path, has_booted: Callable[[], bool]) -> None:
        self._socket, self._has_booted = folder / SOCKET, has_booted
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

    def _answer(self) -> None:
        with contextlib.suppress(OSError):  # it did not connect, or has been killed
            guest, _ = self._listening.accept()
            with guest:
                _Conversation(guest, self._has_booted).go_on()


class _Conversation:
    def __init__(self, guest: socket.socket, has_booted: Callable[[], bool]) -> None:
        self._guest, self._has_booted = guest, has_booted
        self._began_ns = time.monotonic_ns()
        self._keeps_pace = False
        self._wanted_ns = 0
        self._waits = False

    def go_on(self) -> None:
        """Answers until the guest ends."""
        while True:
            self._guest.settimeout(self._run_if_due())
            with contextlib.suppress(TimeoutError):
                if len(message := self._guest.recv(_MESSAGE.size, socket.MSG_WAITALL)) < _MESSAGE.size:
                    return
                self._take(*_MESSAGE.unpack(message))

    def _take(self, operation: int, number: int, time_ns: int) -> None:
        match operation:
            case _Operation.ACK:
                return
            case _Operation.REQUEST:
                self._wanted_ns = time_ns
            case _Operation.WAIT:
                self._waits = True
        answer = _MESSAGE.pack(_Operation.ACK, number, time.time_ns() if operation == _Operation.TIME_OF_DAY else 0)
        if operation == _Operation.START:
            self._start(answer)
        else:
            self._guest.send(answer)

    def _start(self, answer: bytes) -> None:
        # The kernel takes two files from this answer, sent or not; an empty schedule stands for none.
        files = [os.memfd_create(name) for name in ("schedule", "log")]
        try:
            os.ftruncate(files[0], 4096)
            socket.send_fds(self._guest, [answer], files)
        finally:
            for file in files:
                os.close(file)

    def _run_if_due(self) -> float | None:
        """Lets a guest run whose time has come; returns for how long it still has to wait, in seconds."""
        if not self._waits:
            return None
        self._keeps_pace = self._keeps_pace or self._has_booted()
        allowed_ns = time.monotonic_ns() - self._began_ns
        if self._keeps_pace and self._wanted_ns > allowed_ns:
            return (self._wanted_ns - allowed_ns) / 1e9
        free_ns = min(allowed_ns, self._wanted_ns + _LEAD_NS)
        self._began_ns += allowed_ns - max(free_ns, self._wanted_ns)
        self._waits = False
        self._guest.send(
            _MESSAGE.pack(_Operation.FREE_UNTIL, 0, free_ns) + _MESSAGE.pack(_Operation.RUN, 0, self._wanted_ns)
        )
        return None
