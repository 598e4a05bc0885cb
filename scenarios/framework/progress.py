"""The progress line of a run, on stderr."""

import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from results.records import CellResult, Verdict


class ProgressLine:
    """A live line on a terminal, and a line for each cell that is done.

    Args:
        title: the scenario's name.
        estimates_s: how long each missing cell takes, roughly; corrected by how long the finished cells took.
        already_done: how many cells a resumed run has already.
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def begin(self, label: str) -> None:
        """Starts the next cell."""
        self._number += 1
        self._label = label
        self._begun = time.monotonic()
        self.update(0.0, "starting the testbed")

    def update(self, fraction: float, doing: str) -> None:
        """Shows which fraction of the cell is done, and what is going on."""
        done = sum(self._estimates[: self._number]) + fraction * self._estimates[self._number]
        self._bar.update(
            self._task,
            completed=done,
            description=f"{self._label}: {doing}",
            left=f"{_minutes(self._left_s(done))} left",
        )

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
        left = _minutes(self._left_s(sum(self._estimates[:done])))
        position = f"[{done + self._already_done}/{len(self._estimates) + self._already_done}]"
        took = f"{time.monotonic() - self._begun:.0f} s"
        self._console.print(f"{position} {text}, {took}, {left} left", markup=False, highlight=False, soft_wrap=True)
        sys.stderr.flush()

    def _left_s(self, done: float) -> float:
        """The estimates of what is left, corrected by how long the finished cells really took."""
        elapsed = time.monotonic() - self._started
        factor = elapsed / done if done > 0 and self._number > 0 else 1.0
        return (sum(self._estimates) - done) * factor


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
