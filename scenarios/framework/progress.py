"""The progress of a run: a line on stderr, and what its cell does in the store, for the dashboard."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from flightpath.errors import FlightpathError
from probes.counters import cpu
from probes.counters.sampling import CounterLog
from results.exchange.progress import CellProgress, report_progress
from results.records import CellResult, Series, Verdict
from results.store.store import Store

PERIOD_S = 2.0
"""Between updates of the store: each takes some 4 ms of processor time, 2 ms with a store on a server."""

_FIRST = "starting the testbed"
_SHOWN_S = 120.0
_SHOWN_LINKS = 4


class ProgressLine:
    """A live line on a terminal, and a line for each cell that is done.

    How long each missing cell takes is estimated; what is left is corrected by how long the finished cells took.
    """

    def __init__(self, title: str, estimates_s: Sequence[float], already_done: int = 0) -> None:
        self._estimates = list(estimates_s)
        self._already_done = already_done
        self._number = -1
        self._label = ""
        self._begun = self._started = time.monotonic()
        self._console = Console(stderr=True)
        self._bar = Progress(
            TextColumn(title),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:3.0f}%"),
            TextColumn("{task.fields[left]}"),
            TextColumn("{task.description}"),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("", total=sum(self._estimates) or 1.0, left="")

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def begin(self, label: str) -> None:
        """Starts the next cell."""
        self._number += 1
        self._label = label
        self._begun = time.monotonic()
        self.update(0.0, _FIRST)

    def update(self, fraction: float, doing: str) -> None:
        """Shows which fraction of the cell is done, and what is going on."""
        done = sum(self._estimates[: self._number]) + fraction * self._estimates[self._number]
        description, left = f"{self._label}: {doing}", f"{self._left(done)} left"
        self._bar.update(self._task, completed=done, description=description, left=left)

    def finished(self, result: CellResult) -> None:
        """Prints that the cell was measured, with its verdict."""
        verdict = result.certificate.verdict
        doubt = "" if verdict is Verdict.FAITHFUL else f" ({verdict}: {'; '.join(result.certificate.reasons)})"
        self._line(f"{self._label}: done{doubt}")

    def failed(self, why: str) -> None:
        """Prints that the cell could not be measured."""
        self._line(f"{self._label}: FAILED: {why}")

    def _line(self, text: str) -> None:
        done = self._number + 1
        left = self._left(sum(self._estimates[:done]))
        position = f"[{done + self._already_done}/{len(self._estimates) + self._already_done}]"
        took = f"{time.monotonic() - self._begun:.0f} s"
        self._console.print(f"{position} {text}, {took}, {left} left", markup=False, highlight=False, soft_wrap=True)
        sys.stderr.flush()

    def _left(self, done: float) -> str:
        """The time left in minutes and seconds, corrected by how long the finished cells really took."""
        elapsed = time.monotonic() - self._started
        factor = elapsed / done if done > 0 and self._number > 0 else 1.0
        minutes, seconds = divmod(int((sum(self._estimates) - done) * factor), 60)
        return f"{minutes}:{seconds:02d}"


class LiveProgress:
    """A context manager around the measurement of a cell that updates the store every few seconds, in a thread.

    If the store does not answer, the update is skipped: the measurement goes on. Nothing else may use the store
    meanwhile, because it has one connection to its server.
    """

    def __init__(self, store: Store, run_id: str, cell: str) -> None:
        self._store, self._run_id, self._cell = store, run_id, cell
        self._fraction, self._doing = 0.0, _FIRST
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
