"""The two charts that most experiments need: without them each would put the same pieces together again."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from results.figures import style
from results.figures.figures import LoadPanel, Look, Points, grouped_by_load
from results.records import CellResult, ParameterValue, Verdict
from results.statistics.estimates import Summary, summarise
from results.summary.badge import badge_text, overall

_COLOURS = (style.BLUE, style.VERMILLION, style.GREEN, style.ORANGE, style.PURPLE, style.SKY, style.INK, style.MUTED)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_HATCHES = ("", "///", "...", "xxx", "\\\\\\", "+++", "ooo", "---")

References = Mapping[str, Sequence[tuple[float, float]]]
"""Dashed lines by label: (parameter, value) pairs to be joined."""


def looks_of(values: Iterable[ParameterValue], labels: Mapping[ParameterValue, str] = {}) -> dict[ParameterValue, Look]:
    """A look for each value of what is compared, told apart by colour and by marker or hatch too."""
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
    """A metric against a numeric parameter, a line per value of another; None if no cell measured it.

    Args:
        cells: those of one run.
        metric: its name.
        x: the parameter on the horizontal axis.
        by: the parameter that makes the lines.
        title: says what is shown.
        x_label: the horizontal axis, with its unit.
        y_label: the vertical axis, with its unit.
        scale: factor from the metric's unit to the axis's.
        looks: of each value of `by`, in the legend's order; chosen by default.
        panels: a third parameter: a plot for each of its values, side by side.
        panel_titles: of its values; the values themselves by default.
        references: in every plot.
        logarithmic: whether the vertical axis is.
    """
    measured = [cell for cell in cells if metric in cell.measurement.metrics and x in cell.cell.parameters]
    if not measured:
        return None
    looks = looks or looks_of(_values(measured, by))
    parts = [(value, _having(measured, panels, value)) for value in _values(measured, panels)] if panels else []
    return grouped_by_load(
        [
            LoadPanel(
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
    """A metric as bars with 95 % intervals, a group per value of one parameter; None if no cell measured it.

    Args:
        cells: those of one run.
        metric: its name.
        groups: the parameter that makes the groups, in the cells' order.
        by: the parameter that makes the bars of a group.
        title: says what is shown.
        x_label: what the groups are.
        y_label: the vertical axis, with its unit.
        scale: factor from the metric's unit to the axis's.
        looks: of each value of `by`, in the order of the bars, whether measured or not; chosen by default.
        level: a dashed line: its label, and its value on the axis.
        height_in: of the plot, in inches.
    """
    measured = [cell for cell in cells if metric in cell.measurement.metrics and groups in cell.cell.parameters]
    if not measured:
        return None
    shown = _values(measured, by)
    looks = {value: look for value, look in (looks or looks_of(shown)).items() if value in shown}
    names = list(_values(measured, groups))
    found = {(s.parameters[groups], s.parameters[by]): s for s in summarise(measured, metric, (groups, by))}
    with style.drawing():
        figure = style.new_figure(height_in, title, badge_text(measured), overall(measured))
        axes = figure.subplots()
        handles: dict[str, object] = {}
        for index, (value, look) in enumerate(looks.items()):
            own = [(place, found[name, value]) for place, name in enumerate(names) if (name, value) in found]
            if own:
                _draw(axes, look, own, index, len(looks), scale)
                handles[look.label] = Patch(facecolor=look.colour, hatch=look.hatch, edgecolor="white")
        if level is not None:
            handles[level[0]] = axes.axhline(level[1], color=style.INK, linestyle=(0, (4, 3)), linewidth=1)
        axes.set_xticks(range(len(names)), [str(name) for name in names])
        axes.grid(axis="x", visible=False)
        style.plain_axes(axes, x_label, y_label)
        style.add_legend(figure, handles)
    return figure


def _draw(axes: Axes, look: Look, placed: Sequence[tuple[int, Summary]], index: int, count: int, scale: float) -> None:
    """Bars of one look; those that may not be believed are pale and crossed."""
    width = 0.8 / count
    for place, summary in placed:
        x, value = place + (index - (count - 1) / 2) * width, summary.estimate.value * scale
        unusable = summary.verdict is Verdict.UNUSABLE
        axes.bar(
            x,
            value,
            width * 0.9,
            facecolor=look.colour,
            edgecolor="white",
            hatch=look.hatch,
            linewidth=0.5,
            alpha=0.3 if unusable else 1.0,
        )
        if unusable:
            axes.plot([x], [value], marker="x", color=style.MUTED, linestyle="none")
        elif summary.estimate.low is not None and summary.estimate.high is not None:
            reach = np.array([[value - summary.estimate.low * scale], [summary.estimate.high * scale - value]])
            axes.errorbar([x], [value], yerr=np.maximum(reach, 0), color=style.INK, elinewidth=1.1, capsize=2.5)


def _values(cells: Iterable[CellResult], parameter: str) -> list[ParameterValue]:
    """A parameter's values; numbers in order, words as they come."""
    values = list(dict.fromkeys(cell.cell.parameters[parameter] for cell in cells if parameter in cell.cell.parameters))
    numeric = all(isinstance(value, (int, float)) for value in values)
    return sorted(values) if numeric else sorted(values, key=str)


def _having(cells: Iterable[CellResult], parameter: str, value: ParameterValue) -> list[CellResult]:
    return [cell for cell in cells if cell.cell.parameters.get(parameter) == value]
