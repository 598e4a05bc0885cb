"""Figures of subflow steering: goodput by policy, the share of each path, and the cost of a failure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from experiments.figures import metric_bars, stacked_metrics
from results.figures import style
from results.figures.drawing import Draw, Figures
from results.figures.style import Look
from results.records import Cell, CellResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BARS = {
    "goodput": ("Goodput", "Mbit/s", 1e-6),
    "silence_cut": ("Longest silence of a connection after a link was cut", "ms", 1.0),
    "silence_black_hole": ("Longest silence after a link became a black hole", "ms", 1.0),
    "first_byte": ("Time to the first byte of a short connection", "ms", 1.0),
}
_PATHS = {
    f"share_path{number}": Look(f"path {number}", colour)
    for number, colour in enumerate((style.BLUE, style.SKY, style.GREEN, style.ORANGE), start=1)
}


def steering_figures(networks: Iterable[str]) -> Figures:
    """Returns each figure by its name, for some values of the parameter `paths`."""
    drawn: dict[str, Draw] = {}
    for network in networks:
        titled = {
            name: (f"{title}, by policy ({network} paths)", label, scale)
            for name, (title, label, scale) in _BARS.items()
        }
        for metric, draw in metric_bars(titled, groups="policy", by="load", x_label="policy").items():
            drawn[f"{metric}_{network}"] = partial(_of_network, network=network, draw=draw)
        shares = partial(
            stacked_metrics,
            parts=_PATHS,
            groups="policy",
            panels="load",
            title=f"Which paths carried the bytes ({network} paths)",
            x_label="policy",
            y_label="share (%)",
        )
        drawn[f"shares_{network}"] = partial(_of_network, network=network, draw=shares)
    return drawn


def _of_network(cells: Sequence[CellResult], *, network: str, draw: Callable[..., Figure | None]) -> Figure | None:
    """Draws the cells of one network, with a further parameter `load`: protocol and flows in words."""
    return draw([_with_load(cell) for cell in cells if cell.cell.parameters["paths"] == network])


def _with_load(cell: CellResult) -> CellResult:
    parameters = cell.cell.parameters
    flows = "subflows" if parameters["protocol"] == "mptcp" else "connections"
    load = f"{str(parameters['protocol']).upper()}, {parameters['flows']} {flows}"
    return replace(cell, cell=Cell({**parameters, "load": load}, cell.cell.repetition))
