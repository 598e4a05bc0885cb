"""Style of all figures: colours, fonts, title, verdict and legend; saving as PNG and SVG."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from results.records import CellResult, Verdict
from results.store.ownership import give_to_caller, make_folder
from results.summary.verdicts import badge_text, overall

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.container import Container
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.typing import RcKeyType

    from results.figures.described_figure import DescribedFigure

# Okabe and Ito's palette: distinct for every common colour blindness, and in grey print by their lightness.
VERMILLION, BLUE, GREEN, ORANGE, PURPLE, SKY = "#D55E00", "#0072B2", "#009E73", "#E69F00", "#AA4499", "#56B4E9"
INK, MUTED, GRID = "#222222", "#666666", "#DDDDDD"
DASHED = (0, (4, 3))

Handle: TypeAlias = "Artist | Container"
"""Sample of a line or bar in a legend."""

WIDTH_IN = 8.0
"""Width of all figures, for which the font sizes below are chosen; 800 pixels at 100 pixels per inch."""

_PNG_DPI = 150
_BADGE = {  # the verdict is in words too: colour alone is not enough
    Verdict.FAITHFUL: {"facecolor": "#E5F5EF", "edgecolor": GREEN},
    Verdict.DEGRADED: {"facecolor": "#FDF1D8", "edgecolor": ORANGE},
    Verdict.UNUSABLE: {"facecolor": "#FBE0D3", "edgecolor": VERMILLION},
}
_BADGE_SIZE, _BADGE_MARGIN_IN = 8.5, 0.2
_POINTS, _LONGEST_WORD = 72, 80
_TITLE_IN, _TITLE_LINE_IN, _TITLE_SIZE = 0.36, 0.2, 12
_LEGEND_ROW_IN, _LEGEND_COLUMNS = 0.2, 112
_RC: dict[RcKeyType, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.fonttype": "none",  # text stays text: it can be searched, selected and read aloud
    "axes.formatter.useoffset": False,
}


@dataclass(frozen=True)
class Look:
    """Look of one of several compared things, the same in every figure of a scenario."""

    label: str
    colour: str
    marker: str = "o"
    line: str = "-"
    hatch: str = ""


@contextmanager
def drawing() -> Iterator[None]:
    """Applies the style while something is drawn or saved, and restores matplotlib's settings afterwards."""
    import matplotlib  # here and below: slow to load, and what measures a cell declares figures and draws none

    with matplotlib.rc_context(_RC):
        yield


def new_figure(height_in: float, title: str, badge: str, verdict: Verdict) -> DescribedFigure:
    """Returns an empty figure with a title above and a verdict below, to be filled inside `drawing()`.

    The height is that of the plots alone. The badge is the verdict in words; the verdict sets its colours.
    """
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    from results.figures.described_figure import DescribedFigure

    lines = _wrapped(badge, WIDTH_IN - 2 * _BADGE_MARGIN_IN, _BADGE_SIZE) or [str(verdict)]
    badge_in = 0.22 + 0.155 * len(lines)
    title_lines = _wrapped(title, WIDTH_IN - 2 * _BADGE_MARGIN_IN, _TITLE_SIZE, weight="bold") or [title]
    height = height_in + badge_in + _TITLE_IN + _TITLE_LINE_IN * (len(title_lines) - 1)
    layout = ConstrainedLayoutEngine(rect=(0.005, badge_in / height, 0.99, height_in / height))
    figure = DescribedFigure(figsize=(WIDTH_IN, height), layout=layout)
    figure.set_label(title)
    figure.badge, figure.verdict = badge, str(verdict)
    figure.text(
        0.015,
        1 - 0.1 / height,
        "\n".join(title_lines),
        fontsize=_TITLE_SIZE,
        fontweight="bold",
        color=INK,
        va="top",
        parse_math=False,
    )
    figure.text(
        _BADGE_MARGIN_IN / WIDTH_IN,
        0.1 / height,
        "\n".join(lines),
        fontsize=_BADGE_SIZE,
        color=INK,
        va="bottom",
        linespacing=1.25,
        parse_math=False,
        bbox={**_BADGE[verdict], "boxstyle": "round,pad=0.35", "linewidth": 1.2},
    )
    return figure


