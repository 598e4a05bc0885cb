"""Live progress of a cell in the store, for the dashboard."""

import contextlib
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from flightpath.errors import FlightpathError
from probes.counters import cpu
from probes.counters.sampling import CounterLog
from results.exchange.progress import CellProgress, report_progress
from results.records import Series
from results.store.store import Store

PERIOD_S = 2.0
"""Each update takes some 4 ms of processor time, 2 ms with a store on a server."""

_SHOWN_S = 120.0
_SHOWN_LINKS = 4


class LiveProgress:
    """A context manager around a cell's measurement that updates the store every few seconds, in a thread.

    If the store does not answer, the update is skipped: the measurement goes on.

    Args:
        store: to be updated.
        run_id: the run of the cell.
        cell: the cell's label.
    """

    def __init__(self, store: Store, run_id: str, cell: str) -> None:
        self._store, self._run_id, self._cell = store, run_id, cell
        self._fraction, self._doing = 0.0, "starting the testbed"
        self._log: CounterLog | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()  # the store has one connection to its server, and the cell's result needs it next

    def update(self, fraction: float, doing: str) -> None:
        """Sets which fraction of the cell is done, and what is going on."""
        self._fraction, self._doing = fraction, doing

    def show_samples(self, log: CounterLog) -> None:
        """Sets the log of which samples are shown, while it grows."""
        self._log = log

    def _run(self) -> None:
        while True:
            with contextlib.suppress(FlightpathError):
                report_progress(self._store, self._run_id, self._now())
            if self._ended.wait(PERIOD_S):
                return

    def _now(self) -> CellProgress:
        return CellProgress(
            cell=self._cell,
            fraction=min(1.0, max(0.0, self._fraction)),
            doing=self._doing,
            told_at=datetime.now(UTC).isoformat(),
            series=dict(_shown_series(self._log)) if self._log else {},
        )


def _shown_series(log: CounterLog) -> Iterator[tuple[str, Series]]:
    """Idle processor time, and the rates of the busiest links' directions, over the last two minutes."""
    rows = list(log.rows)  # the sampler appends meanwhile
    so_far = CounterLog(log.times_s[: len(rows)], rows)
    if len(rows) < 2:
        return
    start_s = max(so_far.times_s[0], so_far.times_s[-1] - _SHOWN_S)
    yield "idle CPU", cpu.share(so_far, "cpu_idle", start_s=start_s)
    carried = {name: rows[-1][name] - rows[0][name] for name in rows[-1] if not name.startswith("cpu_")}
    for name in sorted(carried, key=carried.__getitem__, reverse=True)[:_SHOWN_LINKS]:
        link, _, way = name.rpartition(".")
        yield f"{link} {way}", so_far.rates(name, "bit/s", start_s=start_s, scale=8)
