"""Description of a chart: what a page needs to draw it, so that its readers can explore it.

A figure for papers carries the description of its own data in its SVG file (`results.figures.style.save`).
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from results.records import ParameterValue
from results.summary.numbers import parameter_text


class Kind(StrEnum):
    """Form of a trace; only lines join their values."""

    LINE = "line"
    THIN = "thin"
    DOTTED = "dotted"
    MARKED = "marked"
    POINTS = "points"
    BARS = "bars"
    CROSSES = "crosses"
    REFERENCE = "reference"


@dataclass(frozen=True)
class Trace:
    """Values that belong together; all sequences are as long as `x`, or empty.

    Attributes:
        label: entry in the legend; traces of one label are shown and hidden together.
        colour: as in `results.figures.style`.
        x, y: the values, in the units of the axes.
        low, high: bounds of their intervals, None where there is none.
        base: lower ends of bars, whose width is `width`.
        notes: words that are shown with each value.
        cells: words by which the cells behind each value are known (`words_of`), or a single entry for all values.
        links: address to which each value leads.
    """

    label: str
    colour: str
    x: Sequence[float]
    y: Sequence[float]
    kind: Kind = Kind.LINE
    dashed: bool = False
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    base: Sequence[float] = ()
    width: float = 0.0
    notes: Sequence[str] = ()
    cells: Sequence[Sequence[str]] = ()
    links: Sequence[str] = ()


@dataclass(frozen=True)
class Panel:
    """One of the plots of a chart.

    Attributes:
        ticks: labels of the horizontal axis by their position; numbers if there are none.
        marks: vertical lines by their meaning.
        y_label: its own vertical axis, if it has one.
    """

    title: str
    traces: Sequence[Trace]
    ticks: Sequence[tuple[float, str]] = ()
    marks: Mapping[str, float] = field(default_factory=dict)
    y_label: str = ""


@dataclass(frozen=True)
class Chart:
    """A title, two axes whose labels include the unit, and plots over the same horizontal axis.

    `badge` is the verdict on the cells in words, and begins with `verdict`.
    """

    title: str
    x_label: str
    y_label: str
    panels: Sequence[Panel]
    logarithmic: bool = False
    badge: str = ""
    verdict: str = ""

    @property
    def json(self) -> str:
        """The description as JSON that cannot end an element of HTML around it."""
        return in_script(compact(vars(self)))


def words_of(parameters: Mapping[str, ParameterValue], repetition: int | None = None) -> tuple[str, ...]:
    """Returns the words by which a page finds cells; those of all repetitions without one."""
    words = tuple(f"{name}={parameter_text(value)}" for name, value in parameters.items())
    return words if repetition is None else (*words, f"#{repetition}")


def in_script(facts: Any) -> str:
    """Returns JSON that cannot end the script element around it."""
    return json.dumps(facts, separators=(",", ":")).replace("<", "\\u003c")


def compact(value: Any) -> Any:
    """Returns JSON values: numbers with six digits, null for what is not finite, and without what is empty."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    if isinstance(value, Trace | Panel):
        return {name: compact(each) for name, each in vars(value).items() if each}
    if isinstance(value, Mapping):
        return {str(name): compact(each) for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(map(compact, value))
    return value
