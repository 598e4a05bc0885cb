"""`preflight history`: the stored measurements of a far end, one per line."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from datetime import UTC
from typing import Any

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from flightpath.terminal import plain, print_table
from flightpath.units import counted, format_rate
from probes.preflight.commands.common import add_profile_option, count, open_store, query_parser, selected, show
from probes.preflight.history.past import PastMeasurement, describe
from probes.preflight.history.recording import SCENARIO, route_changed
from probes.preflight.records import LimitedBy
from results.records import RunStatus
from results.store.query import RunQuery

_SHOWN = 20


def parser() -> ArgumentParser:
    made = query_parser("history", "List the measurements of a far end, oldest first.")
    made.add_argument("host", nargs="?", metavar="HOST")
    made.add_argument("--last", type=count, default=_SHOWN, metavar="N", help=f"only the newest N ({_SHOWN})")
    add_profile_option(made, "only those of this profile")
    return made


def run(options: Namespace) -> int:
    store = open_store(options)
    host, pasts = selected(options, store, options.last)
    stored = len(pasts) if options.profile else store.count(RunQuery(SCENARIO, host))
    show(options, _as_json(host, pasts), lambda console: _print_measurements(console, pasts, stored))
    return 0


def past_json(past: PastMeasurement) -> dict[str, Any]:
    """Returns a measurement as JSON: rates in bit/s, with the lowest and the highest iteration."""
    several = len(past.goodputs_bps) > 1
    return {
        "run": past.run_id,
        "at": past.at.astimezone(UTC).isoformat(),
        "target": past.target,
        "profile": past.profile,
        "configuration": dict(past.configuration),
        "goodput": {
            "value": past.goodput_bps,
            "unit": "bit/s",
            "low": min(past.goodputs_bps) if several else None,
            "high": max(past.goodputs_bps) if several else None,
        },
        "iterations": len(past.goodputs_bps),
        "verdict": past.verdict,
        "reasons": list(past.reasons),
        "status": past.status,
        "route": past.route,
    }


def _as_json(host: str, pasts: Sequence[PastMeasurement]) -> dict[str, Any]:
    routes = ["", *(past.route for past in pasts)]
    return {
        "host": host,
        "measurements": [
            past_json(past) | {"route_changed": bool(before and past.route and route_changed(before, past.route))}
            for before, past in zip(routes, pasts, strict=False)
        ],
    }


def _print_measurements(console: Console, pasts: Sequence[PastMeasurement], stored: int) -> None:
    shown = counted(len(pasts), "measurement")
    caption = shown if stored <= len(pasts) else f"the newest {shown} of {stored}; --last N shows more"
    goodput = Column("goodput", justify="right")
    headings = ("when", "configuration", goodput, "lowest to highest", "verdict", "route", "run")
    table = Table(*headings, caption=caption, caption_justify="left")
    route = ""
    for past in pasts:
        rates = past.goodputs_bps
        table.add_row(
            f"{past.at.astimezone():%Y-%m-%d %H:%M:%S}",
            plain(f"{past.profile}: {describe(past.configuration)}" if past.profile else describe(past.configuration)),
            format_rate(past.goodput_bps) if past.goodput_bps else "-",
            f"{format_rate(min(rates))} to {format_rate(max(rates))}" if len(rates) > 1 else "-",
            _verdict_text(past),
            _route_text(route, past.route),
            plain(past.run_id),
        )
        route = past.route or route
    print_table(console, table)


def _verdict_text(past: PastMeasurement) -> Text:
    """Returns the limit of a measurement, and its end if it did not end well."""
    ended = "running, or killed" if past.status is RunStatus.RUNNING else str(past.status)
    if not past.goodputs_bps:
        return Text(ended if past.status is not RunStatus.DONE else past.verdict, style="dim")
    colour = {LimitedBy.OK: "green", LimitedBy.RATE_LIMITED: "yellow"}.get(past.verdict, "red")
    return Text(past.verdict if past.status is RunStatus.DONE else f"{past.verdict} ({ended})", style=colour)


def _route_text(before: str, route: str) -> Text:
    if not route:
        return Text("-")
    if before and route_changed(before, route):
        return Text("changed", style="yellow")
    return Text("same" if before else counted(route.count(" > ") + 1, "hop"))
