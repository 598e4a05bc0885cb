"""The figures of a race: windows and goodput over time for each pair, and what it comes to side by side."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from results.figures.charts import bars, looks_of, save_all
from results.figures.over_time import Curve, TimePanel, lines_over_time
from results.figures.style import Look
from results.records import CellResult, ParameterValue
from results.statistics.estimates import group, usable

_OVER_TIME = (
    ("cwnd", "Congestion windows", "window (segments)", 1.0),
    ("goodput", "Goodput", "Mbit/s", 1e-6),
    ("rtt", "Round trips", "round trip (ms)", 1.0),
)
_SIDE_BY_SIDE = (
    ("goodput", "Goodput", "Mbit/s", 1e-6),
    ("share", "Share of what both carry", "share (%)", 1.0),
    ("rtt_inflation", "Mean round trip, of the least", "ratio", 1.0),
    ("retransmitted", "Segments sent again", "%", 1.0),
    ("convergence", "Time until both have the same", "s", 1.0),
)

_OF_ALL = ("goodput", "rtt_inflation", "retransmitted")
"""What there is also against nobody."""


def figures(cells: Sequence[CellResult], folder: str | Path) -> list[Path]:
    """Draws what the cells hold data for, as PNG and SVG."""
    looks = looks_of(sorted({str(name) for cell in cells for name in cell.cell.parameters.values()}))
    drawn: dict[str, Figure | None] = {}
    for quantity, title, label, scale in _OVER_TIME:
        drawn[f"{quantity}_over_time"] = _over_time(cells, looks, quantity, title, label, scale)
    for metric, title, label, scale in _SIDE_BY_SIDE:
        drawn[metric if metric != "goodput" else "goodput_by_rival"] = bars(
            cells,
            metric,
            groups="algorithm",
            by="against",
            looks=looks if metric in _OF_ALL else {name: look for name, look in looks.items() if name != "nobody"},
            scale=scale,
            title=f"{title}, by the other flow's algorithm",
            x_label="algorithm",
            y_label=label,
            level=("an equal share", 50.0) if metric == "share" else None,
        )
    return save_all(drawn, Path(folder))


def _over_time(
    cells: Sequence[CellResult],
    looks: Mapping[ParameterValue, Look],
    quantity: str,
    title: str,
    label: str,
    scale: float,
) -> Figure | None:
    """A small plot for each pair: a row per algorithm that begins, a column per rival."""
    rivals = list(dict.fromkeys(cell.cell.parameters["against"] for cell in sorted(cells, key=_place)))
    panels = [
        TimePanel(f"{algorithm} against {against}", _curves(members, looks, quantity, scale))
        for (algorithm, against), members in group(sorted(cells, key=_place), ("algorithm", "against")).items()
    ]
    if not panels:
        return None
    # A row too few in a run that was restricted would put rivals under each other that are none.
    columns = len(rivals) if len(panels) % len(rivals) == 0 and len(rivals) <= 4 else 3
    return lines_over_time(
        panels, cells, title=title, y_label=label, columns=columns, panel_height_in=1.5, compare_columns=True
    )


def _curves(
    cells: Sequence[CellResult], looks: Mapping[ParameterValue, Look], quantity: str, scale: float
) -> list[Curve]:
    curves = []
    for who, parameter in (("first", "algorithm"), ("second", "against")):
        name = f"{quantity}_{who}"
        good = usable(cells)
        having = [cell for cell in cells if name in cell.measurement.series]
        if having:
            look = looks[str(cells[0].cell.parameters[parameter])]
            if who == "second":
                look = Look(f"{look.label}, second", look.colour, look.marker, "--", look.hatch)
            curves.append(
                Curve(
                    look,
                    [cell.measurement.series[name] for cell in having if cell in good],
                    [cell.measurement.series[name] for cell in having if cell not in good],
                    scale,
                )
            )
    return curves


def _place(cell: CellResult) -> tuple[str, bool, str]:
    """Nobody first."""
    parameters = cell.cell.parameters
    return str(parameters["algorithm"]), parameters["against"] != "nobody", str(parameters["against"])
