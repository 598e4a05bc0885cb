"""Figures that the experiments on several paths share: bars, the cost of a Gbit/s, and transfers over time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from experiments.figures import curve, metric_bars, stacked_metrics
from results.figures import style
from results.figures.charts import looks_of
from results.figures.drawing import Draw
from results.figures.over_time import TimePanel, lines_over_time
from results.figures.style import Look
from results.records import CellResult, ParameterValue
from results.statistics.estimates import group

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COSTS = {
    "cpu_sender": Look("sender: program and tunnel", style.BLUE),
    "cpu_receiver": Look("receiver: program and tunnel", style.ORANGE, hatch="///"),
    "cpu_links": Look("links, and kernels on arrival", style.MUTED, hatch="..."),
}


def transfer_bars(numbers: tuple[str, str, str, str], unit: str, **chart: object) -> dict[str, Draw]:
    """Returns bar charts of goodput by iperf3 and FTP in Mbit/s or Gbit/s, download time, and processor time.

    The numbers are those of the paper's figures: `fig5` gives `fig5_iperf3`.
    """
    iperf3, ftp, download, cpu = numbers
    scale = {"Mbit/s": 1e-6, "Gbit/s": 1e-9}[unit]
    figures = {
        "goodput": ("Throughput by iperf3", unit, scale),
        "ftp_goodput": ("Throughput of a download by FTP", unit, scale),
        "ftp_download": ("Time of a download by FTP", "time (s)", 1.0),
        "cpu_total": ("Processor time of hosts and links, iperf3", "% of a core", 1.0),
    }
    names = (f"{iperf3}_iperf3", f"{ftp}_ftp", f"{download}_download", f"{cpu}_cpu")
    return dict(zip(names, metric_bars(figures, **chart).values(), strict=True))


def costs(**chart: Any) -> Draw:
    """Returns a figure of the processor time per Gbit/s by iperf3; the chart's arguments as for `stacked_metrics`."""
    return partial(
        stacked_metrics,
        parts=_COSTS,
        per=lambda cell: cell.measurement.metrics["goodput"].value / 1e9,
        panel_height_in=1.9,
        title="What 1 Gbit/s by iperf3 costs",
        y_label="% of a core per Gbit/s",
        **chart,
    )


def over_time(
    cells: Sequence[CellResult],
    series: str,
    *,
    panels: str,
    panel_titles: Mapping[ParameterValue, str] = {},
    title: str,
    y_label: str,
    scale: float = 1.0,
) -> Figure | None:
    """Draws a quantity over time, a curve for each configuration; returns None if no cell has it.

    The parameter `panels` makes the plots; `scale` is the factor from the series' unit to that of the axis.
    """
    shown = [cell for cell in cells if (stored := cell.measurement.series.get(series)) and stored.values]
    if not shown:
        return None
    looks = looks_of(sorted({str(cell.cell.parameters["configuration"]) for cell in shown}))
    plots = [
        TimePanel(
            panel_titles.get(panel, str(panel)),
            [
                curve(of_configuration, series, looks[str(name)], scale)
                for (name,), of_configuration in group(members, ("configuration",)).items()
            ],
        )
        for (panel,), members in group(shown, (panels,)).items()
    ]
    return lines_over_time(plots, shown, title=title, y_label=y_label, panel_height_in=2.4)


def only(parameter: str, values: Collection[ParameterValue], draw: Callable[..., Figure | None]) -> Draw:
    """Returns a figure that is drawn from the cells with one of some values of a parameter."""
    return lambda cells: draw([cell for cell in cells if cell.cell.parameters[parameter] in values])
