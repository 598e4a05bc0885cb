"""The progress of a cell, for the dashboard: reported every few seconds while it is measured."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Self

from flightpath.errors import FlightpathError
from probes.counters.sampling import CounterLog
from results.exchange.progress import CellProgress, LinkLoad
from results.records import Series

PERIOD_S = 2.0
"""Period of updates of the store: each takes some 4 ms of processor time, 2 ms with a store on a server."""

Report = Callable[[CellProgress], None]

FIRST = "starting the testbed"
_SHOWN_S = 120.0
_SHOWN_LINKS = 4


class LiveProgress:
    """A context manager around the measurement of a cell that reports every few seconds, in a thread.

    If a report fails, it is skipped: the measurement goes on.

    Args:
        report: gets the progress; nothing else may use the store meanwhile if it does, because a store has one
            connection to its server.
        cell: its label.
        period_s: between two reports.
    """

    def __init__(self, report: Report, cell: str, period_s: float = PERIOD_S) -> None:
        self._report, self._cell, self._period_s = report, cell, period_s
        self._fraction, self._doing = 0.0, FIRST
        self._log: CounterLog | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def update(self, fraction: float, doing: str) -> None:
        """Sets which fraction of the cell is done, and what is going on."""
        self._fraction, self._doing = fraction, doing

    def show_samples(self, log: CounterLog) -> None:
        """Sets the log of which samples are shown, while it grows."""
        self._log = log

    def _run(self) -> None:
        while True:
            with contextlib.suppress(FlightpathError):
                self._report(self._now())
            if self._ended.wait(self._period_s):
                return

    def _now(self) -> CellProgress:
        return CellProgress(
            cell=self._cell,
            fraction=min(1.0, max(0.0, self._fraction)),
            doing=self._doing,
            told_at=datetime.now(UTC).isoformat(),
            series=dict(_shown_series(self._log)) if self._log else {},
            links=tuple(_loads(self._log)) if self._log else (),
        )


def _shown_series(log: CounterLog) -> Iterator[tuple[str, Series]]:
    """Yields idle processor time, and the rates of the busiest links' directions, over the last two minutes."""
    rows = list(log.rows)  # the sampler appends meanwhile
    so_far = CounterLog(log.times_s[: len(rows)], rows)
    if len(rows) < 2:
        return
    start_s = max(so_far.times_s[0], so_far.times_s[-1] - _SHOWN_S)
    yield "idle CPU", so_far.processor_share("cpu_idle", start_s=start_s)
    carried = {name: rows[-1][name] - rows[0][name] for name in rows[-1] if not name.startswith("cpu_")}
    for name in sorted(carried, key=carried.__getitem__, reverse=True)[:_SHOWN_LINKS]:
        link, _, way = name.rpartition(".")
        yield log.links[link].label(link, way), so_far.rates(name, "bit/s", start_s=start_s, scale=8)


def _loads(log: CounterLog) -> Iterator[LinkLoad]:
    """Yields what each link carried between the last two samples."""
    rows = list(log.rows)
    if len(rows) < 2 or (elapsed_s := log.times_s[len(rows) - 1] - log.times_s[len(rows) - 2]) <= 0:
        return
    for name, link in log.links.items():
        there, back = (8 * (rows[-1][way] - rows[-2][way]) / elapsed_s for way in (f"{name}.a_to_b", f"{name}.b_to_a"))
        yield LinkLoad(name=name, interfaces=link.interfaces, rate_bps=(there, back), limit_bps=link.limit_bps)
