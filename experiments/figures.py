"""Charts that several scenarios draw, beyond those in `results.figures.charts`."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from results.figures.bar_groups import Bar, stacked_bars
from results.figures.charts import bars
from results.figures.drawing import Draw
from results.figures.over_time import Curve
from results.figures.style import Look
from results.records import CellResult, ParameterValue, Verdict
from results.statistics.estimates import group, usable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def metric_bars(metrics: Mapping[str, tuple[str, str, float]], **chart: Any) -> dict[str, Draw]:
    """Makes a bar chart of each metric: title, label of the vertical axis, and factor from the metric's unit.

    The `chart` has further arguments for `results.figures.charts.bars`.
    """
    return {
        metric: partial(bars, metric=metric, title=title, y_label=label, scale=scale, **chart)
        for metric, (title, label, scale) in metrics.items()
    }


def stacked_metrics(
    cells: Sequence[CellResult],
    parts: Mapping[str, Look],
    *,
    groups: str,
    panels: str,
    panel_titles: Mapping[ParameterValue, str] = {},
    per: Callable[[CellResult], float] = lambda cell: 1.0,
    panel_height_in: float = 1.6,
    **labels: Any,
) -> Figure | None:
    """Stacks the means of several metrics in one bar, in a plot for each value of a parameter; None without metrics.

    Args:
        parts: the metrics from the bottom up, and how each looks; those that no cell has are left out.
        groups: the parameter that makes the bars; `panels` is the one that makes the plots.
        panel_titles: of its values; the values themselves by default.
        per: what a cell's metrics are divided by.
        panel_height_in: of each plot, in inches.
        labels: `title`, `x_label` and `y_label`, as in `stacked_bars`.
    """
    parts = {name: look for name, look in parts.items() if any(name in cell.measurement.metrics for cell in cells)}
    measured = [cell for cell in cells if parts and parts.keys() <= cell.measurement.metrics.keys()]
    if not measured:
        return None

    def bar(members: Sequence[CellResult]) -> Bar:
        used = usable(members) or list(members)
        means = [statistics.fmean(cell.measurement.metrics[name].value / per(cell) for cell in used) for name in parts]
        verdict = Verdict.worst([cell.certificate.verdict for cell in used])
        return Bar(list(zip(parts.values(), means, strict=True)), verdict)

    plots = [
        (
            panel_titles.get(panel, str(panel)),
            {str(name): [bar(members)] for (name,), members in group(of_panel, (groups,)).items()},
        )
        for (panel,), of_panel in group(measured, (panels,)).items()
    ]
    return stacked_bars(plots, measured, height_in=panel_height_in * len(plots) + 0.6, **labels)


def curve(cells: Sequence[CellResult], series: str, look: Look, scale: float = 1.0) -> Curve:
    """Returns a series of some repetitions over time; those of unusable cells are drawn apart."""
    having = [cell for cell in cells if series in cell.measurement.series]
    good = [cell.measurement.series[series] for cell in usable(having)]
    bad = [cell.measurement.series[series] for cell in having if cell.certificate.verdict is Verdict.UNUSABLE]
    return Curve(look, good, bad, scale)
