"""The progress line: a run of half an hour that says nothing looks like one that hangs."""

import sys
import time
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from results.records import CellResult, Verdict


class ProgressLine:
    """One live line on a terminal; elsewhere one line per cell. All on stderr.

    Args:
        title: the scenario's name.
        estimates_s: how long each cell to come is expected to take; corrected by how long the finished ones took.
        already_done: cells that a resumed run has already.
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

    def __enter__(self) -> "ProgressLine":
        self._started = time.monotonic()
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def begin(self, label: str) -> None:
        """The next cell begins."""
        self._number += 1
        self._label = label
        self._begun = time.monotonic()
        self.update(0.0, "starting the testbed")

    def update(self, fraction: float, doing: str) -> None:
        """The cell is done to this fraction; `doing` says what is going on."""
        done = sum(self._estimates[: self._number]) + fraction * self._estimates[self._number]
        self._bar.update(
            self._task,
            completed=done,
            description=f"{self._label}: {doing}",
            left=f"{_minutes(self._left_s(done))} left",
        )

    def finished(self, result: CellResult) -> None:
        """The cell was measured and recorded."""
        verdict = result.certificate.verdict
        said = "" if verdict is Verdict.FAITHFUL else f" ({verdict}: {'; '.join(result.certificate.reasons)})"
        self._line(f"{self._label}: done{said}")

    def failed(self, label: str, why: str) -> None:
        """The cell could not be measured."""
        self._line(f"{label}: FAILED: {why}")

    def _line(self, text: str) -> None:
        done = self._number + 1
        left = _minutes(self._left_s(sum(self._estimates[:done])))
        position = f"[{done + self._already_done}/{len(self._estimates) + self._already_done}]"
        took = f"{time.monotonic() - self._begun:.0f} s"
        self._console.print(f"{position} {text}, {took}, {left} left", markup=False, highlight=False, soft_wrap=True)
        sys.stderr.flush()

    def _left_s(self, done: float) -> float:
        """The estimates of what is to come, stretched by how long what is done really took."""
        left = sum(self._estimates) - done
        elapsed = time.monotonic() - self._started
        stretch = elapsed / done if done > 0 and self._number > 0 else 1.0
        return left * stretch


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
