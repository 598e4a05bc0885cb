"""Drawing from the store's cells: without these helpers each scenario would draw intervals and verdicts its own way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from results.figures import style
from results.records import CellResult, Series, Verdict
from results.statistics.estimates import Summary
from results.summary.badge import badge_text, overall


@dataclass(frozen=True)
class Look:
    """How one thing that is compared looks, the same in every figure of a scenario."""

    label: str
    colour: str
    marker: str = "o"
    line: str = "-"
    hatch: str = ""


@dataclass(frozen=True)
class Curve:
    """One quantity over time: each repetition as a thin line, their mean as a bold one.

    Attributes:
        look: label and colours.
        repetitions: the repetitions that may be believed.
        unusable: the others: drawn dotted, part of no mean.
        scale: factor from the series' unit to the axis's.
    """

    look: Look
    repetitions: Sequence[Series]
    unusable: Sequence[Series] = ()
    scale: float = 1.0


@dataclass(frozen=True)
class TimePanel:
    """One small plot over time.

    Attributes:
        title: what distinguishes it from its neighbours.
        curves: what is drawn.
        level: a reference drawn as a dashed line (value on the axis), for example the offered rate; None for none.
        mark_s: a moment drawn as an upright line, for example the end of the ramp; None for none.
    """

    title: str
    curves: Sequence[Curve]
    level: float | None = None
    mark_s: float | None = None


@dataclass(frozen=True)
class Points:
    """One metric against a numeric parameter, with the 95 % interval of each mean as an error bar."""

    look: Look
    summaries: Sequence[Summary]
    scale: float = 1.0
    joined: bool = True


@dataclass(frozen=True)
class LoadPanel:
    """One plot against a numeric parameter.

    Attributes:
        points: what is drawn.
        title: what distinguishes it from its neighbours.
        references: dashed lines by label: (parameter, value) pairs to be joined.
    """

    points: Sequence[Points]
    title: str = ""
    references: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Bar:
    """One bar of a group: its parts from the bottom up, each with its look; unusable ones are drawn pale."""

    label: str
    parts: Sequence[tuple[Look, float]]
    verdict: Verdict = Verdict.FAITHFUL


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
    """Small plots over time side by side, with the same axes so that they can be compared.

    Args:
        panels: what is drawn, row by row.
        cells: the cells behind it; their verdict is written below.
        title: says what is shown.
        y_label: what the vertical axis shows, with its unit.
        level_label: what the dashed lines are.
        mark_label: what the upright lines are.
        columns: plots side by side.
        panel_height_in: height of each, in inches.
        compare_columns: whether all plots have the same vertical axis, or only those of a column.
    """
    rows = max(1, -(-len(panels) // columns))
    with style.drawing():
        figure = _figure(rows * panel_height_in + 0.75, title, cells)
        grid = figure.subplots(rows, columns, sharex=True, sharey=compare_columns or "col", squeeze=False)
        for index, axes in enumerate(grid.flat):
            if index >= len(panels):
                axes.remove()
                continue
            _draw_time_panel(axes, panels[index])
            outer = not compare_columns or index % columns == 0
            below = index + columns >= len(panels)
            style.plain_axes(axes, "time (s)" if below else "", y_label if outer else "", panels[index].title)
            axes.tick_params(labelbottom=below)
            # Above an empty place there is room for the axis's words: the rows need not move apart for them.
            axes.xaxis.set_in_layout(index // columns == rows - 1 or not below)
        for axes in figure.axes:
            axes.set_xlim(left=0)
            axes.set_ylim(bottom=0)
        style.add_legend(figure, _time_handles(panels, level_label, mark_label))
    return figure


def grouped_by_load(
    panels: Sequence[LoadPanel],
    cells: Sequence[CellResult],
    *,
    title: str,
    x_label: str,
    y_label: str,
    parameter: str = "load",
    logarithmic: bool = False,
    from_zero: bool = True,
    height_in: float = 3.9,
) -> Figure:
    """Metrics against a numeric parameter, means with 95 % intervals; unusable means are crosses off the line.

    Args:
        panels: plots side by side, with the same axes.
        cells: the cells behind them; their verdict is written below.
        title: says what is shown.
        x_label: what the horizontal axis shows, with its unit.
        y_label: what the vertical axis shows, with its unit.
        parameter: the cell parameter on the horizontal axis.
        logarithmic: whether the vertical axis is.
        from_zero: whether the vertical axis begins at zero; without meaning if it is logarithmic.
        height_in: height of the plots, in inches.
    """
    with style.drawing():
        figure = _figure(height_in, title, cells)
        grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        handles: dict[str, Line2D] = {}
        for index, (axes, panel) in enumerate(zip(grid, panels, strict=True)):
            handles |= _draw_load_panel(axes, panel, parameter)
            style.plain_axes(axes, x_label, y_label if index == 0 else "", panel.title)
            _load_ticks(axes, panel, parameter)
        if logarithmic:
            grid[0].set_yscale("log")
            grid[0].yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        elif from_zero:
            grid[0].set_ylim(bottom=0, top=max(grid[0].get_ylim()[1], 1e-9))
        style.add_legend(figure, handles)
    return figure


def stacked_bars(
    panels: Sequence[tuple[str, Mapping[str, Sequence[Bar]]]],
    cells: Sequence[CellResult],
    *,
    title: str,
    x_label: str,
    y_label: str,
    height_in: float = 4.2,
) -> Figure:
    """Groups of stacked bars, one plot below another.

    Args:
        panels: a title, and the bars by group (the group's name stands on the horizontal axis).
        cells: the cells behind them; their verdict is written below.
        title: says what is shown.
        x_label: what the groups are, with its unit.
        y_label: what the bars show, with its unit.
        height_in: height of all plots, in inches.
    """
    with style.drawing():
        figure = _figure(height_in, title, cells)
        grid = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        handles: dict[str, object] = {}
        for axes, (name, groups) in zip(grid, panels, strict=True):
            handles |= _draw_bars(axes, groups)
            style.plain_axes(axes, x_label if axes is grid[-1] else "", y_label, name)
            axes.grid(axis="x", visible=False)
        style.add_legend(figure, handles)
    return figure


def averaged(series: Sequence[Series]) -> Series | None:
    """The mean over repetitions, moment by moment, as long as at least half of them last; None for no repetitions.

    Repetitions are read off at the moments of the longest one, each value holding until the next.
    """
    filled = [one for one in series if one.times_s]
    if not filled:
        return None
    longest = max(filled, key=lambda one: one.times_s[-1])
    times = np.asarray(longest.times_s)
    rows = np.vstack([_read_off(one, times) for one in filled])
    running = np.isfinite(rows)
    kept = running.sum(axis=0) * 2 >= len(filled)
    sums = np.where(running, rows, 0.0).sum(axis=0)[kept]
    values = sums / running.sum(axis=0)[kept]
    return Series(filled[0].unit, tuple(times[kept].tolist()), tuple(values.tolist()))


def _read_off(series: Series, times: np.ndarray) -> np.ndarray:
    known, values = np.asarray(series.times_s), np.asarray(series.values, dtype=float)
    step = float(np.median(np.diff(known))) if len(known) > 1 else 1.0
    index = np.searchsorted(known, times + step * 1e-6, side="right") - 1
    outside = (index < 0) | (times >= known[-1] + step)
    return np.where(outside, np.nan, values[np.clip(index, 0, None)])


def _figure(height_in: float, title: str, cells: Sequence[CellResult]) -> Figure:
    return style.new_figure(height_in, title, badge_text(cells), overall(cells))


def _draw_time_panel(axes: Axes, panel: TimePanel) -> None:
    if panel.level is not None:
        axes.axhline(panel.level, color=style.INK, linestyle=(0, (4, 3)), linewidth=1, zorder=1.5)
    if panel.mark_s is not None:
        axes.axvline(panel.mark_s, color=style.MUTED, linestyle=":", linewidth=1.3, zorder=1.5)
    for curve in panel.curves:
        _draw_curve(axes, curve)


def _draw_curve(axes: Axes, curve: Curve) -> None:
    look = curve.look
    if len(curve.repetitions) > 1:
        for series in curve.repetitions:
            axes.plot(series.times_s, _scaled(series, curve.scale), color=look.colour, linewidth=0.6, alpha=0.3)
    for series in curve.unusable:
        axes.plot(series.times_s, _scaled(series, curve.scale), color=look.colour, linewidth=0.8, linestyle=":")
    whole = averaged(curve.repetitions)
    if whole:
        axes.plot(whole.times_s, _scaled(whole, curve.scale), color=look.colour, linewidth=1.7, linestyle=look.line)


def _scaled(series: Series, scale: float) -> list[float]:
    return [value * scale for value in series.values]


def _time_handles(panels: Sequence[TimePanel], level_label: str, mark_label: str) -> dict[str, object]:
    curves = [curve for panel in panels for curve in panel.curves]
    handles: dict[str, object] = {
        curve.look.label: Line2D([], [], color=curve.look.colour, linewidth=2, linestyle=curve.look.line)
        for curve in curves
        if curve.repetitions or curve.unusable
    }
    if any(len(curve.repetitions) > 1 for curve in curves):
        handles["one repetition"] = Line2D([], [], color=style.MUTED, linewidth=0.7, alpha=0.6)
    if any(curve.unusable for curve in curves):
        handles["unusable repetition"] = Line2D([], [], color=style.MUTED, linewidth=1, linestyle=":")
    if level_label and any(panel.level is not None for panel in panels):
        handles[level_label] = Line2D([], [], color=style.INK, linewidth=1, linestyle=(0, (4, 3)))
    if mark_label and any(panel.mark_s is not None for panel in panels):
        handles[mark_label] = Line2D([], [], color=style.MUTED, linewidth=1.3, linestyle=":")
    return handles


def _draw_load_panel(axes: Axes, panel: LoadPanel, parameter: str) -> dict[str, Line2D]:
    handles: dict[str, Line2D] = {}
    for label, pairs in panel.references.items():
        ordered = sorted(pairs)
        (handles[label],) = axes.plot(
            [x for x, _ in ordered],
            [y for _, y in ordered],
            color=style.INK if not handles else style.MUTED,
            linestyle=(0, (4, 3)) if not handles else (0, (1, 2)),
            linewidth=1.1,
            zorder=4,  # above the measured lines, which lie on it when all is well
        )
    for points in panel.points:
        if points.summaries:
            handles[points.look.label] = _draw_means(axes, points, parameter)
    crossed = [_draw_unusable(axes, points, parameter) for points in panel.points]
    if any(crossed):
        handles["unusable, in no mean"] = Line2D([], [], color=style.MUTED, marker="x", linestyle="none")
    return handles


def _draw_means(axes: Axes, points: Points, parameter: str) -> Line2D:
    look = points.look
    ordered = sorted(points.summaries, key=lambda summary: float(summary.parameters[parameter]))
    # NaN breaks the line where nothing may be believed: it must not seem to pass through.
    believed = [np.nan if s.verdict is Verdict.UNUSABLE else points.scale for s in ordered]
    middles = np.array([s.estimate.value for s in ordered]) * believed
    lows = np.array([s.estimate.value if s.estimate.low is None else s.estimate.low for s in ordered]) * believed
    highs = np.array([s.estimate.value if s.estimate.high is None else s.estimate.high for s in ordered]) * believed
    axes.errorbar(
        [float(s.parameters[parameter]) for s in ordered],
        middles,
        yerr=np.maximum([middles - lows, highs - middles], 0),
        color=look.colour,
        marker=look.marker,
        markersize=5,
        linestyle=look.line if points.joined else "none",
        linewidth=1.6,
        elinewidth=1.1,
        capsize=3,
    )
    return Line2D([], [], color=look.colour, marker=look.marker, markersize=5, linestyle=look.line, linewidth=1.6)


def _draw_unusable(axes: Axes, points: Points, parameter: str) -> bool:
    pairs = [
        (float(s.parameters[parameter]), value * points.scale)
        for s in points.summaries
        for value in (s.values if s.verdict is Verdict.UNUSABLE else s.left_out)
    ]
    if pairs:
        axes.plot(
            [x for x, _ in pairs],
            [y for _, y in pairs],
            color=points.look.colour,
            marker="x",
            markersize=6.5,
            linestyle="none",
        )
    return bool(pairs)


def _load_ticks(axes: Axes, panel: LoadPanel, parameter: str) -> None:
    measured = sorted({float(s.parameters[parameter]) for points in panel.points for s in points.summaries})
    if 0 < len(measured) <= 10:
        axes.set_xticks(measured, [f"{value:.0f}" if value >= 10 else f"{value:g}" for value in measured])
        axes.minorticks_off()


def _draw_bars(axes: Axes, groups: Mapping[str, Sequence[Bar]]) -> dict[str, object]:
    handles: dict[str, object] = {}
    most = max((len(bars) for bars in groups.values()), default=1)
    width = 0.8 / most
    for place, bars in enumerate(groups.values()):
        for index, bar in enumerate(bars):
            left = place + (index - (len(bars) - 1) / 2) * width
            handles |= _draw_bar(axes, bar, left, width * 0.9)
    axes.set_xticks(range(len(groups)), list(groups))
    return handles


def _draw_bar(axes: Axes, bar: Bar, x: float, width: float) -> dict[str, object]:
    handles: dict[str, object] = {}
    bottom = 0.0
    unusable = bar.verdict is Verdict.UNUSABLE
    for look, value in bar.parts:
        drawn = axes.bar(
            x,
            value,
            width,
            bottom=bottom,
            facecolor=look.colour,
            edgecolor="white",
            hatch=look.hatch,
            linewidth=0.5,
            alpha=0.3 if unusable else 1.0,
        )
        bottom += value
        if value > 0 and not unusable:
            handles[look.label] = drawn
    if unusable:
        axes.plot([x], [bottom], marker="x", color=style.MUTED, linestyle="none")
        handles["unusable"] = Line2D([], [], color=style.MUTED, marker="x", linestyle="none")
    return handles
