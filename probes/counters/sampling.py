"""Sampling of cumulative counters once a second, in a thread of its own during a load."""

import itertools
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self

from flightpath.clock import epoch_offset_s
from results.records import Series

Reader = Callable[[], Mapping[str, float]]
_SHORT = 0.05
"""An interval shorter than this share of the longest is too short for a rate."""


@dataclass(frozen=True)
class WatchedLink:
    """A link with the counters `NAME.a_to_b` and `NAME.b_to_a`.

    Attributes:
        interfaces: interfaces that it joins, for example `h1-eth0:s1-eth1`.
        limit_bps: bandwidth of both directions before the load; None if unlimited.
    """

    interfaces: str
    limit_bps: tuple[float | None, float | None]

    def label(self, name: str, way: str) -> str:
        """Returns a direction's name by its nodes, for example `h1 → s1 (h1-eth0)`."""
        a, b = (interface.rpartition("-eth")[0] or interface for interface in self.interfaces.split(":"))
        there, back = f"{a} → {b}", f"{b} → {a}"
        link = self.interfaces.partition(":")[0] if name == self.interfaces else name
        return f"{there if way == 'a_to_b' else back} ({link})"


@dataclass
class CounterLog:
    """Samples of cumulative counters: `rows[i]` at `times_s[i]`, in seconds on CLOCK_MONOTONIC.

    `epoch_offsets_s[i]` is what `epoch_offset_s()` returned then; `links` are those that are counted, by name.
    """

    times_s: list[float] = field(default_factory=list)
    rows: list[Mapping[str, float]] = field(default_factory=list)
    epoch_offsets_s: list[float] = field(default_factory=list)
    links: dict[str, WatchedLink] = field(default_factory=dict)

    def rates(
        self, counter: str, unit: str, *, start_s: float, end_s: float = float("inf"), scale: float = 1.0
    ) -> Series:
        """Returns a counter's rate in each interval that begins between two times on CLOCK_MONOTONIC.

        The times of the series count from `start_s`; `scale` is the factor from the counter to the unit. An interval
        much shorter than the longest, as the last may be, has none: single packets would make a rate of it.
        """
        times, values = [], []
        shortest_s = _SHORT * max((end - begin for begin, end in itertools.pairwise(self.times_s)), default=0.0)
        for i in range(len(self.times_s) - 1):
            begin, end = self.times_s[i], self.times_s[i + 1]
            if start_s <= begin < min(end, end_s) and end - begin > shortest_s:
                times.append(begin - start_s)
                values.append((self.rows[i + 1][counter] - self.rows[i][counter]) * scale / (end - begin))
        return Series(unit, tuple(times), tuple(values))

    def processor_share(self, counter: str, *, start_s: float, end_s: float = float("inf")) -> Series:
        """Returns a counter (`cpu_idle` or `cpu_steal`) in % of the machine's processor time, for each interval."""
        part = self.rates(counter, "%", start_s=start_s, end_s=end_s)
        whole = self.rates("cpu_total", "%", start_s=start_s, end_s=end_s)
        values = tuple(100 * a / b if b else 0.0 for a, b in zip(part.values, whole.values, strict=True))
        return Series("%", part.times_s, values)


class Sampler:
    """A context manager that reads counters in a thread: at the start, once per period, and at the end.

    Args:
        reader: function that returns all counters; an exception from it ends the sampling and is raised again on exit.
        period_s: seconds between two samples.
    """

    def __init__(self, reader: Reader, period_s: float = 1.0) -> None:
        self._reader = reader
        self._period_s = period_s
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._failure: Exception | None = None
        self.log = CounterLog()

    def __enter__(self) -> Self:
        self.sample()
        self._thread.start()
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._stop.set()
        self._thread.join()
        if error is None:
            self.check()

    def check(self) -> None:
        """Raises the reader's error, if any, so that a load fails at once."""
        if self._failure is not None:
            raise self._failure

    def sample(self) -> None:
        with self._lock:
            row = self._reader()
            self.log.epoch_offsets_s.append(epoch_offset_s())
            self.log.times_s.append(time.monotonic())
            self.log.rows.append(row)

    def _run(self) -> None:
        due = time.monotonic() + self._period_s
        try:
            while not self._stop.wait(max(0.0, due - time.monotonic())):
                self.sample()
                due += self._period_s
            self.sample()
        except Exception as error:
            self._failure = error
