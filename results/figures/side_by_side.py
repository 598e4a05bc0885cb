"""Runs side by side, metric by metric."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from flightpath.clock import Clock
from results.figures import style
from results.figures.charts import looks_of
from results.figures.style import Look
from results.records import CellResult, Run, Verdict
from results.statistics.estimates import Summary
from results.summary.means import summaries
from results.summary.numbers import parameter_text, scale

_ROW_IN, _PANEL_IN = 0.2, 0.55


def side_by_side(runs: Sequence[Run], metrics: Sequence[str]) -> Figure:
    """Draws a plot for each metric with a line for each point of the runs' plans, and a mark on it for each run.

    Error bars are 95 % intervals. A pale cross is a mean of unusable cells.
    A metric that is zero everywhere has no plot.
    """
    labels = [f"{record.run_id}{', virtual time' if record.clock is Clock.VIRTUAL else ''}" for record, _ in runs]
    looks = looks_of(range(len(runs)), dict(enumerate(labels)))
    means = {metric: [_by_point(cells, metric) for _, cells in runs] for metric in metrics}
    shown = [metric for metric in metrics if any(s.estimate.value for each in means[metric] for s in each.values())]
    metrics = shown or metrics
    points = {metric: list(dict.fromkeys(point for each in means[metric] for point in each)) for metric in metrics}
    all_cells = [cell for _, cells in runs for cell in cells]
    with style.drawing():
        heights = [_PANEL_IN + _ROW_IN * len(points[metric]) for metric in metrics]
        figure = style.figure_of_cells(sum(heights) + 0.4, _title(runs), all_cells)
        grid = figure.subplots(len(metrics), 1, squeeze=False, height_ratios=heights)[:, 0]
        handles: dict[str, style.Handle] = {}
        for axes, metric in zip(grid, metrics, strict=True):
            handles |= _draw(axes, metric, points[metric], list(zip(looks.values(), means[metric], strict=True)))
        style.add_legend(figure, handles)
    return figure


def _title(runs: Sequence[Run]) -> str:
    scenarios = dict.fromkeys(record.scenario for record, _ in runs)
    clocks = {record.clock for record, _ in runs}
    return f"{', '.join(scenarios)}: {'real and virtual time' if len(clocks) > 1 else f'{len(runs)} runs'}"


def _by_point(cells: Sequence[CellResult], metric: str) -> dict[str, Summary]:
    means = summaries(cells, metric)
    return {" ".join(map(parameter_text, each.parameters.values())) or "all": each for each in means}


def _draw(
    axes: Axes, metric: str, points: Sequence[str], sides: Sequence[tuple[Look, dict[str, Summary]]]
) -> dict[str, style.Handle]:
    """Returns the legend's handles by label."""
    handles: dict[str, style.Handle] = {}
    shown = [each for _, side in sides for each in side.values()]
    factor, unit = scale([each.estimate.value for each in shown], shown[0].unit if shown else "1")
    for look, side in sides:
        for row, point in enumerate(points):
            if point in side:
                handles |= _mark(axes, row, side[point], factor, look)
    axes.set_yticks(range(len(points)), points, parse_math=False)
    axes.set_ylim(len(points) - 0.5, -0.5)
    axes.set_xlim(left=min(0, axes.get_xlim()[0]))
    style.plain_axes(axes, "", "", f"{metric} ({unit})")
    return handles


def _mark(axes: Axes, row: int, summary: Summary, factor: float, look: Look) -> dict[str, style.Handle]:
    mean = summary.estimate
    if summary.verdict is Verdict.UNUSABLE:
        axes.plot([mean.value * factor], [row], marker="x", color=look.colour, alpha=0.4, linestyle="none")
        return {"unusable": style.cross()}
    reach = None
    if mean.low is not None and mean.high is not None:
        reach = [[(mean.value - mean.low) * factor], [(mean.high - mean.value) * factor]]
    drawn = axes.errorbar(
        [mean.value * factor], [row], xerr=reach, marker=look.marker, color=look.colour, capsize=2.5, linestyle="none"
    )
    return {look.label: drawn}
