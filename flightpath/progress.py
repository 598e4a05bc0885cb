"""The progress of long work on stderr: a live line on a terminal, and elsewhere a line now and then."""

import sys
import time
from typing import TextIO

PERIOD_S = 30.0
"""Period of lines where stderr is not a terminal, such as in a CI log."""


class PeriodicLines:
    """Lines for a log: the first is printed at once, the others at most once in a period.

    Args:
        stream: where they go; by default stderr.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._printed_s: float | None = None

    def show(self, text: str) -> None:
        """Prints a line if one is due."""
        if self._printed_s is None or time.monotonic() >= self._printed_s + PERIOD_S:
            self._printed_s = time.monotonic()
            print(text, file=self._stream, flush=True)


class LiveLine:
    """One line that a terminal overwrites; elsewhere periodic lines. A context manager, which ends the line."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._lines = PeriodicLines()

    def __enter__(self) -> "LiveLine":
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_terminal:
            print(file=sys.stderr)

    def show(self, text: str) -> None:
        """Shows how far the work is."""
        if self._is_terminal:
            print(f"\r{text}\033[K", end="", file=sys.stderr, flush=True)
        else:
            self._lines.show(text)


def minutes_and_seconds(seconds: float) -> str:
    """Formats a time as `2:07`; negative times as `0:00`."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    return f"{minutes}:{rest:02d}"
