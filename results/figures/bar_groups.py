"""Bar charts: groups of bars, each of one part or stacked from several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from results.figures import style
from results.figures.chart import Chart, Kind, Panel, Trace, words_of
from results.figures.style import Look
from results.records import CellResult, ParameterValue, Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CHARACTER_IN = 0.085
"""Width of a character of a group's label."""


@dataclass(frozen=True)
class Bar:
    """One bar: its parts from the bottom up; an unusable one is drawn pale, with a cross at its top.

    `interval` is the error bar at the top: lower and upper end. `parameters` are those of its cells, if known.
    """

    parts: Sequence[tuple[Look, float]]
    verdict: Verdict = Verdict.FAITHFUL
    interval: tuple[float, float] | None = None
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)


def stacked_bars(
    panels: Sequence[tuple[str, Mapping[str, Sequence[Bar | None]]]],
    cells: Sequence[CellResult],
    *,
    title: str,
    x_label: str,
    y_label: str,
    height_in: float = 4.2,
    level: tuple[str, float] | None = None,
) -> Figure:
    """Draws groups of bars, one plot below another.

    Args:
        panels: title of each plot, and its bars by group; None leaves a slot empty.
        cells: the cells behind the data; their verdict is written below the plots.
        height_in: height of all plots together.
        level: a reference value, drawn as a dashed line: its label and the value on the axis.
    """
    with style.drawing():
        figure = style.figure_of_cells(height_in, title, cells)
        grid = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        handles: dict[str, style.Handle] = {}
        for axes, (name, groups) in zip(grid, panels, strict=True):
            handles |= _draw_groups(axes, groups)
            if level is not None:
                handles[level[0]] = axes.axhline(level[1], color=style.INK, linestyle=style.DASHED, linewidth=1)
            style.plain_axes(axes, x_label if axes is grid[-1] else "", y_label, name)
            axes.grid(axis="x", visible=False)
        style.add_legend(figure, handles)
    figure.chart = Chart(title, x_label, y_label, [_described(name, groups, level) for name, groups in panels])
    return figure


def _described(name: str, groups: Mapping[str, Sequence[Bar | None]], level: tuple[str, float] | None) -> Panel:
    """Describes a plot: a trace for each look, in the order of the bars."""
    width = _width(groups)
    columns: dict[str, list[_Part]] = {}
    for number, bars in enumerate(groups.values()):
        for index, bar in enumerate(bars):
            if bar is None:
                continue
            base, last = 0.0, len(bar.parts) - 1
            for order, (look, height) in enumerate(bar.parts):
                x = number + (index - (len(bars) - 1) / 2) * width
                columns.setdefault(look.label, []).append(_Part(x, base, height, look, bar, order == last))
                base += height
    traces = [_trace(parts, width) for parts in columns.values() if any(part.height for part in parts)]
    if level is not None:
        traces.append(Trace(level[0], style.INK, [-0.5, len(groups) - 0.5], [level[1]] * 2, Kind.REFERENCE))
    return Panel(name, traces, list(enumerate(label.replace("\n", " ") for label in groups)))


class _Part(NamedTuple):
    x: float
    base: float
    height: float
    look: Look
    bar: Bar
    is_top: bool


def _trace(parts: Sequence[_Part], width: float) -> Trace:
    look = parts[0].look
    intervals = [
        part.bar.interval if part.is_top and part.bar.verdict is not Verdict.UNUSABLE else None for part in parts
    ]
    return Trace(
        look.label,
        look.colour,
        [part.x for part in parts],
        [part.base + part.height for part in parts],
        Kind.BARS,
        low=[each[0] if each else None for each in intervals],
        high=[each[1] if each else None for each in intervals],
        base=[part.base for part in parts],
        width=width * 0.9,
        notes=[str(part.bar.verdict) for part in parts],
        cells=[words_of(part.bar.parameters) for part in parts],
    )


def _width(groups: Mapping[str, Sequence[Bar | None]]) -> float:
    return 0.8 / max((len(bars) for bars in groups.values()), default=1)


def _draw_groups(axes: Axes, groups: Mapping[str, Sequence[Bar | None]]) -> dict[str, style.Handle]:
    """Returns the legend's handles by label."""
    handles: dict[str, style.Handle] = {}
    width = _width(groups)
    for number, bars in enumerate(groups.values()):
        for index, bar in enumerate(bars):
            if bar is not None:
                handles |= _draw_bar(axes, bar, number + (index - (len(bars) - 1) / 2) * width, width * 0.9)
    axes.set_xticks(range(len(groups)), list(groups))
    longest = max((len(line) for label in groups for line in label.split("\n")), default=0)
    if longest * _CHARACTER_IN * len(groups) > style.WIDTH_IN:
        axes.tick_params("x", rotation=20)
    return handles


def _draw_bar(axes: Axes, bar: Bar, x: float, width: float) -> dict[str, style.Handle]:
    from matplotlib.patches import Patch  # slow to load

    handles: dict[str, style.Handle] = {}
    top = 0.0
    is_unusable = bar.verdict is Verdict.UNUSABLE
    for look, height in bar.parts:
        colours: dict[str, Any] = {
            "facecolor": look.colour,
            "edgecolor": "white",
            "hatch": look.hatch,
            "linewidth": 0.5,
        }
        axes.bar(x, height, width, bottom=top, alpha=0.3 if is_unusable else 1.0, **colours)
        top += height
        if height > 0:
            handles[look.label] = Patch(**colours)
    if is_unusable:
        axes.plot([x], [top], marker="x", color=style.MUTED, linestyle="none")
        handles["unusable"] = style.cross()
    elif bar.interval is not None:
        reach = [[max(0.0, top - bar.interval[0])], [max(0.0, bar.interval[1] - top)]]
        axes.errorbar([x], [top], yerr=reach, color=style.INK, elinewidth=1.1, capsize=2.5)
    return handles
