"""Tells the store how a cell is going: without it whoever looks on sees nothing until the cell is done."""

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
"""Each time takes some 4 ms of one processor, 2 ms with a store on a server: a five hundredth of it."""

_SHOWN_S = 120.0
_SHOWN_LINKS = 4


class Telling:
    """Tells now and then, in a thread of its own, as a context manager around a cell's measurement.

    A store that does not answer must not stop what is measured: then nothing is told.

    Args:
        store: told.
        run_id, cell: of whom.
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
        self._thread.join()  # on a server there is one connection, and the cell's record needs it next

    def progress(self, fraction: float, doing: str) -> None:
        """As the progress line's."""
        self._fraction, self._doing = fraction, doing

    def sampled(self, log: CounterLog) -> None:
        """Counters that are read from now on, once a second."""
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
            series=dict(_courses(self._log)) if self._log else {},
        )


def _courses(log: CounterLog) -> Iterator[tuple[str, Series]]:
    """Idle processor time, and what the busiest directions of links carry, over the last two minutes."""
    rows = list(log.rows)  # the sampler adds to it meanwhile
    so_far = CounterLog(log.times_s[: len(rows)], rows)
    if len(rows) < 2:
        return
    start_s = max(so_far.times_s[0], so_far.times_s[-1] - _SHOWN_S)
    yield "idle CPU", cpu.share(so_far, "cpu_idle", start_s=start_s)
    carried = {name: rows[-1][name] - rows[0][name] for name in rows[-1] if not name.startswith("cpu_")}
    for name in sorted(carried, key=carried.__getitem__, reverse=True)[:_SHOWN_LINKS]:
        link, _, way = name.rpartition(".")
        yield f"{link} {way}", so_far.rates(name, "bit/s", start_s=start_s, scale=8)
