"""Plots of quantities over time: one line per repetition, and the mean of the repetitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from flightpath.extensions import lazy_import
from results.figures import style
from results.figures.chart import Chart, Kind, Panel, Trace, words_of
from results.figures.style import Look
from results.records import Cell, CellResult, Series

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:
    np = lazy_import("numpy")  # slow to load, as matplotlib

_Numbers: TypeAlias = "np.typing.NDArray[np.float64]"


@dataclass(frozen=True)
class Curve:
    """One quantity over time: each usable repetition as a thin line, their mean as a bold one, the others dotted.

    `scale` is the factor from the unit of the series to that of the axis.
    """

    look: Look
    repetitions: Sequence[Series]
    unusable: Sequence[Series] = ()
    scale: float = 1.0


@dataclass(frozen=True)
class TimePanel:
    """One of several small plots over time.

    Attributes:
        title, curves: distinction from its neighbours, and data.
        level: a reference value, drawn as a dashed line, for example the offered rate.
        mark_s: a moment, drawn as a vertical line, for example the end of the ramp.
    """

    title: str
    curves: Sequence[Curve]
    level: float | None = None
    mark_s: float | None = None


def lines_over_time(
    panels: Sequence[TimePanel],
    cells: Sequence[CellResult],
    *,
    title: str,
    y_label: str,
    level_label: str = "",
    mark_label: str = "",
    columns: int = 2,
    panel_height_in: float = 1.75,
    compare_columns: bool = True,
) -> Figure:
    """Draws small plots over time side by side, with the same axes so that they can be compared.

    Args:
        panels: the plots, row by row.
        cells: the cells behind the data; their verdict is written below the plots.
        level_label, mark_label: meaning of the dashed and the vertical lines.
        compare_columns: share the vertical axis between all plots, and not only within a column.
    """
    rows = max(1, -(-len(panels) // columns))
    with style.drawing():
        figure = style.figure_of_cells(rows * panel_height_in + 0.75, title, cells)
        grid = figure.subplots(rows, columns, sharex=True, sharey=compare_columns or "col", squeeze=False)
        for index, axes in enumerate(grid.flat):
            if index >= len(panels):
                axes.remove()
                continue
            _draw_panel(axes, panels[index])
            is_outer = not compare_columns or index % columns == 0
            is_lowest = index + columns >= len(panels)
            style.plain_axes(axes, "time (s)" if is_lowest else "", y_label if is_outer else "", panels[index].title)
            axes.tick_params(labelbottom=is_lowest)
            # A label above an empty slot has room there: do not move the rows apart for it.
            axes.xaxis.set_in_layout(index // columns == rows - 1 or not is_lowest)
        for axes in figure.axes:
            axes.set_xlim(left=0)
            axes.set_ylim(bottom=0)
        style.add_legend(figure, _legend_handles(panels, level_label, mark_label))
    cells_of = {id(series): each.cell for each in cells for series in each.measurement.series.values()}
    described = [_described(panel, cells_of, level_label, mark_label) for panel in panels]
    figure.chart = Chart(title, "time (s)", y_label, described)
    return figure


def averaged(series: Sequence[Series]) -> Series | None:
    """Returns the mean over repetitions at each moment, while at least half of them last; None without data.

    The times are those of the longest repetition. A value holds until the next one.
    """
    filled = [one for one in series if one.times_s]
    if not filled:
        return None
    longest = max(filled, key=lambda one: one.times_s[-1])
    times = np.asarray(longest.times_s)
    rows = np.vstack([_values_at(times, one) for one in filled])
    running = np.isfinite(rows)
    kept = running.sum(axis=0) * 2 >= len(filled)
    sums = np.where(running, rows, 0.0).sum(axis=0)[kept]
    values = sums / running.sum(axis=0)[kept]
    return Series(filled[0].unit, tuple(times[kept].tolist()), tuple(values.tolist()))


def _values_at(times: _Numbers, series: Series) -> _Numbers:
    """Returns the values at some moments; NaN before the series begins and after it ends."""
    starts, values = np.asarray(series.times_s), np.asarray(series.values, dtype=float)
    step = float(np.median(np.diff(starts))) if len(starts) > 1 else 1.0
    index = np.searchsorted(starts, times + step * 1e-6, side="right") - 1
    outside = (index < 0) | (times >= starts[-1] + step)
    return np.where(outside, np.nan, values[np.clip(index, 0, None)])


def _draw_panel(axes: Axes, panel: TimePanel) -> None:
    if panel.level is not None:
        axes.axhline(panel.level, color=style.INK, linestyle=style.DASHED, linewidth=1, zorder=1.5)
    if panel.mark_s is not None:
        axes.axvline(panel.mark_s, color=style.MUTED, linestyle=":", linewidth=1.3, zorder=1.5)
    for curve in panel.curves:
        if len(curve.repetitions) > 1:
            for series in curve.repetitions:
                _plot(axes, curve, series, linewidth=0.6, alpha=0.3)
        for series in curve.unusable:
            _plot(axes, curve, series, linewidth=0.8, linestyle=":")
        if mean := averaged(curve.repetitions):
            _plot(axes, curve, mean, linewidth=1.7, linestyle=curve.look.line)


def _plot(axes: Axes, curve: Curve, series: Series, **line: Any) -> None:
    axes.plot(series.times_s, [value * curve.scale for value in series.values], color=curve.look.colour, **line)


def _described(panel: TimePanel, cells_of: Mapping[int, Cell], level_label: str, mark_label: str) -> Panel:
    traces = [trace for curve in panel.curves for trace in _traces(curve, cells_of)]
    if panel.level is not None:
        ends = [min((min(each.x) for each in traces), default=0.0), max((max(each.x) for each in traces), default=1.0)]
        traces.append(Trace(level_label or "level", style.INK, ends, [panel.level] * 2, Kind.REFERENCE))
    return Panel(panel.title, traces, marks={} if panel.mark_s is None else {mark_label: panel.mark_s})


def _traces(curve: Curve, cells_of: Mapping[int, Cell]) -> Iterator[Trace]:
    lines: list[tuple[Series, Kind, Sequence[Series]]] = []
    if len(curve.repetitions) > 1:
        lines += [(each, Kind.THIN, [each]) for each in curve.repetitions]
    lines += [(each, Kind.DOTTED, [each]) for each in curve.unusable]
    if mean := averaged(curve.repetitions):
        lines.append((mean, Kind.LINE, curve.repetitions))
    for line, kind, members in lines:
        if not line.times_s:
            continue
        known = [words_of(cell.parameters, cell.repetition) for each in members if (cell := cells_of.get(id(each)))]
        common = [word for word in known[0] if all(word in words for words in known)] if known else []
        values = [value * curve.scale for value in line.values]
        dashed, notes = curve.look.line != "-", ["unusable"] * len(values) if kind is Kind.DOTTED else ()
        yield Trace(
            curve.look.label, curve.look.colour, line.times_s, values, kind, dashed, notes=notes, cells=[common]
        )


def _legend_handles(panels: Sequence[TimePanel], level_label: str, mark_label: str) -> dict[str, style.Handle]:
    curves = [curve for panel in panels for curve in panel.curves]
    handles: dict[str, style.Handle] = {
        curve.look.label: style.handle(color=curve.look.colour, linewidth=2, linestyle=curve.look.line)
        for curve in curves
        if curve.repetitions or curve.unusable
    }
    if any(len(curve.repetitions) > 1 for curve in curves):
        handles["one repetition"] = style.handle(color=style.MUTED, linewidth=0.7, alpha=0.6)
    if any(curve.unusable for curve in curves):
        handles["unusable repetition"] = style.handle(color=style.MUTED, linewidth=1, linestyle=":")
    if level_label and any(panel.level is not None for panel in panels):
        handles[level_label] = style.handle(color=style.INK, linewidth=1, linestyle=style.DASHED)
    if mark_label and any(panel.mark_s is not None for panel in panels):
        handles[mark_label] = style.handle(color=style.MUTED, linewidth=1.3, linestyle=":")
    return handles
