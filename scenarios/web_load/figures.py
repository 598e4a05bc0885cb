"""The figures of the MPTCP load paper (Hou et al. 2020): without them nothing could be laid beside its Figures 2 to 5.

All are drawn from cells as they stand in the store. Their parameters are `protocol` (`tcp`, `mptcp`) and `load`
(offered requests per second).
"""

import statistics
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from results.figures import style
from results.figures.bar_groups import Bar, stacked_bars
from results.figures.over_parameter import ParameterPanel, Points, lines_over_parameter
from results.figures.over_time import Curve, TimePanel, lines_over_time
from results.figures.style import Look
from results.records import CellResult, Series, Verdict
from results.statistics.estimates import summarise, usable

PROTOCOLS = ("tcp", "mptcp")
SEGMENTS = {"h1_h2": "H1-H2: web server to students", "h2_h3": "H2-H3: web server and database"}
PATHS = ("a", "b")
_BY_PATH = tuple(f"throughput_{segment}_{path}" for segment in SEGMENTS for path in PATHS)

_X_LABEL = "offered load (requests/s)"
_MEGA = 1e-6


def figures(cells: Sequence[CellResult], folder: str | Path) -> list[Path]:
    """Draws every figure that the cells hold data for, as PNG and SVG.

    Args:
        cells: the cells of one run.
        folder: where the files go; made if it is missing.

    Returns:
        The files, in the paper's order; none for no cells.
    """
    drawn = {
        "fig2_throughput": _fig2_throughput(cells),
        "fig3_throughput_between_hosts": _fig3_by_path(cells),
        "fig3_throughput_between_hosts_over_time": _fig3_over_time(cells),
        "fig4_error_rate": _fig4_error_rate(cells),
        "fig5_run_time": _fig5_run_time(cells),
        "fig6_latency": _fig6_latency(cells),
    }
    return [path for name, figure in drawn.items() if figure for path in style.save(figure, folder, name)]


def _fig2_throughput(cells: Sequence[CellResult]) -> Figure | None:
    cells = _with_series(cells, "requests_per_s")
    if not cells:
        return None
    panels = [
        TimePanel(
            f"{load:.4g} requests/s offered",
            [_curve(_at(cells, protocol, load), "requests_per_s", _look(protocol)) for protocol in PROTOCOLS],
            level=load,
            mark_s=_metric_mean(_at(cells, None, load), "ramp"),
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
    panels = [
        (
            heading,
            {
                f"{load:.4g}": [
                    _bar(_at(cells, protocol, load), protocol, segment)
                    for protocol in PROTOCOLS
                    if _at(cells, protocol, load)
                ]
                for load in _loads(cells)
            },
        )
        for segment, heading in SEGMENTS.items()
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
    in_use = {
        (cell.cell.parameters["protocol"], path)
        for cell in cells
        for segment in SEGMENTS
        for path in PATHS
        if any(cell.measurement.series[f"throughput_{segment}_{path}"].values)
    }
    panels = [
        TimePanel(
            f"{load:.4g} requests/s, {heading.split(':')[0]}",
            [
                _curve(_at(cells, protocol, load), f"throughput_{segment}_{path}", _path_look(protocol, path), _MEGA)
                for protocol in PROTOCOLS
                for path in PATHS
                if (protocol, path) in in_use
            ],
            mark_s=_metric_mean(_at(cells, None, load), "ramp"),
        )
        for load in _loads(cells)
        for segment, heading in SEGMENTS.items()
    ]
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
    return _against_load(
        cells,
        "error_rate",
        title="Requests that failed",
        y_label="error rate (% of requests)",
    )


def _fig5_run_time(cells: Sequence[CellResult]) -> Figure | None:
    references = {
        label: [(float(s.parameters["load"]), s.estimate.value) for s in summarise(cells, metric, by=("load",))]
        for label, metric in (("schedule: run time if nothing is late", "schedule"), ("ramp: all have started", "ramp"))
    }
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
    kinds = {"service": ("--", "service"), "intended": ("-", "intended")}
    panels = [
        ParameterPanel(
            [
                Points(Look(f"{percentile}, {since}", colour, marker, line), summaries)
                for kind, (line, since) in kinds.items()
                for percentile, (colour, marker) in shades.items()
                if (summaries := summarise(of_protocol, f"latency_{kind}_{percentile}", by=("load",)))
            ],
            title=protocol.upper(),
        )
        for protocol in PROTOCOLS
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


def _against_load(
    cells: Sequence[CellResult],
    metric: str,
    *,
    title: str,
    y_label: str,
    references: dict[str, list[tuple[float, float]]] | None = None,
) -> Figure | None:
    measured = [cell for cell in cells if metric in cell.measurement.metrics]
    points = [
        Points(_look(protocol), summaries)
        for protocol in PROTOCOLS
        if (
            summaries := [
                s for s in summarise(measured, metric, ("protocol", "load")) if s.parameters["protocol"] == protocol
            ]
        )
    ]
    if not points:
        return None
    return lines_over_parameter(
        [ParameterPanel(points, references=references or {})],
        measured,
        title=title,
        x_label=_X_LABEL,
        y_label=y_label,
    )


def _look(protocol: str) -> Look:
    return {
        "tcp": Look("TCP", style.VERMILLION, "s"),
        "mptcp": Look("MPTCP", style.BLUE, "o"),
    }[protocol]


def _path_look(protocol: str, path: str) -> Look:
    second = path == "b"
    colours = {"tcp": (style.VERMILLION, style.ORANGE), "mptcp": (style.BLUE, style.SKY)}
    label = f"{protocol.upper()}, path {path}"
    return Look(label, colours[protocol][second], line="-", hatch="///" if second else "")


def _curve(cells: Sequence[CellResult], name: str, look: Look, scale: float = 1.0) -> Curve:
    good = usable(cells)
    bad = [cell for cell in cells if cell.certificate.verdict is Verdict.UNUSABLE]
    return Curve(look, _series(good, name), _series(bad, name), scale)


def _bar(cells: Sequence[CellResult], protocol: str, segment: str) -> Bar:
    used = usable(cells) or list(cells)
    parts = [
        (
            _path_look(protocol, path),
            statistics.fmean(_over_time(series) for series in _series(used, f"throughput_{segment}_{path}")) * _MEGA,
        )
        for path in PATHS
    ]
    return Bar(parts, Verdict.worst([cell.certificate.verdict for cell in used]))


def _over_time(series: Series) -> float:
    return statistics.fmean(series.values) if series.values else 0.0


def _series(cells: Sequence[CellResult], name: str) -> list[Series]:
    return [cell.measurement.series[name] for cell in cells if name in cell.measurement.series]


def _with_series(cells: Sequence[CellResult], *names: str) -> list[CellResult]:
    return [cell for cell in cells if all(name in cell.measurement.series for name in names)]


def _at(cells: Sequence[CellResult], protocol: str | None, load: float) -> list[CellResult]:
    return [
        cell
        for cell in cells
        if cell.cell.parameters.get("load") == load and protocol in (None, cell.cell.parameters.get("protocol"))
    ]


def _loads(cells: Sequence[CellResult]) -> list[float]:
    return sorted({float(cell.cell.parameters["load"]) for cell in cells if "load" in cell.cell.parameters})


def _metric_mean(cells: Sequence[CellResult], name: str) -> float | None:
    values = [cell.measurement.metrics[name].value for cell in cells if name in cell.measurement.metrics]
    return statistics.fmean(values) if values else None
