"""A run as one page: without it a result could be shown only to somebody who has the store and the program."""

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from markupsafe import Markup

from results.figures.network import network_drawings
from results.pages import templating as pages
from results.records import CellResult, ParameterValue, RunRecord, Series
from results.store.store import Store
from results.summary import certificates
from results.summary.badge import badge_text, overall
from results.summary.overview import headlines, metric_names, overview, scale, short, status_words

MOST_WITH_ALL_METRICS, MOST_WITH_DETAILS, MOST_WITH_SERIES = 2000, 200, 60
"""Cells of a run up to which its page has that much of each; a longer page no browser would scroll."""

_PARTS = {
    "claims": "Claims",
    "results": "Results",
    "figures": "Figures",
    "network": "Network",
    "cells": "Cells",
    "certificate": "Certificate",
    "run": "The run",
}
_FACTS = ("emulator", "datapath", "kernel")
_COURSES = {"idle CPU per second": "idle_cpu_percent", "steal per second": "steal_percent"}
_Made = TypeVar("_Made")


@dataclass(frozen=True)
class Column:
    """One metric of the cells' table, in the unit as shown."""

    name: str
    unit: str


@dataclass(frozen=True)
class Number:
    """A figure as shown, and the bare number to sort by; both `-` and empty where none was measured."""

    text: str
    value: str


@dataclass(frozen=True)
class CellLine:
    """One cell in the cells' table."""

    parameters: Sequence[str]
    repetition: int
    verdict: str
    figures: Sequence[Number]


@dataclass(frozen=True)
class CellTable:
    """Every cell's figures; `extra` are the metrics that are shown only on request."""

    parameters: Sequence[str]
    columns: Sequence[Column]
    extra: frozenset[str]
    rows: Sequence[CellLine]


@dataclass(frozen=True)
class Details:
    """What else is known of a cell: from its certificate and its series."""

    label: str
    verdict: str
    reasons: Sequence[str]
    facts: Sequence[tuple[str, str]]
    courses: Sequence[tuple[str, str]]
    links: Sequence[certificates.LinkRow]
    series: Sequence[tuple[str, Series]]
    document: str


def render_html(store: Store, run_id: str, figures: Sequence[Path] = (), question: str = "") -> str:
    """A run as one HTML page that needs no other file, and no network.

    Args:
        store: where the run is.
        run_id: the run.
        figures: figures to show; only SVG files are, written into the page.
        question: what the scenario asks, in a sentence; what the run's plan says of it comes first.
    """
    record, cells = store.run(run_id), store.cells(run_id)
    script = pages.asset("tables.js")
    content = {
        **run_content(record, cells),
        "claims": store.claims(run_id),
        "figures": [_figure(path) for path in figures if path.suffix == ".svg"],
        "question": str(record.plan.get("question") or question),
        "stylesheet": pages.asset("page.css"),
        "script": script,
        "policy": pages.policy(f"\n{script}"),
    }
    shown = {**content, "results": cells, "network": content["networks"], "certificate": cells, "run": record}
    parts = [(id, name) for id, name in _PARTS.items() if shown[id]]
    return pages.environment().get_template("report.html").render(**content, parts=parts)


def run_content(record: RunRecord, cells: Sequence[CellResult], *, whole: bool = True) -> dict[str, Any]:
    """What the templates need to show a run, from its record and cells alone; every fact of it if `whole`."""
    few = cells[:MOST_WITH_DETAILS]
    chosen = headlines(record)
    return {
        "record": record,
        "status": status_words(record),
        "started": f"{record.started_at:%Y-%m-%d %H:%M} UTC",
        "badge": badge_text(cells),
        "verdict": str(overall(cells)),
        "headlines": overview(cells, chosen),
        "overview": overview(cells, metric_names(cells)) if len(cells) <= MOST_WITH_ALL_METRICS else None,
        "networks": _readable(lambda: network_drawings(cells[:MOST_WITH_ALL_METRICS]), []),
        "cells": cell_table(cells, chosen) if cells else None,
        "certificates": [_certificate_row(cell) for cell in cells],
        "details": [details(cell, series=len(cells) <= MOST_WITH_SERIES, whole=whole) for cell in few],
        "bin_names": certificates.LATENESS_BINS,
        "left_out": _left_out(len(cells)),
        "commands": commands(record),
        "environment": [(name, _fact(value)) for name, value in record.environment.items()],
        "facts": [
            ("run", record.run_id),
            ("scenario", record.scenario),
            ("form", str(record.plan.get("form", "-"))),
            ("started", f"{record.started_at:%Y-%m-%d %H:%M:%S} UTC"),
            ("ended", f"{record.ended_at:%Y-%m-%d %H:%M:%S} UTC" if record.ended_at else "-"),
        ],
        "plan": json.dumps(record.plan, indent=2, ensure_ascii=False),
    }


