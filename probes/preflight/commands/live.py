"""The line that tells how a measurement goes on: a transfer of minutes that says nothing looks like one that hangs."""

import threading
import time
from collections import deque
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from flightpath.units import format_bytes, format_rate, format_span
from probes.preflight.measure.progress import Status

_LOOK_BACK_S = 1.0
_BAR = 24


class LiveLine:
    """One line on stderr with throughput and time left, on a terminal; elsewhere nothing. A context manager.

    Args:
        title: what is measured.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._console = Console(stderr=True)
        self._live = Live(console=self._console, refresh_per_second=8, transient=True)
        self._recent: deque[tuple[float, int]] = deque(maxlen=64)
        self._iteration = 0
        self._shown = False
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
            self._shown = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.pause()

    def tell(self, status: Status) -> None:
        """Shows how far it is."""
        with self._lock:
            if status.iteration != self._iteration:
                self._iteration = status.iteration
                self._recent.clear()
            self._recent.append((time.monotonic(), status.bytes))
            if self._shown:
                self._live.update(Text(line(self._title, status, self._throughput_bps())))

    def pause(self) -> None:
        """Takes the line away, for a question or for good."""
        with self._lock:
            if self._shown:
                self._live.update(Text(""))
                self._live.stop()
                self._shown = False

    def resume(self) -> None:
        """Shows it again after a question."""
        with self._lock:
            if self._console.is_terminal and not self._shown:
                self._live.start()
                self._shown = True

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
    """How much is done (0 to 1), and the seconds that are left, whichever of size and time ends it first."""
    ends: list[tuple[float, float]] = []
    if status.limit_s:
        ends.append((max(0.0, status.limit_s - status.elapsed_s), status.elapsed_s / status.limit_s))
    if status.total_bytes:
        if throughput_bps > 0:
            left = (status.total_bytes - status.bytes) * 8 / throughput_bps
            ends.append((max(0.0, left), status.bytes / status.total_bytes))
        elif not ends:
            return status.bytes / status.total_bytes, None
    if not ends:
        return 0.0, None
    left_s, fraction = min(ends)
    return min(1.0, fraction), left_s
