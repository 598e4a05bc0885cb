"""`preflight plot`: a figure of the goodput of a far end over time."""

import itertools
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from matplotlib.figure import Figure

from flightpath.errors import UsageError
from flightpath.terminal import visible
from flightpath.units import counted
from probes.preflight.commands.common import count, open_store, query_parser, save_figure, show
from probes.preflight.history.past import PastMeasurement, describe, host_name, load
from probes.preflight.history.recording import route_changed
from probes.preflight.records import LimitedBy
from results.figures import style
from results.figures.style import Look
from results.figures.timeline import DatedValue, Event, over_dates
from results.records import Verdict

_OF_PATH = Look("measures the path", style.GREEN, marker="o")
_RATE_LIMITED = Look(LimitedBy.RATE_LIMITED, style.ORANGE, marker="s")
_OF_CLIENT = Look("limited by this machine", style.VERMILLION, marker="x")
_NEW_CONFIGURATION = Look("configuration changed", style.BLUE)
_NEW_ROUTE = Look("route changed", style.PURPLE, line=":")
_SCALES = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s"))


def parser() -> ArgumentParser:
    made = query_parser("plot", "Draw the goodput of a far end over time, and print the paths of the figures.")
    made.add_argument("host", metavar="HOST")
    made.add_argument("--last", type=count, metavar="N", help="only the newest N (all)")
    made.add_argument("--output", type=Path, metavar="FILE", help="FILE.png and FILE.svg (in the store's folder)")
    return made


def run(options: Namespace) -> int:
    store, host = open_store(options), host_name(options.host)
    pasts = load(store, options.host, options.last)
    if not any(past.goodput_bps for past in pasts):
        raise UsageError(f"no measurement of {host} has a goodput to draw")
    default = "preflight-" + (re.sub(r"[^A-Za-z0-9.-]+", "_", host).strip("._") or "host")
    target: Path = options.output or store.folder / default
    files = save_figure(_figure(host, pasts), target)
    show(options, {"host": host, "files": files}, lambda _: print(*files, sep="\n"))
    return 0


def _figure(host: str, pasts: Sequence[PastMeasurement]) -> Figure:
    """Draws the goodput over time, each measurement from its lowest to its highest iteration.

    Vertical lines mark changes of the configuration (with what it became) and of the route.
    """
    drawn = [past for past in pasts if past.goodput_bps]
    largest = max(rate for past in drawn for rate in past.goodputs_bps)
    scale, unit = next(each for each in _SCALES if each[0] <= largest or each[0] == 1.0)
    values = [
        DatedValue(
            _local(past),
            (past.goodput_bps or 0.0) / scale,
            min(past.goodputs_bps) / scale,
            max(past.goodputs_bps) / scale,
            _look(past),
        )
        for past in drawn
    ]
    of_path = sum(past.measures_path for past in drawn)
    badge = f"{counted(len(pasts), 'measurement')}, {of_path} of the path"
    if of_path < len(pasts):
        badge += f"; {len(pasts) - of_path} limited by this machine or cut short: no figures of the path"
    return over_dates(
        values,
        list(_changes(drawn)),
        title=f"Goodput of {visible(host)}",
        y_label=f"goodput ({unit})",
        badge=badge,
        verdict=Verdict.FAITHFUL if of_path == len(pasts) else Verdict.DEGRADED if of_path else Verdict.UNUSABLE,
        first_label=visible(describe(drawn[0].configuration)),
    )


def _changes(pasts: Sequence[PastMeasurement]) -> Iterator[Event]:
    route = pasts[0].route
    for before, after in itertools.pairwise(pasts):
        middle = _local(before) + (_local(after) - _local(before)) / 2
        if before.conditions != after.conditions:
            yield Event(middle, _NEW_CONFIGURATION, visible(describe(after.configuration)))
        if route and after.route and route_changed(route, after.route):
            yield Event(middle, _NEW_ROUTE)
        route = after.route or route


def _look(past: PastMeasurement) -> Look:
    if past.measures_path:
        return _OF_PATH
    return _RATE_LIMITED if past.verdict is LimitedBy.RATE_LIMITED else _OF_CLIENT


def _local(past: PastMeasurement) -> datetime:
    return past.at.astimezone().replace(tzinfo=None)
