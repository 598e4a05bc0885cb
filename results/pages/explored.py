"""Charts of pages alone: means of runs on the same axes, and series over time."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from results.figures.chart import Chart, Kind, Panel, Trace, compact, in_script, words_of
from results.figures.charts import looks_of
from results.figures.over_parameter import ParameterPanel, Points, described, places_of
from results.figures.style import Look
from results.records import CellResult, Run, Series
from results.statistics.estimates import Summary, values_of
from results.summary.means import summaries
from results.summary.numbers import parameter_text, scale

MAX_POINTS = 1000
"""Maximum number of values of a series on a page; longer ones are averaged."""

_MAX_PANELS, _MAX_LINES = 12, 24
_SPANS = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "s"))


def means_chart(runs: Sequence[Run], metrics: Sequence[str], *, linked: bool = False) -> Chart | None:
    """Describes the means of some runs on the same axes, a plot for each metric; None if nothing varies.

    The parameter with the most numbers is on the horizontal axis; the others, and the runs, make the lines.
    Values lead to the cells of the first run on the same page; `linked` to those on the runs' pages of the dashboard.
    """
    cells = [cell for _, each in runs for cell in each]
    parameter = _axis(cells)
    if parameter is None:
        return None
    panels = [panel for metric in metrics[:_MAX_PANELS] if (panel := _panel(runs, metric, parameter, linked))]
    return Chart("Means", parameter.replace("_", " "), "", panels) if panels else None


def _axis(cells: Sequence[CellResult]) -> str | None:
    names = dict.fromkeys(name for cell in cells for name in cell.cell.parameters)
    values = {name: values_of(cells, name) for name in names}
    numbers = {name: sum(not isinstance(value, str | bool) for value in values[name]) for name in names}
    best = max(names, key=lambda name: (numbers[name] > 1, numbers[name], len(values[name])), default=None)
    return best if best is not None and len(values[best]) > 1 else None


def _panel(runs: Sequence[Run], metric: str, parameter: str, linked: bool) -> Panel | None:
    means = [[each for each in summaries(cells, metric) if parameter in each.parameters] for _, cells in runs]
    shown = [each for of_run in means for each in of_run]
    if len({each.unit for each in shown}) != 1:
        return None
    factor, unit = scale([each.estimate.value for each in shown], shown[0].unit)
    places = places_of(each.parameters[parameter] for each in shown)
    others = list(dict.fromkeys(_others(each, parameter) for each in shown))
    by_run = len(others) == 1
    looks = list(looks_of(range(len(runs) if by_run else len(others))).values())
    traces: list[Trace] = []
    for number, ((record, _), of_run) in enumerate(zip(runs, means, strict=True)):
        for place, words in enumerate(others):
            label = " ".join(filter(None, (record.run_id if len(runs) > 1 else "", words))) or "mean"
            look = Look(label, looks[number if by_run else place].colour, line="--" if number else "-")
            points = Points(look, [each for each in of_run if _others(each, parameter) == words], factor)
            drawn = described(ParameterPanel([points]), parameter, places).traces
            run_id = record.run_id if linked else ""
            traces += [_linked(trace, run_id) for trace in drawn] if linked or number else drawn
    words_on_axis = any(isinstance(value, str) for value in places)
    ticks = [(at, parameter_text(value)) for value, at in places.items()] if words_on_axis else []
    return Panel(metric.replace("_", " "), traces[:_MAX_LINES], ticks, y_label=f"({unit})")


def _others(summary: Summary, parameter: str) -> str:
    return " ".join(parameter_text(value) for name, value in summary.parameters.items() if name != parameter)


def _linked(trace: Trace, run_id: str) -> Trace:
    links = [cells_address(run_id, words) for words in trace.cells] if run_id else []
    return replace(trace, links=links, cells=())


def cells_address(run_id: str, words: Sequence[str]) -> str:
    """Returns the address of the page of a run on which the rows of some cells are marked."""
    return f"/runs/{quote(run_id, safe='')}#of:{'&'.join(quote(word, safe='') for word in words)}"


def series_chart(series: Mapping[str, Series]) -> Chart | None:
    """Describes series over time, a plot for each; None if none has values."""
    panels = []
    for name, one in series.items():
        factor, unit = scale(one.values, one.unit)
        times, values = thinned(one)
        if times:
            trace = Trace(name, "#0072B2", times, [value * factor for value in values])
            panels.append(Panel(name.replace("_", " "), [trace], y_label=f"({unit})"))
    return Chart("Over time", "time (s)", "", panels) if panels else None


def past_chart(title: str, name: str, series: Series, notes: Sequence[str]) -> Chart:
    """Describes measurements at seconds since 1970, by the time between each and the newest one.

    Args:
        name: of what was measured.
        notes: words that are shown with each measurement.
    """
    factor, unit = scale(series.values, series.unit)
    newest, span_s = series.times_s[-1], series.times_s[-1] - series.times_s[0]
    divisor, word = next(((s, word) for s, word in _SPANS if span_s >= 2 * s), _SPANS[-1])
    times = [(time - newest) / divisor for time in series.times_s]
    trace = Trace(name, "#0072B2", times, [value * factor for value in series.values], Kind.MARKED, notes=notes)
    return Chart(title, f"before the newest ({word})", "", [Panel("", [trace], y_label=f"{name} ({unit})")])


def over_time(runs: Sequence[Run], *, linked: bool = False) -> str:
    """Returns the series of the cells of some runs, as JSON for over_time.js; `linked` as in `means_chart`."""
    described = [
        {
            "run": record.run_id,
            "label": each.cell.label,
            "of": words_of(each.cell.parameters, each.cell.repetition) if number == 0 and not linked else (),
            "link": cells_address(record.run_id, words_of(each.cell.parameters, each.cell.repetition))
            if linked
            else "",
            "series": {name: _columns(one) for name, one in each.measurement.series.items() if one.values},
        }
        for number, (record, cells) in enumerate(runs)
        for each in cells
        if any(one.values for one in each.measurement.series.values())
    ]
    return in_script(compact(described))


def _columns(series: Series) -> dict[str, Any]:
    times, values = thinned(series)
    return {"unit": series.unit, "x": times, "y": values}


def thinned(series: Series) -> tuple[list[float], list[float]]:
    """Returns times and values of a series, or means of neighbours if there are too many."""
    step = -(-len(series.values) // MAX_POINTS) or 1
    starts = range(0, len(series.values), step)
    starts = starts[: len(series.values) // step] or starts  # fewer values at the end do not make a mean
    return (
        [series.times_s[start] for start in starts],
        [sum(value / step for value in series.values[start : start + step]) for start in starts],
    )
