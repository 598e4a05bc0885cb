"""Plots of metrics against a numeric parameter: means with their 95 % intervals.

Values that are words are placed to the right of the numbers, off the line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from flightpath.units import counted
from results.figures import style
from results.figures.chart import Chart, Kind, Panel, Trace, words_of
from results.figures.style import Look
from results.records import CellResult, ParameterValue, Verdict
from results.statistics.estimates import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_HEIGHT_IN = 3.9
_LEAST_GAP = 0.03
"""Least distance of two labelled values on a linear axis, as a share of the axis."""

Places = Mapping[ParameterValue, float]
"""Position of each value of the parameter on the horizontal axis."""

References = Mapping[str, Sequence[tuple[float, float]]]
"""Reference lines, drawn dashed, by label: the (parameter, value) pairs to join."""


@dataclass(frozen=True)
class Points:
    """One metric against a numeric parameter, with the 95 % interval of each mean as an error bar."""

    look: Look
    summaries: Sequence[Summary]
    scale: float = 1.0


@dataclass(frozen=True)
class ParameterPanel:
    """One of several plots against a numeric parameter; `shared` are the parameters of all cells in it."""

    points: Sequence[Points]
    title: str = ""
    references: References = field(default_factory=dict)
    shared: Mapping[str, ParameterValue] = field(default_factory=dict)


def lines_over_parameter(
    panels: Sequence[ParameterPanel],
    cells: Sequence[CellResult],
    *,
    title: str,
    x_label: str,
    y_label: str,
    parameter: str = "load",
    logarithmic: bool = False,
) -> Figure:
    """Draws means with 95 % intervals against a numeric parameter; unusable means are crosses off the line.

    Args:
        panels: the plots side by side, with the same axes.
        cells: the cells behind the data; their verdict is written below the plots.
        parameter: the cell parameter on the horizontal axis.
        logarithmic: makes the vertical axis logarithmic; otherwise it begins at zero.
    """
    with style.drawing():
        figure = style.figure_of_cells(_HEIGHT_IN, title, cells)
        grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        handles: dict[str, Line2D] = {}
        descriptions = []
        values = [[s.parameters[parameter] for points in panel.points for s in points.summaries] for panel in panels]
        is_crowded = _is_crowded(places_of(chain.from_iterable(values)))
        for index, (axes, panel, tried) in enumerate(zip(grid, panels, values, strict=True)):
            places = places_of(tried)
            handles |= _draw_panel(axes, panel, parameter, places)
            descriptions.append(described(panel, parameter, places))
            style.plain_axes(axes, x_label, y_label if index == 0 else "", panel.title)
            if 0 < len(places) <= 10:
                if is_crowded:
                    axes.set_xscale("log")
                axes.set_xticks(list(places.values()), [_tick(value) for value in places])
                axes.minorticks_off()
        if logarithmic:
            grid[0].set_yscale("log")
            grid[0].yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        else:
            grid[0].set_ylim(bottom=0, top=max(grid[0].get_ylim()[1], 1e-9))
        style.add_legend(figure, handles)
    figure.chart = Chart(title, x_label, y_label, descriptions, logarithmic)
    return figure


def described(panel: ParameterPanel, parameter: str, places: Places) -> Panel:
    """Describes a plot for pages on which it is explored."""
    traces = [trace for points in panel.points for trace in _traces(points, parameter, places, panel.shared)]
    for label, pairs in panel.references.items():
        x, y = zip(*sorted(pairs), strict=True)
        traces.append(Trace(label, style.INK, x, y, Kind.REFERENCE))
    ticks = [(at, _tick(value)) for value, at in sorted(places.items(), key=lambda item: item[1])]
    return Panel(panel.title, traces, ticks if any(isinstance(value, str) for value in places) else ())


def _traces(points: Points, parameter: str, places: Places, shared: Mapping[str, ParameterValue]) -> Iterator[Trace]:
    """Yields the means over numbers, which a line joins, those over words, and what is unusable."""
    ordered = sorted(points.summaries, key=lambda each: places[each.parameters[parameter]])
    good = [each for each in ordered if each.verdict is not Verdict.UNUSABLE]
    words = [each for each in good if isinstance(each.parameters[parameter], str)]
    numbers = [each for each in good if not isinstance(each.parameters[parameter], str)]
    dashed = points.look.line != "-"

    def trace(members: Sequence[Summary], values: Sequence[float], kind: Kind, **more: Any) -> Trace:
        x = [places[each.parameters[parameter]] for each in members]
        cells = [words_of({**shared, **each.parameters}) for each in members]
        y = [value * points.scale for value in values]
        return Trace(points.look.label, points.look.colour, x, y, kind, dashed, cells=cells, **more)

    for members, kind in ((numbers, Kind.MARKED), (words, Kind.POINTS)):
        bounds = [[each.estimate.low for each in members], [each.estimate.high for each in members]]
        low, high = ([None if bound is None else bound * points.scale for bound in side] for side in bounds)
        notes = [f"{each.verdict}, {counted(each.estimate.count, 'cell')}" for each in members]
        if members:
            yield trace(members, [each.estimate.value for each in members], kind, low=low, high=high, notes=notes)
    bad = [(each, v) for each in ordered for v in (each.left_out if each in good else each.values)]
    if bad:
        yield trace([each for each, _ in bad], [value for _, value in bad], Kind.CROSSES, notes=["unusable"] * len(bad))


def places_of(values: Iterable[ParameterValue]) -> dict[ParameterValue, float]:
    """Places numbers at their value, and words to the right of them, in their order."""
    tried = list(dict.fromkeys(values))
    numbers = sorted(value for value in tried if not isinstance(value, str))
    first, last = (numbers[0], numbers[-1]) if numbers else (0.0, 0.0)
    distance = (last - first) / 6 or 1.0
    words = [value for value in tried if isinstance(value, str)]
    return {
        **{number: float(number) for number in numbers},
        **{word: last + distance * place for place, word in enumerate(words, start=1)},
    }


def _draw_panel(axes: Axes, panel: ParameterPanel, parameter: str, places: Places) -> dict[str, Line2D]:
    """Returns the legend's handles by label."""
    handles: dict[str, Line2D] = {}
    for label, pairs in panel.references.items():
        (handles[label],) = axes.plot(
            *zip(*sorted(pairs), strict=True),
            color=style.INK if not handles else style.MUTED,
            linestyle=style.DASHED if not handles else (0, (1, 2)),
            linewidth=1.1,
            zorder=4,  # above the measured lines, which it covers if all is well
        )
    for points in panel.points:
        if points.summaries:
            handles[points.look.label] = _draw_means(axes, points, parameter, places)
    for points in panel.points:
        if _draw_unusable(axes, points, parameter, places):
            handles["unusable, in no mean"] = style.cross()
    return handles


