"""Charts of a metric straight from cells: curves against a numeric parameter, and groups of bars."""

from collections.abc import Iterable, Mapping, Sequence

from matplotlib.figure import Figure

from results.figures import style
from results.figures.bar_groups import Bar, stacked_bars
from results.figures.over_parameter import ParameterPanel, Points, References, lines_over_parameter
from results.figures.style import Look
from results.records import CellResult, ParameterValue
from results.statistics.estimates import Summary, summarise

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
    title: str,
    x_label: str,
    y_label: str,
    scale: float = 1.0,
    looks: Mapping[ParameterValue, Look] | None = None,
    panels: str | None = None,
    panel_titles: Mapping[ParameterValue, str] = {},
    references: References | None = None,
    logarithmic: bool = False,
) -> Figure | None:
    """Draws a metric against a numeric parameter, with a line for each value of another parameter.

    Args:
        cells: the cells of one run.
        metric: the metric's name.
        x: the parameter on the horizontal axis.
        by: the parameter with a line for each of its values.
        title: what is shown.
        x_label: the horizontal axis, with its unit.
        y_label: the vertical axis, with its unit.
        scale: factor from the metric's unit to the axis's.
        looks: of each value of `by`, in the legend's order; by default `looks_of`.
        panels: a third parameter: a plot for each of its values, side by side.
        panel_titles: by its values; by default the values themselves.
        references: reference lines in every plot.
        logarithmic: whether the vertical axis is.

    Returns:
        The figure; None if no cell measured the metric.
    """
    measured = _measured(cells, metric, x)
    if not measured:
        return None
    looks = looks or looks_of(_values(measured, by))
    parts = [(value, _having(measured, panels, value)) for value in _values(measured, panels)] if panels else []
    return lines_over_parameter(
        [
            ParameterPanel(
                [
                    Points(look, summaries, scale)
                    for value, look in looks.items()
                    if (summaries := summarise(_having(part, by, value), metric, (by, x)))
                ],
                title=panel_titles.get(name, str(name)) if panels else "",
                references=references or {},
            )
            for name, part in parts or [("", measured)]
        ],
        measured,
        title=title,
        x_label=x_label,
        y_label=y_label,
        parameter=x,
        logarithmic=logarithmic,
    )


def bars(
    cells: Sequence[CellResult],
    metric: str,
    *,
    groups: str,
    by: str,
    title: str,
    x_label: str,
    y_label: str,
    scale: float = 1.0,
    looks: Mapping[ParameterValue, Look] | None = None,
    level: tuple[str, float] | None = None,
    height_in: float = 3.9,
) -> Figure | None:
    """Draws a metric as bars with 95 % intervals, with a group for each value of a parameter.

    Args:
        cells: the cells of one run.
        metric: the metric's name.
        groups: the parameter with a group for each of its values.
        by: the parameter with a bar for each of its values.
        title: what is shown.
        x_label: what the groups are.
        y_label: the vertical axis, with its unit.
        scale: factor from the metric's unit to the axis's.
        looks: of each value of `by`, measured or not, in the order of the bars; by default `looks_of`.
        level: a reference line: its label, and its value on the axis.
        height_in: height of the plot, in inches.

    Returns:
        The figure; None if no cell measured the metric.
    """
    measured = _measured(cells, metric, groups)
    if not measured:
        return None
    shown = _values(measured, by)
    looks = {value: look for value, look in (looks or looks_of(shown)).items() if value in shown}
    summaries = {(s.parameters[groups], s.parameters[by]): s for s in summarise(measured, metric, (groups, by))}
    bars_by_group = {
        str(name): [
            _bar(summaries[name, value], look, scale) if (name, value) in summaries else None
            for value, look in looks.items()
        ]
        for name in _values(measured, groups)
    }
    return stacked_bars(
        [("", bars_by_group)],
        measured,
        title=title,
        x_label=x_label,
        y_label=y_label,
        height_in=height_in,
        level=level,
    )


def _bar(summary: Summary, look: Look, scale: float) -> Bar:
    mean = summary.estimate
    interval = None if mean.low is None or mean.high is None else (mean.low * scale, mean.high * scale)
    return Bar([(look, mean.value * scale)], summary.verdict, interval)


def _measured(cells: Iterable[CellResult], metric: str, parameter: str) -> list[CellResult]:
    return [cell for cell in cells if metric in cell.measurement.metrics and parameter in cell.cell.parameters]


def _values(cells: Iterable[CellResult], parameter: str) -> list[ParameterValue]:
    """Returns a parameter's values, sorted: by size if all are numbers, otherwise as text."""
    values = list(dict.fromkeys(cell.cell.parameters[parameter] for cell in cells if parameter in cell.cell.parameters))
    numeric = all(isinstance(value, (int, float)) for value in values)
    return sorted(values) if numeric else sorted(values, key=str)


def _having(cells: Iterable[CellResult], parameter: str, value: ParameterValue) -> list[CellResult]:
    return [cell for cell in cells if cell.cell.parameters.get(parameter) == value]
