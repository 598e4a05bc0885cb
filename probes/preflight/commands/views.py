"""What is remembered, on a terminal or as JSON: without it the memory would be kept for nobody."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from flightpath.units import format_rate, format_span
from probes.preflight.memory.comparison import Comparison, sentence
from probes.preflight.memory.history import Past, changes, short
from probes.preflight.memory.memory import route_changed
from probes.preflight.records import Verdict
from results.records import RunStatus

_WIDE = 160


def visible(text: object) -> str:
    """A text that does nothing to a terminal: control characters, and marks that turn its order, as escapes."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in str(text))


def plain(text: object, style: str = "") -> Text:
    """A cell of a table, whatever its text: brackets are no markup, control characters are seen."""
    return Text(visible(text), style=style)


def console() -> Console:
    """Where results go; wide enough in a file or pipe that nothing is cut off."""
    found = Console()
    return found if found.is_terminal else Console(width=max(found.width, _WIDE))


def print_history(pasts: Sequence[Past], before: int) -> None:
    """A line per measurement, oldest first.

    Args:
        pasts: what to show.
        before: how many older ones there are that are not shown.
    """
    table = Table(caption=_caption(pasts, before), caption_justify="left")
    for heading in ("when", "configuration", "goodput", "lowest to highest", "verdict", "route", "run"):
        table.add_column(heading, justify="right" if heading == "goodput" else "left")
    route = ""
    for past in pasts:
        table.add_row(
            f"{past.at.astimezone():%Y-%m-%d %H:%M:%S}",
            plain(short(past.configuration)),
            format_rate(past.goodput_bps) if past.goodput_bps else "-",
            _interval(past),
            plain(verdict_words(past), verdict_colour(past)),
            _route_words(route, past.route),
            plain(past.run_id),
        )
        route = past.route or route
    console().print(table)


def verdict_words(past: Past) -> str:
    """What a measurement is worth, and how it ended if it did not end well."""
    if past.status is RunStatus.DONE:
        return str(past.verdict)
    ended = "running, or killed" if past.status is RunStatus.RUNNING else str(past.status)
    return f"{past.verdict} ({ended})" if past.goodputs_bps else ended


def verdict_colour(past: Past) -> str:
    """Green for a figure of the path, yellow for one that was asked for, red for what measured this machine."""
    if not past.goodputs_bps:
        return "dim"
    return {Verdict.OK: "green", Verdict.RATE_LIMITED: "yellow"}.get(past.verdict, "red")


def history_json(host: str, pasts: Sequence[Past]) -> dict[str, Any]:
    """A history as the one object that `--json` prints."""
    routes = ["", *(past.route for past in pasts)]
    return {
        "host": host,
        "measurements": [
            past_json(past) | {"route_changed": bool(before and past.route and route_changed(before, past.route))}
            for before, past in zip(routes, pasts, strict=False)
        ],
    }


def past_json(past: Past) -> dict[str, Any]:
    """A measurement as JSON: rates in bit/s, the interval from its lowest to its highest iteration."""
    several = len(past.goodputs_bps) > 1
    return {
        "run": past.run_id,
        "at": past.at.astimezone(UTC).isoformat(),
        "target": past.target,
        "configuration": dict(past.configuration),
        "goodput": {
            "value": past.goodput_bps,
            "unit": "bit/s",
            "low": min(past.goodputs_bps) if several else None,
            "high": max(past.goodputs_bps) if several else None,
        },
        "iterations": len(past.goodputs_bps),
        "verdict": str(past.verdict),
        "reasons": list(past.reasons),
        "status": str(past.status),
        "route": past.route,
    }


def print_comparison(found: Comparison, sides: Mapping[str, Sequence[Past]]) -> None:
    """Two sets of measurements: a line each, what differs between them, and what it comes to in a sentence."""
    table = Table()
    for heading in ("", "measurements", "from", "to", "configuration", "goodput"):
        table.add_column(heading)
    (first, before), (second, after) = sides.items()
    for (name, pasts), rate in zip(sides.items(), (found.first_bps, found.second_bps), strict=True):
        kinds = list(dict.fromkeys(short(past.configuration) for past in pasts))
        words = kinds[0] if len(kinds) == 1 else f"{kinds[-1]}, and {len(kinds) - 1} more"
        table.add_row(
            plain(name),
            str(len(pasts)),
            *(f"{past.at.astimezone():%Y-%m-%d %H:%M}" for past in (pasts[0], pasts[-1])),
            plain(words),
            format_rate(rate),
        )
    out = console()
    out.print(table)
    for change in changes(before[-1], after[-1]):
        out.print(plain(f"differs: {change}"), soft_wrap=True)
    out.print(plain(sentence(found, first, second)), soft_wrap=True)
    if len(before) == len(after) == 1:
        out.print(plain("Iterations of two measurements: the interval knows of these two moments only."))


def comparison_json(found: Comparison, sides: Mapping[str, Sequence[Past]]) -> dict[str, Any]:
    """A comparison as the one object that `--json` prints; changes are shares of the first side's goodput."""
    (first, before), (second, after) = sides.items()
    return {
        "first": {"name": first, "goodput_bps": found.first_bps, "runs": [past.run_id for past in before]},
        "second": {"name": second, "goodput_bps": found.second_bps, "runs": [past.run_id for past in after]},
        "change": {"value": found.change, "low": found.low, "high": found.high},
        "second_ahead": found.share_above,
        "p_value": found.p_value,
        "differs": changes(before[-1], after[-1]),
        "sentence": sentence(found, first, second),
    }


def age(at: datetime, now: datetime | None = None) -> str:
    """How long ago a moment was, in words."""
    seconds = ((now or datetime.now(UTC)) - at).total_seconds()
    return "just now" if seconds < 10 else f"{format_span(seconds)} ago"


def _interval(past: Past) -> str:
    low, high = min(past.goodputs_bps, default=0.0), max(past.goodputs_bps, default=0.0)
    return f"{format_rate(low)} to {format_rate(high)}" if len(past.goodputs_bps) > 1 else "-"


def _route_words(before: str, after: str) -> Text:
    if not after:
        return Text("-")
    if before and route_changed(before, after):
        return Text("changed", style="yellow")
    return Text("same" if before else f"{after.count(' > ') + 1} hops")


def _caption(pasts: Sequence[Past], before: int) -> str:
    shown = f"{len(pasts)} measurement" + ("" if len(pasts) == 1 else "s")
    return shown if before <= 0 else f"the newest {shown} of {before + len(pasts)}; --last N shows more"
