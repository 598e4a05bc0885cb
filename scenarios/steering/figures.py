"""The figures of subflow steering: goodput by policy, where the bytes went, and what a failure cost."""

import statistics
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from results.figures import style
from results.figures.bar_groups import Bar, stacked_bars
from results.figures.charts import bars, looks_of, save_all
from results.figures.style import Look
from results.records import CellResult, Verdict
from results.statistics.estimates import group, usable

_PATH_COLOURS = (style.BLUE, style.SKY, style.GREEN, style.ORANGE)
_KIND = "load"


def figures(cells: Sequence[CellResult], folder: str | Path) -> list[Path]:
    """Draws what the cells hold data for, as PNG and SVG."""
    named = [_with_kind(cell) for cell in cells]
    kinds = looks_of(sorted({str(cell.cell.parameters[_KIND]) for cell in named}))
    drawn: dict[str, Figure | None] = {}
    for network in sorted({str(cell.cell.parameters["paths"]) for cell in named}):
        own = [cell for cell in named if cell.cell.parameters["paths"] == network]
        for metric, what, unit, scale in (
            ("goodput", "Goodput", "Mbit/s", 1e-6),
            ("silence_cut", "Longest silence of a connection after a link was cut", "ms", 1.0),
            ("silence_black_hole", "Longest silence after a link became a black hole", "ms", 1.0),
            ("first_byte", "Time to the first byte of a short connection", "ms", 1.0),
        ):
            drawn[f"{metric}_{network}"] = bars(
                own,
                metric,
                groups="policy",
                by=_KIND,
                looks=kinds,
                scale=scale,
                title=f"{what}, by policy ({network} paths)",
                x_label="policy",
                y_label=unit,
            )
        drawn[f"shares_{network}"] = _shares(own, network)
    return save_all(drawn, Path(folder))


def _shares(cells: Sequence[CellResult], network: str) -> Figure | None:
    """Where the bytes went: a bar per load, its parts the paths."""
    count = sum(name.startswith("share_path") for name in cells[0].measurement.metrics) if cells else 0
    if not count:
        return None
    parts = [Look(f"path {n}", _PATH_COLOURS[(n - 1) % len(_PATH_COLOURS)]) for n in range(1, count + 1)]
    panels = [
        (
            str(kind),
            {str(policy): [_bar(members, parts)] for (policy,), members in group(of_kind, ("policy",)).items()},
        )
        for (kind,), of_kind in group(cells, (_KIND,)).items()
    ]
    return stacked_bars(
        panels,
        cells,
        title=f"Which paths carried the bytes ({network} paths)",
        x_label="policy",
        y_label="share (%)",
        height_in=1.6 * len(panels) + 0.6,
    )


def _bar(cells: Sequence[CellResult], parts: Sequence[Look]) -> Bar:
    used = usable(cells) or list(cells)
    means = [
        statistics.fmean(cell.measurement.metrics[f"share_path{n}"].value for cell in used)
        for n in range(1, len(parts) + 1)
    ]
    return Bar(list(zip(parts, means, strict=True)), Verdict.worst([cell.certificate.verdict for cell in used]))


def _with_kind(cell: CellResult) -> CellResult:
    """The load in words as one parameter, since protocol and flows belong together."""
    flows, protocol = cell.cell.parameters["flows"], cell.cell.parameters["protocol"]
    words = f"MPTCP, {flows} subflows" if protocol == "mptcp" else f"TCP, {flows} connections"
    point = type(cell.cell)({**cell.cell.parameters, _KIND: words}, cell.cell.repetition)
    return CellResult(point, cell.measurement, cell.certificate)
