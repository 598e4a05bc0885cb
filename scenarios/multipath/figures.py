"""The figures that the experiments on several paths share: what a Gbit/s costs, and courses over time."""

import statistics
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from results.figures import style
from results.figures.bar_groups import Bar, stacked_bars
from results.figures.charts import looks_of
from results.figures.over_time import Curve, TimePanel, lines_over_time
from results.figures.style import Look
from results.records import CellResult, ParameterValue, Series, Verdict
from results.statistics.estimates import group, usable

_SENDER = Look("sender: program and tunnel", style.BLUE)
_RECEIVER = Look("receiver: program and tunnel", style.ORANGE, hatch="///")
_LINKS = Look("links, and kernels on arrival", style.MUTED, hatch="...")
_EMPTY = Series("", (), ())


def costs(
    cells: Sequence[CellResult],
    *,
    groups: str,
    panels: str,
    panel_titles: Mapping[ParameterValue, str] = {},
    title: str,
    x_label: str,
) -> Figure | None:
    """Processor time per Gbit/s by iperf3; None for no cells.

    Args:
        cells: those of one run.
        groups: the parameter on the horizontal axis.
        panels: the parameter of which each value has a plot.
        panel_titles: of its values; the values themselves by default.
        title: says what is shown.
        x_label: what the groups are.
    """
    measured = [cell for cell in cells if "cpu_total" in cell.measurement.metrics]
    if not measured:
        return None
    plots = [
        (
            panel_titles.get(panel, str(panel)),
            {str(name): [_bar(own)] for (name,), own in group(members, (groups,)).items()},
        )
        for (panel,), members in group(measured, (panels,)).items()
    ]
    return stacked_bars(
        plots,
        measured,
        title=title,
        x_label=x_label,
        y_label="% of a core per Gbit/s",
        height_in=1.9 * len(plots) + 0.6,
    )


def courses(
    cells: Sequence[CellResult],
    series: str,
    *,
    panels: str,
    panel_titles: Mapping[ParameterValue, str] = {},
    title: str,
    y_label: str,
    scale: float = 1.0,
) -> Figure | None:
    """A quantity over time, a curve for each configuration; None if no cell has it.

    Args:
        cells: those that are to be shown.
        series: its name.
        panels: the parameter of which each value has a plot.
        panel_titles: of its values; the values themselves by default.
        title: says what is shown.
        y_label: what the vertical axis shows, with its unit.
        scale: factor from the series' unit to the axis's.
    """
    shown = [cell for cell in cells if cell.measurement.series.get(series, _EMPTY).values]
    if not shown:
        return None
    looks = looks_of(sorted({str(cell.cell.parameters["configuration"]) for cell in shown}))
    plots = [
        TimePanel(
            panel_titles.get(panel, str(panel)),
            [
                _curve(looks[str(name)], own, series, scale)
                for (name,), own in group(members, ("configuration",)).items()
            ],
        )
        for (panel,), members in group(shown, (panels,)).items()
    ]
    return lines_over_time(plots, shown, title=title, y_label=y_label, panel_height_in=2.4)


def _curve(look: Look, cells: Sequence[CellResult], series: str, scale: float) -> Curve:
    good = usable(cells)
    rest = [cell for cell in cells if cell not in good]
    return Curve(look, *([cell.measurement.series[series] for cell in part] for part in (good, rest)), scale)


def _bar(cells: Sequence[CellResult]) -> Bar:
    used = usable(cells) or list(cells)
    parts = [
        (look, statistics.fmean(part[index] for part in map(_parts, used)))
        for index, look in enumerate((_SENDER, _RECEIVER, _LINKS))
    ]
    return Bar(parts, Verdict.worst([cell.certificate.verdict for cell in used]))


def _parts(cell: CellResult) -> tuple[float, ...]:
    found = {name: metric.value for name, metric in cell.measurement.metrics.items()}
    return tuple(found[name] / (found["goodput"] / 1e9) for name in ("cpu_sender", "cpu_receiver", "cpu_links"))
