"""A figure of values between sites: a row for each source, a column for each target."""

import math
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from flightpath.units import format_rate
from results.figures import style
from results.records import Verdict

_CELL_IN, _MARGINS_IN = 0.5, 1.6
_MANY, _SMALL_CELL_IN = 8, 0.22
"""Number of columns beyond which their names are vertical, and the height of a row then."""

_BAR_TICKS = 5
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
    links: Mapping[tuple[str, str], str] | None = None,
) -> Figure:
    """Draws a matrix whose colours are the logarithms of rates above 0 in bit/s, which a bar explains.

    Args:
        values: by source and target; pairs without one stay white.
        words: text of each pair, also of those without a value.
        sources, targets: rows from the top and columns from the left.
        badge, verdict: verdict on the values, in words and as a colour.
        legend: meaning of the texts.
        links: where the text of a pair leads to in the SVG file.
    """
    with style.drawing():
        many = len(targets) > _MANY
        height_in = _MARGINS_IN + (_SMALL_CELL_IN if many else _CELL_IN) * len(sources) + (1.0 if many else 0.0)
        figure = style.new_figure(height_in, title, badge, verdict)
        axes = figure.subplots()
        logs = [[math.log(values[pair]) if (pair := (a, b)) in values else math.nan for b in targets] for a in sources]
        known = [value for row in logs for value in row if not math.isnan(value)]
        low, high = (min(known), max(known)) if known else (0.0, 1.0)
        reach = max(high - low, math.log(1.5))  # small differences look alike
        image = axes.imshow(logs, cmap=_COLOURS, vmin=high - reach, vmax=high, aspect="auto")
        ticks = [high - reach * number / (_BAR_TICKS - 1) for number in range(_BAR_TICKS)]
        bar = figure.colorbar(image, ax=axes, ticks=ticks, pad=0.02, fraction=0.05)
        bar.set_ticklabels([format_rate(math.exp(tick)) if known else "" for tick in ticks], fontsize=7.5)
        for row, a in enumerate(sources):
            for column, b in enumerate(targets):
                share = (logs[row][column] - high) / reach + 1
                colour = "white" if share < _DARK else style.INK
                text = axes.text(column, row, words.get((a, b), ""), ha="center", va="center", color=colour)
                text.set_fontsize(7.5 if many else 8.5)
                text.set_url((links or {}).get((a, b)))
        axes.set_xticks(range(len(targets)), targets, rotation=90 if many else 0)
        axes.set_yticks(range(len(sources)), sources)
        axes.grid(visible=False)
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        style.plain_axes(axes, "to", "from")
        axes.text(0, 1.02, legend, transform=axes.transAxes, color=style.INK, fontsize=7.5, va="bottom", wrap=True)
        axes.grid(visible=False)
    return figure