def _draw_means(axes: Axes, points: Points, parameter: str, places: Places) -> Line2D:
    import numpy as np  # slow to load, as matplotlib

    look = points.look
    ordered = sorted(points.summaries, key=lambda summary: places[summary.parameters[parameter]])
    # NaN interrupts the line at unusable means: it must not seem to pass through them.
    scales = [np.nan if s.verdict is Verdict.UNUSABLE else points.scale for s in ordered]
    means = np.array([s.estimate.value for s in ordered]) * scales
    lows = np.array([s.estimate.value if s.estimate.low is None else s.estimate.low for s in ordered]) * scales
    highs = np.array([s.estimate.value if s.estimate.high is None else s.estimate.high for s in ordered]) * scales
    x = np.array([places[s.parameters[parameter]] for s in ordered])
    is_word = np.array([isinstance(s.parameters[parameter], str) for s in ordered])
    line: dict[str, Any] = {"color": look.colour, "marker": look.marker, "linestyle": look.line}
    line |= {"markersize": 5, "linewidth": 1.6}
    errors = np.maximum([means - lows, highs - means], 0)
    for chosen, joined in ((~is_word, line), (is_word, {**line, "linestyle": "none"})):
        if chosen.any():
            axes.errorbar(x[chosen], means[chosen], yerr=errors[:, chosen], elinewidth=1.1, capsize=3, **joined)
    return style.handle(**line)


def _draw_unusable(axes: Axes, points: Points, parameter: str, places: Places) -> bool:
    """Draws each unusable value as a cross; returns whether there are any."""
    pairs = [
        (places[s.parameters[parameter]], value * points.scale)
        for s in points.summaries
        for value in (s.values if s.verdict is Verdict.UNUSABLE else s.left_out)
    ]
    if pairs:
        axes.plot(*zip(*pairs, strict=True), color=points.look.colour, marker="x", markersize=6.5, linestyle="none")
    return bool(pairs)


def _is_crowded(places: Places) -> bool:
    """Tells whether values lie so close together, beside their range, that a logarithmic axis keeps them apart."""
    at = sorted(places.values())
    gaps = [later - earlier for earlier, later in pairwise(at)]
    is_numeric = not any(isinstance(value, str) for value in places)
    return is_numeric and bool(gaps) and at[0] > 0 and min(gaps) < _LEAST_GAP * (at[-1] - at[0])


def _tick(value: ParameterValue) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.0f}" if value >= 10 else f"{value:g}"
