"""Bar charts: groups of bars, each of one part or stacked from several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from results.figures import style
from results.figures.style import Look
from results.records import CellResult, Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Bar:
    """One bar: its parts from the bottom up; an unusable one is drawn pale, with a cross at its top.

    `interval` is the error bar at the top: lower and upper end.
    """

    parts: Sequence[tuple[Look, float]]
    verdict: Verdict = Verdict.FAITHFUL
    interval: tuple[float, float] | None = None


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
        title, x_label, y_label: title, name of the groups, and the vertical axis with its unit.
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
    return figure


def _draw_groups(axes: Axes, groups: Mapping[str, Sequence[Bar | None]]) -> dict[str, style.Handle]:
    """Returns the legend's handles by label."""
    handles: dict[str, style.Handle] = {}
    width = 0.8 / max((len(bars) for bars in groups.values()), default=1)
    for number, bars in enumerate(groups.values()):
        for index, bar in enumerate(bars):
            if bar is not None:
                handles |= _draw_bar(axes, bar, number + (index - (len(bars) - 1) / 2) * width, width * 0.9)
    axes.set_xticks(range(len(groups)), list(groups))
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
