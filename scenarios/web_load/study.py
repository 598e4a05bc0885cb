"""A study of what matters: each varied factor by itself, while the others have their usual values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from results.figures.bar_groups import Bar, stacked_bars
from results.figures.charts import mean_bar
from results.figures.style import Look
from results.records import CellResult, ParameterValue
from results.statistics.estimates import Estimate, group, growth_percent, summarise, usable, values_of
from scenarios.web_load.set_up import FACTORS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SMALL_PERCENT = 2.0
"""Smallest change that matters, even if the interval excludes 0."""

_PAPERS_AXES = ("protocol", "load")
_PANEL_IN = 1.9


class Effect(NamedTuple):
    """The change of the requests per second, in per cent, between the usual value of a factor and another one."""

    factor: str
    usual: ParameterValue
    value: ParameterValue
    protocol: str
    change: Estimate

    @property
    def matters(self) -> bool:
        """Whether the change is large enough to matter, and significant."""
        return abs(self.change.value) >= SMALL_PERCENT and not self.change.contains(0)


def varied(cells: Sequence[CellResult]) -> list[str]:
    """Returns the factors that vary between cells, besides protocol and load."""
    names = cells[0].cell.parameters if cells else ()
    return [name for name in names if name not in _PAPERS_AXES]


def effects(cells: Sequence[CellResult]) -> Iterator[Effect]:
    """Yields the effect of each value of each factor at the highest load."""
    cells = usable(cells)
    highest = max((float(cell.cell.parameters["load"]) for cell in cells), default=0.0)
    at_highest = [cell for cell in cells if float(cell.cell.parameters["load"]) == highest]
    for factor in varied(cells):
        for (protocol,), own in group(_others_as_usual(at_highest, factor), ["protocol"]).items():
            rates = {value: _rates(members) for (value,), members in group(own, [factor]).items()}
            usual = _usual(factor, list(rates))
            for value in rates:
                if value != usual and all(map(sum, (rates[usual], rates[value]))):
                    yield Effect(factor, usual, value, str(protocol), growth_percent(rates[usual], rates[value]))


def study_figure(
    cells: Sequence[CellResult], metric: str, looks: Mapping[ParameterValue, Look], title: str, y_label: str
) -> Figure | None:
    """Draws a metric by each value of each factor, with a plot for each load; returns None if no factor varies."""
    cells = [cell for cell in cells if metric in cell.measurement.metrics]
    if not (factors := varied(cells)):
        return None
    panels = [
        (
            f"{load:g} requests/s offered",
            {
                f"{factor.replace('_', ' ')}\n{value}": _bars(members, metric, looks)
                for factor in factors
                for (value,), members in group(_others_as_usual(of_load, factor), [factor]).items()
            },
        )
        for (load,), of_load in group(cells, ["load"]).items()
    ]
    height_in = 1.0 + _PANEL_IN * len(panels)
    return stacked_bars(panels, cells, title=title, x_label="", y_label=y_label, height_in=height_in)


def _bars(cells: Sequence[CellResult], metric: str, looks: Mapping[ParameterValue, Look]) -> list[Bar | None]:
    means = {summary.parameters["protocol"]: summary for summary in summarise(cells, metric, ["protocol"])}
    return [mean_bar(means[protocol], look) if protocol in means else None for protocol, look in looks.items()]


def _others_as_usual(cells: Sequence[CellResult], factor: str) -> list[CellResult]:
    """Returns the cells in which all other factors have their usual values."""
    usual = {name: _usual(name, values_of(cells, name)) for name in varied(cells) if name != factor}
    return [cell for cell in cells if all(cell.cell.parameters[name] == value for name, value in usual.items())]


def _usual(factor: str, values: Sequence[ParameterValue]) -> ParameterValue:
    """Returns the default of a factor if it was measured, else its first value."""
    default = next((each.default for each in FACTORS if each.name == factor), None)
    return default if default is not None and default in values else values[0]


def _rates(cells: Sequence[CellResult]) -> list[float]:
    return [cell.measurement.metrics["requests_per_s"].value for cell in cells]
