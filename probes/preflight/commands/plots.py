"""A path's goodput over time as a figure: without it a slow decline would hide in a table."""

import itertools
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from matplotlib import dates
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from probes.preflight.commands.views import visible
from probes.preflight.memory.history import Past, short
from probes.preflight.memory.memory import route_changed
from probes.preflight.records import Verdict
from results.figures import style
from results.records import Verdict as Fidelity

_HEIGHT_IN = 3.6
_SCALES = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s"))
_MOST_LABELS = 12
_KINDS = {  # shape and colour both tell, so that print without colour does too
    "measures the path": ("o", style.GREEN, True),
    str(Verdict.RATE_LIMITED): ("s", style.ORANGE, True),
    "limited by this machine": ("x", style.VERMILLION, False),
}


def plot_history(host: str, pasts: Sequence[Past], folder: Path, name: str) -> list[Path]:
    """Draws goodput over time, each measurement from its lowest to its highest iteration, and returns the files.

    Vertical lines mark where the configuration (solid, with what it became) or the route (dotted) changed.

    Args:
        host: whose history it is.
        pasts: oldest first, one with a goodput at least; those without are left out.
        folder, name: where `NAME.png` and `NAME.svg` go.

    Raises:
        OSError: they cannot be written.
    """
    drawn = [past for past in pasts if past.goodput_bps]
    scale, unit = next(each for each in _SCALES if each[0] <= max(_rates(drawn)) or each[0] == 1.0)
    with style.drawing():
        figure = style.new_figure(_HEIGHT_IN, f"Goodput of {visible(host)}", *_badge(drawn, len(pasts)))
        axes = figure.subplots()
        handles: dict[str, object] = {}
        for kind, (marker, colour, filled) in _KINDS.items():
            if chosen := [past for past in drawn if _kind(past) == kind]:
                _draw(axes, chosen, scale, marker, colour, filled)
                handles[kind] = Line2D([], [], color=colour, marker=marker, linestyle="", markersize=6)
        axes.set_ylim(bottom=0)
        if len(drawn) == 1:  # or the axis of time would have no length
            axes.set_xlim(_local(drawn[0]) - timedelta(hours=12), _local(drawn[0]) + timedelta(hours=12))
        handles |= _draw_changes(axes, drawn)
        style.plain_axes(axes, "", f"goodput ({unit})")
        locator = dates.AutoDateLocator(maxticks=9)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
        style.add_legend(figure, handles)
    return style.save(figure, folder, name)


def file_name(host: str) -> str:
    """A host's name as that of a file."""
    return "preflight-" + (re.sub(r"[^A-Za-z0-9.-]+", "_", host).strip("._") or "host")


def _draw(axes: Axes, pasts: Sequence[Past], scale: float, marker: str, colour: str, filled: bool) -> None:
    middles = [(past.goodput_bps or 0.0) / scale for past in pasts]
    reach = [
        [middle - min(past.goodputs_bps) / scale for past, middle in zip(pasts, middles, strict=True)],
        [max(past.goodputs_bps) / scale - middle for past, middle in zip(pasts, middles, strict=True)],
    ]
    axes.errorbar(
        [_local(past) for past in pasts],
        middles,
        yerr=reach,
        fmt=marker,
        color=colour,
        markersize=5 if len(pasts) < 200 else 3,
        markerfacecolor=colour if filled else "none",
        elinewidth=1.1,
        capsize=2 if len(pasts) < 200 else 0,
        alpha=0.9,
    )


def _draw_changes(axes: Axes, pasts: Sequence[Past]) -> dict[str, object]:
    handles: dict[str, object] = {}
    route, labels = pasts[0].route, 1
    _label(axes, _local(pasts[0]), visible(short(pasts[0].configuration)))
    for before, after in itertools.pairwise(pasts):
        middle = _local(before) + (_local(after) - _local(before)) / 2
        if before.conditions != after.conditions:
            axes.axvline(middle, color=style.BLUE, linewidth=1.0)
            handles["configuration changed"] = Line2D([], [], color=style.BLUE, linewidth=1.0)
            labels += 1
            if labels <= _MOST_LABELS:
                _label(axes, middle, visible(short(after.configuration)))
        if route and after.route and route_changed(route, after.route):
            axes.axvline(middle, color=style.PURPLE, linewidth=1.2, linestyle=":")
            handles["route changed"] = Line2D([], [], color=style.PURPLE, linewidth=1.2, linestyle=":")
        route = after.route or route
    return handles


def _label(axes: Axes, at: datetime, text: str) -> None:
    axes.annotate(
        text if len(text) <= 44 else text[:43] + "…",
        (dates.date2num(at), 0.02),
        xycoords=("data", "axes fraction"),
        xytext=(3, 0),
        textcoords="offset points",
        rotation=90,
        fontsize=7.5,
        color=style.BLUE,
        parse_math=False,
        annotation_clip=True,
        zorder=1,  # below the measurements
    )


def _badge(drawn: Sequence[Past], measured: int) -> tuple[str, Fidelity]:
    trusted = sum(past.measures_path for past in drawn)
    words = f"{measured} measurements, {trusted} of the path"
    if trusted < measured:
        words += f"; {measured - trusted} limited by this machine or cut short: no figures of the path"
    return words, Fidelity.FAITHFUL if trusted == measured else Fidelity.DEGRADED if trusted else Fidelity.UNUSABLE


def _kind(past: Past) -> str:
    if past.measures_path:
        return "measures the path"
    return str(past.verdict) if past.verdict is Verdict.RATE_LIMITED else "limited by this machine"


def _rates(pasts: Sequence[Past]) -> list[float]:
    return [rate for past in pasts for rate in past.goodputs_bps]


def _local(past: Past) -> datetime:
    return past.at.astimezone().replace(tzinfo=None)
