"""Template variables of a run, for the report and the dashboard."""

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from results.figures.chart import words_of
from results.figures.network import network_drawings
from results.pages.explored import means_chart, over_time
from results.records import CellResult, Run, RunRecord, Series
from results.summary.certificates import LATENESS_BINS, certificate_row, link_rows, round_trips, sparkline
from results.summary.facts import Facts, read_facts
from results.summary.means import means_table, metric_names
from results.summary.numbers import interval_text, parameter_text, scale, short
from results.summary.runs import headlines, run_facts, status_text
from results.summary.verdicts import badge_text, overall

MAX_WITH_ALL_METRICS, MAX_WITH_DETAILS, MAX_WITH_SERIES = 2000, 200, 60
"""Maximum numbers of cells that a page shows in such detail; more would be too much for a browser."""

_TESTBED = ("emulator", "datapath", "kernel", "ticks_hz")
_RUN_FACTS = ("run", "scenario", "form", "started", "ended")


def run_content(
    record: RunRecord, cells: Sequence[CellResult], *, whole: bool = True, beside: Sequence[Run] = ()
) -> dict[str, Any]:
    """Returns the variables of the templates that show a run.

    `whole` includes the certificates as JSON, and the series. `beside` are other runs in its charts.
    """
    chosen = headlines(record)
    checked = [read_facts(cell.certificate) for cell in cells]
    with_details = list(zip(cells, checked, strict=True))[:MAX_WITH_DETAILS]
    facts = run_facts(record)
    runs = [(record, cells), *beside]
    chart = means_chart(runs, chosen or metric_names(cells))
    over_time_json = over_time([(each, members[:MAX_WITH_SERIES]) for each, members in runs]) if whole else ""
    return {
        "record": record,
        "status": status_text(record),
        "started": f"{record.started_at:%Y-%m-%d %H:%M} UTC",
        "badge": badge_text(cells),
        "verdict": str(overall(cells)),
        "headlines": means_table(cells, chosen),
        "means": Markup(chart.json) if chart else "",
        "over_time": Markup(over_time_json if over_time_json != "[]" else ""),
        "sources": "",
        "all_means": means_table(cells, metric_names(cells)) if len(cells) <= MAX_WITH_ALL_METRICS else None,
        "networks": network_drawings([facts for facts, _ in checked[:MAX_WITH_ALL_METRICS]]),
        "cells": _cell_table(cells, chosen) if cells else None,
        "certificates": [certificate_row(cell, facts) for cell, (facts, _) in zip(cells, checked, strict=True)],
        "details": [
            _details(cell, *read, series=number < MAX_WITH_SERIES, whole=whole)
            for number, (cell, read) in enumerate(with_details)
        ],
        "bin_names": LATENESS_BINS,
        "omissions": _omissions(len(cells)),
        "commands": _commands(record),
        "environment": [(name, _text(value)) for name, value in record.environment.items()],
        "facts": [(name, facts[name]) for name in _RUN_FACTS],
        "plan": json.dumps(record.plan, indent=2, ensure_ascii=False),
    }


def _cell_table(cells: Sequence[CellResult], first: Sequence[str] | None) -> dict[str, Any]:
    """Returns all cells with their metrics, each column in a unit that is easy to read; named metrics come first.

    The columns in `extra` are shown on request only.
    """
    names = metric_names(cells)
    shown = [name for name in first or names[:8] if name in names]
    extra = [name for name in names if name not in shown] if len(cells) <= MAX_WITH_ALL_METRICS else []
    scales = {name: _scale(cells, name) for name in [*shown, *extra]}
    parameters = list(dict.fromkeys(name for cell in cells for name in cell.cell.parameters))
    return {
        "parameters": parameters,
        "columns": {name: unit for name, (_, unit) in scales.items()},
        "extra": extra,
        "rows": [
            {
                "parameters": [parameter_text(cell.cell.parameters.get(name, "-")) for name in parameters],
                "of": json.dumps(words_of(cell.cell.parameters, cell.cell.repetition)),
                "repetition": cell.cell.repetition,
                "verdict": str(cell.certificate.verdict),
                "metrics": {name: _number(cell, name, factor) for name, (factor, _) in scales.items()},
            }
            for cell in cells
        ],
    }


def _details(cell: CellResult, facts: Facts, problems: Sequence[str], *, series: bool, whole: bool) -> dict[str, Any]:
    """Returns the details of a cell: its certificate, the unreadable parts of it, and its series."""
    found = cell.certificate.found
    testbed = [(name, _text(found[name])) for name in _TESTBED if name in found]
    processor = {"idle CPU per second": facts.idle_cpu_percent, "steal per second": facts.steal_percent}
    document = {"certificate": found, "metadata": cell.measurement.metadata}
    return {
        "label": cell.cell.label,
        "verdict": str(cell.certificate.verdict),
        "reasons": cell.certificate.reasons,
        "problems": problems,
        "facts": [*testbed, *((f"round trip {name}", time) for name, time in round_trips(facts))],
        "processor": [(name, sparkline(values)) for name, values in processor.items() if values],
        "links": link_rows(facts),
        "series": series_rows(cell.measurement.series) if series else [],
        "document": json.dumps(document, indent=1, default=str) if whole else "",
    }


def series_rows(series: Mapping[str, Series]) -> list[tuple[str, str, list[str]]]:
    """Returns name, unit, and the last, least, mean and largest value of each series that has values."""
    rows = []
    for name, one in series.items():
        if values := one.values:
            factor, unit = scale(values, one.unit)
            mean = sum(value / len(values) for value in values)
            rows.append((name, unit, [short(each * factor) for each in (values[-1], min(values), mean, max(values))]))
    return rows


def _commands(record: RunRecord) -> str:
    """Returns the shell commands that repeat a run and show its results."""
    command = shlex.join(record.command)
    needs_root = record.environment.get("root") == "real"
    program = [str(record.environment[name]) for name in ("flightpath", "commit") if name in record.environment]
    return "\n".join(
        [
            *([f"# Flightpath {', commit '.join(program)}"] if program else []),
            "sudo make setup",
            f"sudo {command}" if needs_root else command,
            "flightpath results show latest",
        ]
    )


def _scale(cells: Sequence[CellResult], name: str) -> tuple[float, str]:
    metrics = [cell.measurement.metrics[name] for cell in cells if name in cell.measurement.metrics]
    units = {metric.unit for metric in metrics}
    return scale((metric.value for metric in metrics), units.pop()) if len(units) == 1 else (1.0, "several units")


def _number(cell: CellResult, name: str, factor: float) -> tuple[str, str]:
    """Returns a metric as text, and the bare number to sort by."""
    metric = cell.measurement.metrics.get(name)
    return (interval_text(metric.value, metric.low, metric.high, factor), repr(metric.value)) if metric else ("-", "")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def _omissions(cells: int) -> str:
    """Returns a sentence about the omissions of a page with this number of cells; empty if there are none."""
    limits = [
        (MAX_WITH_SERIES, f"what was recorded over time in all but {MAX_WITH_SERIES} cells"),
        (MAX_WITH_DETAILS, f"the certificates of all but {MAX_WITH_DETAILS} cells in full"),
        (MAX_WITH_ALL_METRICS, "metrics other than the first"),
    ]
    if not (omitted := "; ".join(words for most, words in limits if cells > most)):
        return ""
    return f"With {cells} cells this page would be too long, so it lacks: {omitted}. The export has all of it."
