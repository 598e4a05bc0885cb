"""The figures of the MPTCP load paper (Hou et al. 2020), with its numbers, and one of latency.

Cells have the parameters `protocol` (`tcp`, `mptcp`) and `load` (offered requests per second).
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from experiments.figures import curve
from results.figures import style
from results.figures.bar_groups import Bar, stacked_bars
from results.figures.charts import curves
from results.figures.drawing import Draw, Figures
from results.figures.over_parameter import ParameterPanel, Points, lines_over_parameter
from results.figures.over_time import TimePanel, lines_over_time
from results.figures.style import Look
from results.records import CellResult, ParameterValue, Verdict
from results.statistics.estimates import summarise, usable
from scenarios.web_load.load import mean_value
from scenarios.web_load.study import study_figure, varied

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOKS: Mapping[ParameterValue, Look] = {
    "tcp": Look("TCP", style.VERMILLION, "s"),
    "mptcp": Look("MPTCP", style.BLUE, "o"),
}
SEGMENTS = {"h1_h2": "H1-H2: web server to students", "h2_h3": "H2-H3: web server and database"}
PATHS = ("a", "b")
_PATH_COLOURS: Mapping[ParameterValue, tuple[str, str]] = {
    "tcp": (style.VERMILLION, style.ORANGE),
    "mptcp": (style.BLUE, style.SKY),
}
_BY_PATH = tuple(f"throughput_{segment}_{path}" for segment in SEGMENTS for path in PATHS)

_X_LABEL = "offered load (requests/s)"
_MEGA = 1e-6
_against_load = partial(curves, x="load", by="protocol", looks=LOOKS, x_label=_X_LABEL)


def mptcp_load_figures() -> Figures:
    """Returns each figure by its name: the paper's in its order, then those of a study."""
    papers: Figures = {
        "fig2_throughput": _fig2_throughput,
        "fig3_throughput_between_hosts": _fig3_by_path,
        "fig3_throughput_between_hosts_over_time": _fig3_over_time,
        "fig4_error_rate": _fig4_error_rate,
        "fig5_run_time": _fig5_run_time,
        "fig6_latency": _fig6_latency,
    }
    return {name: _unless_study(draw) for name, draw in papers.items()} | {
        "study_throughput": partial(
            study_figure,
            metric="requests_per_s",
            looks=LOOKS,
            title="What matters: throughput by each factor, the others as usual",
            y_label="requests/s",
        ),
        "study_latency": partial(
            study_figure,
            metric="latency_intended_p99",
            looks=LOOKS,
            title="What matters: what a student in 100 waits at least, by each factor, the others as usual",
            y_label="99th percentile (ms)",
        ),
    }


def _unless_study(draw: Draw) -> Draw:
    """Draws a figure unless the run varies more than protocol and load."""
    return lambda cells: None if varied(cells) else draw(cells)


def _fig2_throughput(cells: Sequence[CellResult]) -> Figure | None:
    cells = _with_series(cells, "requests_per_s")
    if not cells:
        return None
    ramps_s = _means_by_load(cells, "ramp")
    panels = [
        TimePanel(
            f"{load:.4g} requests/s offered",
            [curve(_at(cells, protocol, load), "requests_per_s", look) for protocol, look in LOOKS.items()],
            level=load,
            mark_s=ramps_s.get(load),
        )
        for load in _loads(cells)
    ]
    return lines_over_time(
        panels,
        cells,
        title="Throughput over time, TCP against MPTCP",
        y_label="requests/s",
        level_label="offered rate",
        mark_label="end of the ramp",
    )


def _fig3_by_path(cells: Sequence[CellResult]) -> Figure | None:
    cells = _with_series(cells, *_BY_PATH)
    if not cells:
        return None

    def bars(load: float, segment: str) -> list[Bar]:
        measured = {protocol: _at(cells, protocol, load) for protocol in LOOKS}
        return [_bar(members, protocol, segment) for protocol, members in measured.items() if members]

    loads = _loads(cells)
    panels = [
        (heading, {f"{load:.4g}": bars(load, segment) for load in loads}) for segment, heading in SEGMENTS.items()
    ]
    return stacked_bars(
        panels,
        cells,
        title="Throughput between hosts, by path (mean over the run)",
        x_label=_X_LABEL,
        y_label="throughput (Mbit/s)",
    )


