"""A chart of values over dates, with the events between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from matplotlib import dates
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from results.figures import style
from results.figures.style import Look
from results.records import Verdict

_MANY, _HEIGHT_IN = 200, 3.6
_MAX_LABELS, _LONGEST_LABEL = 12, 44


@dataclass(frozen=True)
class DatedValue:
    """One value with its range, in the unit of the axis; `at` is shown as it is, whatever its time zone."""

    at: datetime
    value: float
    low: float
    high: float
    look: Look


@dataclass(frozen=True)
class Event:
    """A vertical line at a moment; `text` is beside it, and `look` is its entry in the legend."""

    at: datetime
    look: Look
    text: str = ""


def over_dates(
    values: Sequence[DatedValue],
    events: Sequence[Event],
    *,
    title: str,
    y_label: str,
    badge: str,
    verdict: Verdict,
    first_label: str,
) -> Figure:
    """Draws values over dates with their ranges as error bars.

    Args:
        values: in order of time; at least one.
        events: in order of time; the first few texts are shown.
        badge, verdict: verdict on the values, in words and as a colour.
        first_label: text beside the first value, as for events.
    """
    with style.drawing():
        figure = style.new_figure(_HEIGHT_IN, title, badge, verdict)
        axes = figure.subplots()
        handles: dict[str, style.Handle] = {}
        for look in dict.fromkeys(each.look for each in values):
            _draw_values(axes, look, [each for each in values if each.look == look], len(values) < _MANY)
            handles[look.label] = Line2D([], [], color=look.colour, marker=look.marker, linestyle="", markersize=6)
        axes.set_ylim(bottom=0)
        if len(values) == 1:
            axes.set_xlim(_day(values[0].at) - 0.5, _day(values[0].at) + 0.5)
        for event in events:
            look = event.look
            handles[look.label] = axes.axvline(_day(event.at), color=look.colour, linewidth=1.1, linestyle=look.line)
        texts = [(values[0].at, first_label), *((event.at, event.text) for event in events if event.text)]
        for at, text in texts[:_MAX_LABELS]:
            _write(axes, at, text)
        style.plain_axes(axes, "", y_label)
        locator = dates.AutoDateLocator(maxticks=9)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
        style.add_legend(figure, handles)
    return figure


def _draw_values(axes: Axes, look: Look, values: Sequence[DatedValue], large: bool) -> None:
    axes.errorbar(
        [_day(each.at) for each in values],
        [each.value for each in values],
        yerr=[[each.value - each.low for each in values], [each.high - each.value for each in values]],
        fmt=look.marker,
        color=look.colour,
        markersize=5 if large else 3,
        elinewidth=1.1,
        capsize=2 if large else 0,
        alpha=0.9,
    )


def _day(at: datetime) -> float:
    return float(dates.date2num(at))


def _write(axes: Axes, at: datetime, text: str) -> None:
    axes.annotate(
        text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 1] + "…",
        (_day(at), 0.02),
        xycoords=("data", "axes fraction"),
        xytext=(3, 0),
        textcoords="offset points",
        rotation=90,
        fontsize=7.5,
        color=style.BLUE,
        parse_math=False,
        annotation_clip=True,
        zorder=1,  # below the values
    )
