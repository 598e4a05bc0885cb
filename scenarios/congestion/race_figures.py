"""Figures of races between congestion controls: over time for each pair, and side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from experiments.figures import curve
from results.figures.charts import bars, looks_of
from results.figures.drawing import Figures
from results.figures.over_time import Curve, TimePanel, lines_over_time
from results.figures.style import Look
from results.records import CellResult, ParameterValue
from results.statistics.estimates import group

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOBODY = "nobody"
"""Name of the missing rival, for a flow that has the link for itself."""


def race_figures() -> Figures:
    """Returns each figure of a race by its name."""
    over_time = {
        f"{series}_over_time": partial(_over_time, series=series, title=title, y_label=label, scale=scale)
        for series, title, label, scale in (
            ("cwnd", "Congestion windows", "window (segments)", 1.0),
            ("goodput", "Goodput", "Mbit/s", 1e-6),
            ("rtt", "Round trips", "round trip (ms)", 1.0),
        )
    }
    side_by_side = {
        name: partial(_side_by_side, metric=metric, title=title, y_label=label, scale=scale)
        for name, metric, title, label, scale in (
            ("goodput_by_rival", "goodput", "Goodput", "Mbit/s", 1e-6),
            ("share", "share", "Share of what both flows carry", "share (%)", 1.0),
            ("rtt_inflation", "rtt_inflation", "Mean round trip over the shortest", "ratio", 1.0),
            ("retransmitted", "retransmitted_share", "Segments sent again", "%", 1.0),
            ("convergence", "convergence", "Time until both flows have the same", "s", 1.0),
        )
    }
    return {**over_time, **side_by_side}


def _looks(cells: Sequence[CellResult]) -> dict[ParameterValue, Look]:
    return looks_of(sorted({str(name) for cell in cells for name in cell.cell.parameters.values()}))


def _side_by_side(cells: Sequence[CellResult], *, metric: str, title: str, y_label: str, scale: float) -> Figure | None:
    return bars(
        cells,
        metric,
        groups="algorithm",
        by="against",
        looks=_looks(cells),
        scale=scale,
        title=f"{title}, by the other flow's algorithm",
        x_label="algorithm",
        y_label=y_label,
        level=("an equal share", 50.0) if metric == "share" else None,
    )


def _over_time(cells: Sequence[CellResult], *, series: str, title: str, y_label: str, scale: float) -> Figure | None:
    """Draws a small plot for each pair: a row per first algorithm, a column per rival."""
    looks, ordered = _looks(cells), sorted(cells, key=_position)
    rivals = dict.fromkeys(cell.cell.parameters["against"] for cell in ordered)
    panels = [
        TimePanel(f"{algorithm} against {against}", _curves(members, looks, series, scale))
        for (algorithm, against), members in group(ordered, ("algorithm", "against")).items()
    ]
    if not panels:
        return None
    # If a restricted run lacks a pair, a column per rival would put different rivals below one another.
    columns = len(rivals) if len(panels) % len(rivals) == 0 and len(rivals) <= 4 else 3
    return lines_over_time(panels, cells, title=title, y_label=y_label, columns=columns, panel_height_in=1.5)


def _curves(
    cells: Sequence[CellResult], looks: Mapping[ParameterValue, Look], series: str, scale: float
) -> list[Curve]:
    parameters = cells[0].cell.parameters
    first, second = looks[str(parameters["algorithm"])], looks[str(parameters["against"])]
    second = replace(second, label=f"{second.label}, second", line="--")
    drawn = [curve(cells, f"{series}_first", first, scale), curve(cells, f"{series}_second", second, scale)]
    return [each for each in drawn if each.repetitions or each.unusable]


def _position(cell: CellResult) -> tuple[str, bool, str]:
    """Returns the sort key of a cell's plot: for each algorithm, the race without a rival first."""
    parameters = cell.cell.parameters
    return str(parameters["algorithm"]), parameters["against"] != NOBODY, str(parameters["against"])
