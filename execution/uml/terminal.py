"""A virtual-time kernel at a terminal: real pace, and lines that are read while its clock stands still.

While it stands still, the guest notices no key, so the lines are read here (`flightpath/keyboard.py`). The terminal is
the guest's otherwise, which has set it to pass on each key and not to wait.
"""

import contextlib
import fcntl
import os
import readline  # noqa: F401 - `input` then edits lines, and knows those before
import select
import signal
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from execution.uml.clock_controller import Jump, RealPace
from execution.uml.uml import UmlGuest, UserModeLinux
from flightpath.clock import Clock
from flightpath.keyboard import GO, LINE, PROMPT
from flightpath.overrides import override

_STEP_NS = 10_000_000
"""Lead of a guest that may jump at once, because that may end with the next line."""

_NOTICED_S = 0.5
"""Time in which a guest reads keys, even if its processor is busy."""

_END = "EOF"
"""Line that ends `cmd.Cmd`."""


class _TerminalPace(RealPace):
    """Real pace, or at once while somebody lets the clock go on by steps."""

    is_at_once = False

    @override
    def jump(self, wanted_ns: int) -> Jump:
        if not self.is_at_once:
            return super().jump(wanted_ns)
        self._began_ns = time.monotonic_ns() - wanted_ns
        return Jump(0, wanted_ns + _STEP_NS)


class TerminalGuest(UmlGuest):
    """A guest that has this process's terminal; a program in it may read lines while the clock stands still."""

    def __init__(self, machine: UserModeLinux, argv: Sequence[str]) -> None:
        self._pace = _TerminalPace(self.has_booted)
        super().__init__(replace(machine, interactive=True, holds=True, pace=self._pace), argv)
        self._usual = termios.tcgetattr(sys.stdin)
        self._unread_since_s: float | None = None

    @override
    def ended(self, time_limit_s: float, meanwhile: Callable[[], None]) -> int:
        def and_read_lines() -> None:
            meanwhile()
            self._read_line()
            self._point_at_keys()

        return super().ended(time_limit_s, and_read_lines)

    def _read_line(self) -> None:
        """Reads a line if the guest stands still, and lets it go on."""
        if self._machine.clock is Clock.REAL or not self.clock.is_held.is_set():
            return
        prompt = self.shared / PROMPT
        if prompt.exists():
            with self._own_terminal():
                line = _typed(prompt.read_text(encoding="utf-8"))
            prompt.unlink()
            (self.shared / LINE).write_text(line, encoding="utf-8")
            self._pace.is_at_once = line.strip() != GO
        self.clock.release()

    def _point_at_keys(self) -> None:
        """Tells the guest again of keys that it has not read: the terminal tells it once, and it may miss that."""
        now_s = time.monotonic()
        if not select.select([sys.stdin], [], [], 0)[0]:
            self._unread_since_s = None
        elif self._unread_since_s is None:
            self._unread_since_s = now_s
        elif now_s - self._unread_since_s > _NOTICED_S and self.has_booted():
            self._process.send_signal(signal.SIGIO)
            self._unread_since_s = now_s

    @contextlib.contextmanager
    def _own_terminal(self) -> Iterator[None]:
        """Sets the terminal as it was, and afterwards as the guest needs it."""
        guests, flags = termios.tcgetattr(sys.stdin), fcntl.fcntl(0, fcntl.F_GETFL)
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._usual)
        fcntl.fcntl(0, fcntl.F_SETFL, flags & ~(os.O_NONBLOCK | os.O_ASYNC))
        try:
            yield
        finally:
            fcntl.fcntl(0, fcntl.F_SETFL, flags)
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, guests)


def _typed(prompt: str) -> str:
    """Returns a line; an empty one if Ctrl-C was pressed."""
    try:
        return input(prompt)
    except KeyboardInterrupt:
        print()
        return ""
    except EOFError:
        print()
        return _END
