"""Counters read once a second while something else runs: what turns a total into a course over time."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType

from results.records import Series

Reader = Callable[[], Mapping[str, float]]


@dataclass
class CounterLog:
    """Cumulative counters as they were read: `rows[i]` at `times_s[i]` (seconds since the epoch)."""

    times_s: list[float] = field(default_factory=list)
    rows: list[Mapping[str, float]] = field(default_factory=list)

    def rates(
        self, counter: str, unit: str, *, start_s: float, end_s: float = float("inf"), scale: float = 1.0
    ) -> Series:
        """A counter's increase per second in each interval that begins between `start_s` and `end_s`.

        The series counts its times from `start_s`.
        """
        times, values = [], []
        for i in range(len(self.times_s) - 1):
            begin, end = self.times_s[i], self.times_s[i + 1]
            if start_s <= begin < end_s:
                times.append(begin - start_s)
                values.append((self.rows[i + 1][counter] - self.rows[i][counter]) * scale / (end - begin))
        return Series(unit, tuple(times), tuple(values))


class Sampler:
    """Reads counters in a thread, as a context manager: once at the start, each period, and once at the end.

    Args:
        reader: returns all counters at once; what it raises ends the sampling and is raised again on exit.
        period_s: seconds between two readings.
    """

    def __init__(self, reader: Reader, period_s: float = 1.0) -> None:
        self._reader = reader
        self._period_s = period_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._failure: Exception | None = None
        self.log = CounterLog()

    def __enter__(self) -> "Sampler":
        self._read()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        if self._failure is not None and error is None:
            raise self._failure

    def check(self) -> None:
        """Raises what the reader raised, if it did: for those who would otherwise wait for the end."""
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        due = time.monotonic() + self._period_s
        try:
            while not self._stop.wait(max(0.0, due - time.monotonic())):
                self._read()
                due += self._period_s
            self._read()
        except Exception as error:
            self._failure = error

    def _read(self) -> None:
        row = self._reader()
        self.log.times_s.append(time.time())
        self.log.rows.append(row)
