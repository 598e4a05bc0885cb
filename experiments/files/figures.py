"""Figures of an experiment file: bars of each measure, by its first two parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from results.figures.bar_groups import stacked_bars
from results.figures.charts import looks_of, mean_bar
from results.figures.drawing import Figures
from results.records import CellResult
from results.statistics.estimates import summarise, values_of
from results.summary.numbers import scale

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(units: Mapping[str, str], parameters: Sequence[str], question: str) -> Figures:
    """Returns a figure of each metric; none if nothing varies.

    Args:
        units: of the metrics, by name.
        parameters: names of the parameters.
        question: title of all figures.
    """
    if not parameters:
        return Figures()
    return Figures(**{name: partial(_drawn, metric=name, parameters=parameters, title=question) for name in units})


def _drawn(cells: Sequence[CellResult], metric: str, parameters: Sequence[str], title: str) -> Figure | None:
    measured = [cell for cell in cells if metric in cell.measurement.metrics]
    if not measured:
        return None
    names = parameters[:2]
    summaries = {tuple(s.parameters.values()): s for s in summarise(measured, metric, names)}
    looks = looks_of(values_of(measured, names[1]) if len(names) > 1 else [metric])
    factor, unit = scale([s.estimate.value for s in summaries.values()], next(iter(summaries.values())).unit)
    bars = {
        str(group): [
            mean_bar(summary, look, factor) if (summary := summaries.get((group, value)[: len(names)])) else None
            for value, look in looks.items()
        ]
        for group in values_of(measured, names[0])
    }
    label = metric if unit == "1" else f"{metric} ({unit})"
    return stacked_bars([("", bars)], measured, title=title, x_label=names[0], y_label=label)
