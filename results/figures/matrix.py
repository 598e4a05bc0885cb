"""A figure of values between sites: a row for each source, a column for each target."""

import math
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from results.figures import style
from results.records import Verdict

_CELL_IN, _MARGINS_IN = 0.5, 1.6
_DARK = 0.6
_COLOURS = "cividis"
"""Colour map with the same order for every colour blindness, and in grey print."""


def matrix(
    values: Mapping[tuple[str, str], float],
    words: Mapping[tuple[str, str], str],
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    title: str,
    badge: str,
    verdict: Verdict,
    legend: str,
) -> Figure:
    """Draws a matrix whose colours are the logarithms of values above 0.

    Args:
        values: by source and target; pairs without one stay white.
        words: text of each pair, also of those without a value.
        sources, targets: rows from the top and columns from the left.
        badge, verdict: verdict on the values, in words and as a colour.
        legend: meaning of the texts and colours.
    """
    with style.drawing():
        figure = style.new_figure(_MARGINS_IN + _CELL_IN * len(sources), title, badge, verdict)
        axes = figure.subplots()
        logs = [[math.log(values[pair]) if (pair := (a, b)) in values else math.nan for b in targets] for a in sources]
        known = [value for row in logs for value in row if not math.isnan(value)]
        low, high = (min(known), max(known)) if known else (0.0, 1.0)
        reach = max(high - low, math.log(1.5))  # small differences look alike
        axes.imshow(logs, cmap=_COLOURS, vmin=high - reach, vmax=high, aspect="auto")
        for row, a in enumerate(sources):
            for column, b in enumerate(targets):
                share = (logs[row][column] - high) / reach + 1
                colour = "white" if share < _DARK else style.INK
                axes.text(column, row, words.get((a, b), ""), ha="center", va="center", color=colour, fontsize=8.5)
        axes.set_xticks(range(len(targets)), targets)
        axes.set_yticks(range(len(sources)), sources)
        axes.grid(visible=False)
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        style.plain_axes(axes, "to", "from")
        axes.text(0, 1.02, legend, transform=axes.transAxes, color=style.INK, fontsize=7.5, va="bottom", wrap=True)
        axes.grid(visible=False)
    return figure