def _fig3_over_time(cells: Sequence[CellResult]) -> Figure | None:
    cells = _with_series(cells, *_BY_PATH)
    if not cells:
        return None
    used = {
        (cell.cell.parameters["protocol"], name[-1])
        for cell in cells
        for name in _BY_PATH
        if any(cell.measurement.series[name].values)
    }
    ramps_s = _means_by_load(cells, "ramp")

    def panel(load: float, segment: str, heading: str) -> TimePanel:
        paths = [
            curve(_at(cells, protocol, load), f"throughput_{segment}_{path}", _path_look(protocol, path), _MEGA)
            for protocol in LOOKS
            for path in PATHS
            if (protocol, path) in used
        ]
        return TimePanel(f"{load:.4g} requests/s, {heading.split(':')[0]}", paths, mark_s=ramps_s.get(load))

    panels = [panel(load, *segment) for load in _loads(cells) for segment in SEGMENTS.items()]
    return lines_over_time(
        panels,
        cells,
        title="Throughput between hosts over time, by path",
        y_label="Mbit/s",
        mark_label="end of the ramp",
        panel_height_in=1.5,
        compare_columns=False,
    )


def _fig4_error_rate(cells: Sequence[CellResult]) -> Figure | None:
    if not any(
        cell.measurement.metrics["error_rate"].value for cell in cells if "error_rate" in cell.measurement.metrics
    ):
        return None  # a plot of zeros; the answer says it in words
    return _against_load(cells, "error_rate", title="Requests that failed", y_label="error rate (% of requests)")


def _fig5_run_time(cells: Sequence[CellResult]) -> Figure | None:
    labels = {"schedule: run time if nothing is late": "schedule", "ramp: all have started": "ramp"}
    references = {label: list(_means_by_load(cells, metric).items()) for label, metric in labels.items()}
    return _against_load(
        cells,
        "run_time",
        title="Total run time",
        y_label="run time (s)",
        references={label: pairs for label, pairs in references.items() if pairs},
    )


def _fig6_latency(cells: Sequence[CellResult]) -> Figure | None:
    measured = [cell for cell in cells if any(name.startswith("latency_") for name in cell.measurement.metrics)]
    shades = {"p50": (style.GREEN, "o"), "p95": (style.BLUE, "s"), "p99": (style.PURPLE, "^")}
    lines = {"service": "--", "intended": "-"}
    panels = [
        ParameterPanel(
            [
                Points(Look(f"{percentile}, {kind}", colour, marker, line), summaries)
                for kind, line in lines.items()
                for percentile, (colour, marker) in shades.items()
                if (summaries := summarise(of_protocol, f"latency_{kind}_{percentile}", by=("load",)))
            ],
            title=look.label,
        )
        for protocol, look in LOOKS.items()
        if (of_protocol := [cell for cell in measured if cell.cell.parameters.get("protocol") == protocol])
    ]
    if not panels:
        return None
    return lines_over_parameter(
        panels,
        measured,
        title="Response time: from sending (service), from the intended moment (intended)",
        x_label=_X_LABEL,
        y_label="response time (ms)",
        logarithmic=True,
    )


def _path_look(protocol: ParameterValue, path: str) -> Look:
    number = PATHS.index(path)
    return Look(f"{LOOKS[protocol].label}, path {path}", _PATH_COLOURS[protocol][number], hatch="///" * number)


def _bar(cells: Sequence[CellResult], protocol: ParameterValue, segment: str) -> Bar:
    used = usable(cells) or list(cells)
    series = {path: [cell.measurement.series[f"throughput_{segment}_{path}"] for cell in used] for path in PATHS}
    parts = [
        (_path_look(protocol, path), statistics.fmean(map(mean_value, of_path)) * _MEGA)
        for path, of_path in series.items()
    ]
    return Bar(parts, Verdict.worst([cell.certificate.verdict for cell in used]))


def _with_series(cells: Sequence[CellResult], *names: str) -> list[CellResult]:
    return [cell for cell in cells if all(name in cell.measurement.series for name in names)]


def _at(cells: Sequence[CellResult], protocol: ParameterValue, load: float) -> list[CellResult]:
    wanted = {"protocol": protocol, "load": load}
    return [cell for cell in cells if wanted.items() <= cell.cell.parameters.items()]


def _loads(cells: Sequence[CellResult]) -> list[float]:
    return sorted({float(cell.cell.parameters["load"]) for cell in cells if "load" in cell.cell.parameters})


def _means_by_load(cells: Sequence[CellResult], metric: str) -> dict[float, float]:
    return {float(each.parameters["load"]): each.estimate.value for each in summarise(cells, metric, by=("load",))}
