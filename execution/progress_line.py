"""The progress of a run: a line on stderr."""

import sys
import textwrap
import time
from collections.abc import Mapping
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from execution.progress import FIRST
from flightpath.progress import PeriodicLines, minutes_and_seconds
from flightpath.terminal import print_line
from results.records import CellResult, Verdict

_WIDE = 120


class ProgressLine:
    """A live line on a terminal, a line now and then elsewhere, and one for each cell that is done.

    How long each missing cell takes is estimated; what is left is corrected by how long the finished cells took.

    Args:
        estimates_s: for each missing cell, by its label.
        already_done: cells of the run that were measured before.
    """

    def __init__(self, title: str, estimates_s: Mapping[str, float], already_done: int = 0) -> None:
        self._estimates = dict(estimates_s)
        self._already_done = already_done
        self._begun: dict[str, float] = {}
        self._fractions: dict[str, float] = {}
        self._finished: set[str] = set()
        self._started = time.monotonic()
        self._console = Console(stderr=True)
        self._title, self._lines = title, PeriodicLines()
        bar_width = 24 if self._console.width >= _WIDE else 10
        self._room = max(0, self._console.width - len(f"{title}  100% 59:59 left  ") - bar_width)
        self._bar = Progress(
            TextColumn(title, markup=False),
            BarColumn(bar_width=bar_width),
            TextColumn("{task.percentage:3.0f}%"),
            TextColumn("{task.fields[left]}"),
            TextColumn("{task.description}", markup=False),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("", total=sum(self._estimates.values()) or 1.0, left="")

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        self._bar.start()
        self._log(f"{len(self._estimates)} cells, {self._left()}")
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def begin(self, label: str) -> None:
        """Starts a cell; several may run at once."""
        self._begun[label] = time.monotonic()
        self.update(label, 0.0, FIRST)

    def update(self, label: str, fraction: float, doing: str) -> None:
        """Shows which fraction of a cell is done, and what is going on."""
        self._fractions[label] = fraction
        running = self._begun.keys() - self._finished
        beside = f" (and {len(running) - 1} more)" if len(running) > 1 else ""
        description, left = f"{label}{beside}: {doing}", self._left()
        shown = description if len(description) <= self._room else f"{description[: self._room - 1]}…"
        self._bar.update(self._task, completed=self._done_s(), description=shown, left=left)
        share = self._done_s() / (sum(self._estimates.values()) or 1.0)
        self._log(f"{share:.0%}, {left}, {description}")

    def _log(self, text: str) -> None:
        if not self._console.is_terminal:
            self._lines.show(f"{self._title}: {text}")

    def finished(self, result: CellResult) -> None:
        """Prints that a cell was measured, with its verdict."""
        verdict = result.certificate.verdict
        doubt = "" if verdict is Verdict.FAITHFUL else f" ({verdict}: {'; '.join(result.certificate.reasons)})"
        self._end(result.cell.label, f"done{doubt}")
        for event in result.certificate.found.get("events", ()):
            happened_s = event["happened_at_s"]
            when = "not seen during the load" if happened_s is None else f"seen after {happened_s:.3f} s"
            print_line(self._console, Text(f"  event {event['event']}: {when}"))

    def failed(self, label: str, why: str) -> None:
        """Prints that a cell could not be measured, and why."""
        self._end(label, "FAILED")
        print_line(self._console, Text(textwrap.indent(why, "  ")))

    def postponed(self, label: str, why: str) -> None:
        """Prints that a cell will be measured once more."""
        self._fractions[label] = 0.0
        print_line(self._console, Text(f"{label}: to be measured again: {why}"))

    def _end(self, label: str, outcome: str) -> None:
        self._finished.add(label)
        self._fractions[label] = 1.0
        position = f"[{len(self._finished) + self._already_done}/{len(self._estimates) + self._already_done}]"
        took = f"{time.monotonic() - self._begun[label]:.0f} s"
        text = f"{position} {label}: {outcome}, {took}, {self._left()}"
        print_line(self._console, Text(text))
        sys.stderr.flush()

    def _done_s(self) -> float:
        return sum(fraction * self._estimates[label] for label, fraction in self._fractions.items())

    def _left(self) -> str:
        """Returns the time left, corrected by how long the finished cells really took."""
        done_s, elapsed_s = self._done_s(), time.monotonic() - self._started
        factor = elapsed_s / done_s if done_s > 0 and self._finished else 1.0
        return f"{minutes_and_seconds((sum(self._estimates.values()) - done_s) * factor)} left"