def figure_of_cells(height_in: float, title: str, cells: Sequence[CellResult]) -> DescribedFigure:
    """Returns a `new_figure` with the verdict on some cells."""
    return new_figure(height_in, title, badge_text(cells), overall(cells))


def handle(**line: Any) -> Line2D:
    """Returns a line for the legend; the arguments are those of `Axes.plot`."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **line)


def cross() -> Line2D:
    """Returns the legend's handle for unusable values."""
    return handle(color=MUTED, marker="x", linestyle="none")


def add_legend(figure: Figure, handles: Mapping[str, Handle]) -> None:
    """Adds one legend for all plots of a figure, which move down for it; handles are by label."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    if not handles:
        return
    labels = list(handles)
    columns = next((n for n in range(min(len(labels), 5), 1, -1) if _fits(labels, n)), 1)
    height, rows = figure.get_figheight(), -(-len(labels) // columns)
    layout = figure.get_layout_engine()
    assert isinstance(layout, ConstrainedLayoutEngine), "the figure is one of new_figure's"
    left, bottom, width, share = layout.get()["rect"]
    layout.set(rect=(left, bottom, width, share - (rows * _LEGEND_ROW_IN + 0.12) / height))
    figure.legend(
        list(handles.values()),  # type: ignore[call-overload]  # matplotlib's types forget containers
        labels,
        loc="upper left",
        bbox_to_anchor=(0.008, bottom + share - 0.02 / height),
        borderaxespad=0,
        ncols=columns,
        fontsize=9,
        columnspacing=1.6,
    ).set_in_layout(False)


def plain_axes(axes: Axes, x_label: str, y_label: str, title: str = "") -> None:
    """Sets the labels, which include the unit, and the title, all taken literally and not as TeX."""
    axes.set_xlabel(x_label, parse_math=False)
    axes.set_ylabel(y_label, parse_math=False)
    axes.set_title(title, parse_math=False, color=INK)


def save(figure: Figure, folder: str | Path, name: str) -> list[Path]:
    """Writes a figure as `NAME.png` (1200 pixels wide) and `NAME.svg`, and returns both paths.

    The same figure always gives the same bytes. The SVG file has its title for screen readers, and the figure's data
    in its metadata, as the description.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    from results.figures.described_figure import DescribedFigure

    folder = Path(folder)
    make_folder(folder)
    png, svg = folder / f"{name}.png", folder / f"{name}.svg"
    description = figure.description if isinstance(figure, DescribedFigure) else None
    metadata = {"Date": None, "Title": figure.get_label() or name, "Description": description}
    with drawing(), matplotlib.rc_context({"svg.hashsalt": name}):
        FigureCanvasAgg(figure).print_figure(png, dpi=_PNG_DPI)
        figure.set_layout_engine("none")  # the same places in both; to compute them takes as long as to draw
        FigureCanvasSVG(figure).print_figure(svg, metadata=metadata)
    give_to_caller(png, svg)
    return [png, svg]


def _wrapped(text: str, width_in: float, size: float, weight: str = "normal") -> list[str]:
    """Wraps a text at a width, measured in the font, because character counts are too inexact."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(family=_RC["font.family"], size=size, weight=weight)
    lines: list[str] = []
    for part in text.split():
        for word in textwrap.wrap(part, _LONGEST_WORD):
            longer = f"{lines[-1]} {word}" if lines else word
            if lines and TextPath((0, 0), longer, prop=font, usetex=False).get_extents().width <= width_in * _POINTS:
                lines[-1] = longer
            else:
                lines.append(word)
    return lines


def _fits(labels: Sequence[str], columns: int) -> bool:
    rows = -(-len(labels) // columns)
    widest = [max(map(len, labels[start : start + rows])) for start in range(0, len(labels), rows)]
    return sum(widest) + 8 * len(widest) <= _LEGEND_COLUMNS