def cell_table(cells: Sequence[CellResult], chosen: Sequence[str] | None = None) -> CellTable:
    """Every cell with all its metrics, each column in one unit that is easy to read."""
    names = metric_names(cells)
    first = [name for name in chosen or names[:8] if name in names]
    names = [*first, *(name for name in names if name not in first)] if len(cells) <= MOST_WITH_ALL_METRICS else first
    scales = {name: _scale_of(name, cells) for name in names}
    parameters = list(dict.fromkeys(name for cell in cells for name in cell.cell.parameters))
    return CellTable(
        parameters,
        [Column(name, scales[name][1]) for name in names],
        frozenset(names[len(first) :]),
        [
            CellLine(
                [_parameter(cell.cell.parameters.get(name, "-")) for name in parameters],
                cell.cell.repetition,
                str(cell.certificate.verdict),
                [_number(cell, name, scales[name][0]) for name in names],
            )
            for cell in cells
        ],
    )


def details(cell: CellResult, *, series: bool, whole: bool) -> Details:
    """What lies behind a cell's verdict; its series, and the whole certificate as JSON, if they are wanted."""
    found = cell.certificate.found
    told = [(name, _fact(found[name])) for name in _FACTS if name in found]
    trips = _readable(lambda: certificates.path_rows(cell.certificate), [])
    return Details(
        label=cell.cell.label,
        verdict=str(cell.certificate.verdict),
        reasons=cell.certificate.reasons,
        facts=[*told, *((f"round trip {name}", trip) for name, trip in trips)],
        courses=[
            (name, _readable(lambda key=key: certificates.course(found[key]), "-"))
            for name, key in _COURSES.items()
            if found.get(key)
        ],
        links=_readable(lambda: certificates.link_rows(cell.certificate), []),
        series=list(cell.measurement.series.items()) if series else [],
        document=json.dumps({"certificate": found, "metadata": cell.measurement.metadata}, indent=1, default=str)
        if whole
        else "",
    )


def commands(record: RunRecord) -> str:
    """The lines of a shell that repeat a run as exactly as this machine allows, and show it again."""
    command = shlex.join(record.command)
    as_root = record.environment.get("root") == "real"
    program = [str(record.environment[name]) for name in ("flightpath", "commit") if name in record.environment]
    return "\n".join(
        [
            *([f"# Flightpath {', commit '.join(program)}"] if program else []),
            "sudo make setup",
            f"sudo {command}" if as_root else command,
            "python -m results show latest",
        ]
    )


def _readable(make: Callable[[], _Made], otherwise: _Made) -> _Made:
    """What can be made of facts that may come from anybody's file; something else where they are not as expected."""
    try:
        return make()
    except (TypeError, ValueError, KeyError, AttributeError, IndexError, ArithmeticError):
        return otherwise


def _certificate_row(cell: CellResult) -> certificates.CellRow:
    unknown = certificates.CellRow(cell.cell.label, cell.certificate.verdict, *(6 * [certificates.NONE]))
    return _readable(lambda: certificates.cell_row(cell), unknown)


def _scale_of(name: str, cells: Sequence[CellResult]) -> tuple[float, str]:
    metrics = [cell.measurement.metrics[name] for cell in cells if name in cell.measurement.metrics]
    units = {metric.unit for metric in metrics}
    return scale((metric.value for metric in metrics), units.pop()) if len(units) == 1 else (1.0, "several units")


def _number(cell: CellResult, name: str, factor: float) -> Number:
    metric = cell.measurement.metrics.get(name)
    if metric is None:
        return Number("-", "")
    text = short(metric.value * factor)
    if metric.low is not None and metric.high is not None:
        text += f" ({short(metric.low * factor)} to {short(metric.high * factor)})"
    return Number(text, repr(metric.value))


def _parameter(value: ParameterValue) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _fact(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def _left_out(cells: int) -> str:
    if cells <= MOST_WITH_SERIES:
        return ""
    left_out = [
        (MOST_WITH_SERIES, "what was recorded over time"),
        (MOST_WITH_DETAILS, f"the certificates of all but {MOST_WITH_DETAILS} cells in full"),
        (MOST_WITH_ALL_METRICS, "metrics other than the first"),
    ]
    what = "; ".join(words for most, words in left_out if cells > most)
    return f"With {cells} cells this page would be too long, so it lacks: {what}. The export has all of it."


def _figure(path: Path) -> Mapping[str, Any]:
    """An SVG file's content for an HTML page: without its prolog, and with its ids made its own."""
    text = path.read_text(encoding="utf-8")
    text = text[text.index("<svg") :]
    prefix = re.sub(r"\W", "_", path.stem)
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}-", text)
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # A style sheet in a figure would hold for the whole page.
    text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
    title = re.search(r"<title>(.*?)</title>", text)
    label = title[1].replace('"', "&quot;") if title else prefix
    text = text.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
    return {"name": path.stem, "svg": Markup(text)}  # matplotlib has escaped every text in it
