"""Charts of a metric from cells: curves against a numeric parameter, and groups of bars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from results.figures import style
from results.figures.bar_groups import Bar, stacked_bars
from results.figures.over_parameter import ParameterPanel, Points, References, lines_over_parameter
from results.figures.style import Look
from results.records import CellResult, ParameterValue
from results.statistics.estimates import Summary, group, summarise, values_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = (style.BLUE, style.VERMILLION, style.GREEN, style.ORANGE, style.PURPLE, style.SKY, style.INK, style.MUTED)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_HATCHES = ("", "///", "...", "xxx", "\\\\\\", "+++", "ooo", "---")


def looks_of(values: Iterable[ParameterValue], labels: Mapping[ParameterValue, str] = {}) -> dict[ParameterValue, Look]:
    """Returns a look for each of the compared values; they differ in colour and also in marker and hatch."""
    return {
        value: Look(
            labels.get(value, str(value)),
            _COLOURS[index % len(_COLOURS)],
            marker=_MARKERS[index % len(_MARKERS)],
            hatch=_HATCHES[index % len(_HATCHES)],
        )
        for index, value in enumerate(dict.fromkeys(values))
    }


def curves(
    cells: Sequence[CellResult],
    metric: str,
    *,
    x: str,
    by: str,
    scale: float = 1.0,
    looks: Mapping[ParameterValue, Look] | None = None,
    panels: str | None = None,
    panel_titles: Mapping[ParameterValue, str] = {},
    references: References | None = None,
    **plot: Any,
) -> Figure | None:
    """Draws a metric of one run's cells against a numeric parameter; returns None if no cell measured it.

    Args:
        x: the parameter on the horizontal axis.
        by: the parameter with a line for each of its values.
        scale: factor from the metric's unit to the axis's.
        looks: look of each value of `by`, in the legend's order; by default `looks_of`.
        panels: a third parameter, with a plot for each of its values, side by side.
        panel_titles: titles by its values; by default the values themselves.
        references: reference lines in every plot.
        plot: title, labels and axis, as in `lines_over_parameter`.
    """
    measured = _measured(cells, metric, x)
    if not measured:
        return None
    looks = looks or looks_of(values_of(measured, by))
    plots = []
    for key, part in (group(measured, [panels] if panels else []) or {(): measured}).items():
        summaries = summarise(part, metric, (by, x))
        points = [
            Points(look, [each for each in summaries if each.parameters[by] == value], scale)
            for value, look in looks.items()
        ]
        title = "".join(panel_titles.get(value, str(value)) for value in key)
        shared = {panels: key[0]} if panels else {}
        plots.append(ParameterPanel(points, title, references or {}, shared))
    return lines_over_parameter(plots, measured, parameter=x, **plot)


def bars(
    cells: Sequence[CellResult],
    metric: str,
    *,
    groups: str,
    by: str,
    scale: float = 1.0,
    looks: Mapping[ParameterValue, Look] | None = None,
    height_in: float = 3.9,
    **plot: Any,
) -> Figure | None:
    """Draws a metric of one run's cells as bars with 95 % intervals; returns None if no cell measured it.

    Args:
        groups: the parameter with a group for each of its values.
        by: the parameter with a bar for each of its values.
        scale: factor from the metric's unit to the axis's.
        looks: look of each value of `by`, measured or not, in the order of the bars; by default `looks_of`.
        height_in, plot: height, title, labels and reference line, as in `stacked_bars`.
    """
    measured = _measured(cells, metric, groups)
    if not measured:
        return None
    shown = values_of(measured, by)
    looks = {value: look for value, look in (looks or looks_of(shown)).items() if value in shown}
    summaries = {(s.parameters[groups], s.parameters[by]): s for s in summarise(measured, metric, (groups, by))}
    bars_by_group = {
        str(name): [
            mean_bar(summaries[name, value], look, scale) if (name, value) in summaries else None
            for value, look in looks.items()
        ]
        for name in values_of(measured, groups)
    }
    return stacked_bars([("", bars_by_group)], measured, height_in=height_in, **plot)


def mean_bar(summary: Summary, look: Look, scale: float = 1.0) -> Bar:
    """Returns the bar of a mean with its 95 % interval; `scale` is the factor from the metric's unit to the axis's."""
    mean = summary.estimate
    interval = None if mean.low is None or mean.high is None else (mean.low * scale, mean.high * scale)
    return Bar([(look, mean.value * scale)], summary.verdict, interval, summary.parameters)


def _measured(cells: Iterable[CellResult], metric: str, parameter: str) -> list[CellResult]:
    return [cell for cell in cells if metric in cell.measurement.metrics and parameter in cell.cell.parameters]
