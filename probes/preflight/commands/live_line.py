"""The line on a terminal that shows the progress of a measurement."""

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from flightpath.units import format_bytes, format_rate, format_span
from probes.preflight.records import Status

_LOOK_BACK_S = 1.0
_BAR = 24


class LiveLine:
    """A line on stderr with throughput and time left, if that is a terminal. A context manager."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._console = Console(stderr=True)
        self._live = Live(console=self._console, refresh_per_second=8, transient=True)
        self._recent: deque[tuple[float, int]] = deque(maxlen=64)
        self._iteration = 0

    def __enter__(self) -> Self:
        self._resume()
        return self

    def __exit__(self, *_: object) -> None:
        self._pause()

    def update(self, status: Status) -> None:
        """Shows a status."""
        if status.iteration != self._iteration:
            self._iteration = status.iteration
            self._recent.clear()
        self._recent.append((time.monotonic(), status.bytes))
        if self._live.is_started:
            self._live.update(Text(line(self._title, status, self._throughput_bps())))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Removes the line for the time of a question."""
        self._pause()
        try:
            yield
        finally:
            self._resume()

    def _resume(self) -> None:
        if self._console.is_terminal:
            self._live.start()

    def _pause(self) -> None:
        self._live.update(Text(""))
        self._live.stop()

    def _throughput_bps(self) -> float:
        now, total = self._recent[-1]
        then, before = next((each for each in self._recent if now - each[0] <= _LOOK_BACK_S), self._recent[-1])
        return (total - before) * 8 / (now - then) if now > then else 0.0


def line(title: str, status: Status, throughput_bps: float) -> str:
    """The text of the line."""
    if not status.iteration:
        return f"{title}: {status.phase} …"
    which = f"{status.iteration}/{status.iterations} " if status.iterations > 1 else ""
    if status.phase != "transferring":
        return f"{title} {which}{status.phase} …"
    fraction, left_s = _left(status, throughput_bps)
    done = round(fraction * _BAR)
    bar = "━" * done + "╌" * (_BAR - done)
    left = f"  {format_span(left_s)} left" if left_s is not None else ""
    return f"{title} {which}{bar} {format_bytes(status.bytes)}  {format_rate(throughput_bps)}{left}"


def _left(status: Status, throughput_bps: float) -> tuple[float, float | None]:
    """The share that is done, and the seconds left until size or time ends the transfer, whichever comes first."""
    ends: list[tuple[float, float]] = []
    if status.limit_s:
        ends.append((status.limit_s - status.elapsed_s, status.elapsed_s / status.limit_s))
    share = status.bytes / status.total_bytes if status.total_bytes else 0.0
    if status.total_bytes and throughput_bps > 0:
        ends.append(((status.total_bytes - status.bytes) * 8 / throughput_bps, share))
    if not ends:
        return share, None
    left_s, share = min(ends)
    return min(1.0, share), max(0.0, left_s)
