"""A run in words and tables: without this module its figures would have no numbers, verdicts or claims beside them."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup
from rich.console import Console
from rich.table import Table
from rich.text import Text

from results import certificates
from results.records import CellResult, Claim, ClaimVerdict, Metric, ParameterValue, Verdict
from results.statistics import Summary, group, summarise, usable
from results.store import RunRecord, Store
from results.style import badge_text, overall

_HEADLINES = 5
"""As many metrics fit in a table of 100 columns; a scenario records the most telling first."""

_COLOURS = {
    Verdict.FAITHFUL: "green",
    Verdict.DEGRADED: "yellow",
    Verdict.UNUSABLE: "red",
    ClaimVerdict.REPRODUCED: "green",
    ClaimVerdict.NOT_REPRODUCED: "red",
    ClaimVerdict.NOT_TESTED: "yellow",
}


@dataclass(frozen=True)
class Row:
    """One parameter group as a table shows it.

    Attributes:
        parameters: what its cells share.
        values: text by metric, in the columns' units; `-` where none was measured.
        verdict: the worst verdict of the cells that the means are made of.
        note: how many cells that were, and how many were left out.
    """

    parameters: Mapping[str, ParameterValue]
    values: Mapping[str, str]
    verdict: Verdict
    note: str


@dataclass(frozen=True)
class Overview:
    """Means with intervals for each parameter group; `columns` gives each metric's unit as shown."""

    columns: Mapping[str, str]
    rows: Sequence[Row]


def as_json(store: Store, run_id: str) -> dict[str, Any]:
    """A run as the one object that `--json` prints; its verdict is that of its worst cell, null if it has none."""
    record, cells = store.run(run_id), store.cells(run_id)
    return {
        "run": record.run_id,
        "scenario": record.scenario,
        "verdict": str(overall(cells)) if cells else None,
        "cells": [
            {
                "parameters": dict(cell.cell.parameters),
                "repetition": cell.cell.repetition,
                "verdict": str(cell.certificate.verdict),
                "metrics": {name: _metric_json(metric) for name, metric in cell.measurement.metrics.items()},
            }
            for cell in cells
        ],
        "claims": [
            {"claim": c.claim, "paper": c.paper, "measured": c.measured, "verdict": claim_verdict(c)}
            for c in store.claims(run_id)
        ],
    }


def claim_verdict(claim: Claim) -> str:
    """A claim's verdict in words; `not tested here` says why."""
    if claim.verdict is ClaimVerdict.NOT_TESTED and claim.why:
        return f"{claim.verdict} ({claim.why})"
    return str(claim.verdict)


def overview(cells: Sequence[CellResult], metrics: Sequence[str] | None = None) -> Overview:
    """Means with intervals over the believable repetitions of each parameter group.

    Args:
        cells: the cells of one run.
        metrics: which metrics; the first few that the cells recorded by default.
    """
    names = list(metrics) if metrics is not None else metric_names(cells)[:_HEADLINES]
    by_metric = {name: summarise(cells, name) for name in names}
    scales = {name: _scale(summaries) for name, summaries in by_metric.items()}
    rows = []
    for members in group(cells).values():
        parameters = members[0].cell.parameters
        values = {
            name: next((_value_text(s, scales[name][0]) for s in summaries if s.parameters == parameters), "-")
            for name, summaries in by_metric.items()
        }
        used = usable(members)
        verdict = Verdict.worst([cell.certificate.verdict for cell in used or members])
        rows.append(Row(parameters, values, verdict, _note(len(used), len(members))))
    return Overview({name: scales[name][1] for name in names}, rows)


def headlines(record: RunRecord) -> list[str] | None:
    """The metrics that the run's scenario puts first, as its plan names them; None if it names none."""
    return record.plan.get("headlines")


def metric_names(cells: Sequence[CellResult]) -> list[str]:
    """All metrics of some cells, in the order in which they were recorded."""
    return list(dict.fromkeys(name for cell in cells for name in cell.measurement.metrics))


def print_summary(console: Console, cells: Sequence[CellResult], metrics: Sequence[str] | None = None) -> None:
    """Prints means with intervals by parameter group, and the verdict on all cells in words."""
    shown = overview(cells, metrics)
    parameters = list(shown.rows[0].parameters) if shown.rows else []
    table = Table(
        caption="mean ± half of the 95 % interval (cells; unusable ones left out)", caption_justify="left", expand=False
    )
    for name in parameters:
        table.add_column(name)
    for name, unit in shown.columns.items():
        words = name.replace("_", " ") if console.is_terminal else name  # words wrap on a narrow terminal
        table.add_column(Text(f"{words}\n({unit})"), justify="right", overflow="fold")
    table.add_column("verdict", no_wrap=True)
    for row in shown.rows:
        table.add_row(
            *[Text(f"{value:.4g}" if isinstance(value, float) else str(value)) for value in row.parameters.values()],
            *[Text(text) for text in row.values.values()],
            Text(f"{row.verdict}{row.note}", style=_COLOURS[row.verdict]),
        )
    _print_wide(console, table)
    console.print(Text(badge_text(cells), style=_COLOURS[overall(cells)]), soft_wrap=True)


def print_claims(console: Console, claims: Sequence[Claim]) -> None:
    """Prints the paper's claims beside what was measured; nothing if there are none."""
    if not claims:
        return
    table = Table(title="The paper's claims", title_justify="left", show_lines=True)
    for heading in ("claim", "paper", "measured", "verdict"):
        table.add_column(heading, overflow="fold")
    for claim in claims:
        verdict = Text(str(claim.verdict), style=_COLOURS[claim.verdict])
        verdict.append(f"\n{claim.why}" if claim.why else "", style="default")
        table.add_row(Text(claim.claim), Text(claim.paper), Text(claim.measured or "-"), verdict)
    _print_wide(console, table)


def print_certificates(console: Console, cells: Sequence[CellResult], *, links: bool = False) -> None:
    """Prints how well the testbed did what it was told, a line per cell, and each ground for a doubt.

    Args:
        console: where to.
        cells: the cells of one run.
        links: every link of every cell as well.
    """
    table = Table(
        title="Fidelity (of each cell the worst link)",
        title_justify="left",
        caption="rate and round trip: found less asked, before the load; late: 99th percentile during it",
        caption_justify="left",
    )
    for heading in ("cell", "verdict", "rate", "round trip", "late", "dropped", "idle CPU", "steal"):
        table.add_column(heading, overflow="fold")
    for cell in cells:
        row = certificates.cell_row(cell)
        told = Text(str(row.verdict), style=_COLOURS[row.verdict])
        words = (row.rate, row.rtt, row.late, row.drops, row.idle, row.steal)
        table.add_row(Text(row.label), told, *map(Text, words))
    _print_wide(console, table)
    for cell in cells:
        for reason in cell.certificate.reasons:
            console.print(Text(f"{cell.cell.label}: {reason}"), soft_wrap=True)
        if links:
            _print_links(console, cell)


def _print_links(console: Console, cell: CellResult) -> None:
    rows = certificates.link_rows(cell.certificate)
    if not rows:
        return
    console.print(Text(f"\n{cell.cell.label}"), style="bold", soft_wrap=True)
    for name, key in (("idle", "idle_cpu_percent"), ("steal", "steal_percent")):
        console.print(Text(f"{name:<6}{certificates.course(cell.certificate.found.get(key) or ())}"), soft_wrap=True)
    table = Table(caption=f"lateness: p50 / p99 / max, shares {', '.join(certificates.LATENESS_BINS)}")
    headings = ("link", "asked", "rate", "round trip", "packets", "dropped", "lateness", "", "super-frames", "CPU")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(
            *map(Text, (row.name, row.asked, row.rate, row.rtt, row.packets, row.drops, row.lateness)),
            *map(Text, (certificates.bins_course(row.late_bins), row.super_frames, row.cpu)),
        )
    _print_wide(console, table)
    for row in rows:
        if row.notes:
            console.print(Text(f"{row.name}: {row.notes}"), soft_wrap=True)


def print_run(console: Console, record: RunRecord) -> None:
    """Prints what a run was: scenario, status, times, command, environment."""
    for name, value in run_facts(record).items():
        console.print(Text(f"{name:<12} {value}"), soft_wrap=True)


def print_runs(console: Console, store: Store, scenario: str | None = None) -> None:
    """Prints a table of the runs, oldest first."""
    counts = store.cell_counts()
    table = Table()
    for heading in ("run", "scenario", "form", "status", "cells", "verdict"):
        table.add_column(heading, no_wrap=heading == "run")
    for record in store.runs(scenario):
        of_run = counts.get(record.run_id, {})
        verdict = Verdict.worst(list(of_run)) if of_run else None
        table.add_row(
            *[Text(word) for word in (record.run_id, record.scenario, str(record.plan.get("form", "-")))],
            Text(_status(record)),
            str(sum(of_run.values())),
            Text(str(verdict), style=_COLOURS[verdict]) if verdict else "-",
        )
    _print_wide(console, table)


def run_facts(record: RunRecord) -> dict[str, str]:
    """What a reader wants to know of a run, as text by name."""
    environment = ", ".join(f"{name} {value}" for name, value in record.environment.items())
    return {
        "run": record.run_id,
        "scenario": record.scenario,
        "form": str(record.plan.get("form", "-")),
        "status": _status(record),
        "started": f"{record.started_at:%Y-%m-%d %H:%M:%S} UTC",
        "ended": f"{record.ended_at:%Y-%m-%d %H:%M:%S} UTC" if record.ended_at else "-",
        "environment": environment or "-",
        "command": shlex.join(record.command),
    }


def render_html(store: Store, run_id: str, figures: Sequence[Path] = ()) -> str:
    """A run as one HTML page that needs no other file.

    Args:
        store: where the run is.
        run_id: the run.
        figures: figures to show; only SVG files are, written into the page.
    """
    record, cells = store.run(run_id), store.cells(run_id)
    environment = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True)
    return environment.get_template("report.html").render(
        record=record,
        facts=run_facts(record),
        badge=badge_text(cells),
        verdict=str(overall(cells)),
        figures=[_inline_svg(path) for path in figures if path.suffix == ".svg"],
        overview=overview(cells, metric_names(cells)),
        headlines=overview(cells, headlines(record)),
        claims=store.claims(run_id),
        cells=cells,
        certificates=certificates,
        plan=record.plan,
    )


def _inline_svg(path: Path) -> Markup:
    """An SVG file's content for an HTML page: without its prolog, and with its ids made its own."""
    text = path.read_text(encoding="utf-8")
    text = text[text.index("<svg") :]
    prefix = re.sub(r"\W", "_", path.stem)
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}-", text)
    return Markup(text)  # drawn by results.style: matplotlib has escaped every text in it


def _metric_json(metric: Metric) -> dict[str, Any]:
    return {"value": metric.value, "unit": metric.unit, "low": metric.low, "high": metric.high}


def _status(record: RunRecord) -> str:
    return "running, or killed" if record.status == "running" else str(record.status)


def _scale(summaries: Sequence[Summary]) -> tuple[float, str]:
    """Factor and unit in which a column's values are easy to read."""
    unit = summaries[0].unit if summaries else "-"
    largest = max((abs(s.estimate.value) for s in summaries), default=0.0)
    if unit == "bit/s":
        for factor, prefix in ((1e-9, "G"), (1e-6, "M"), (1e-3, "k")):
            if largest * factor >= 1:
                return factor, f"{prefix}bit/s"
    return 1.0, "count" if unit == "1" else unit


def _value_text(summary: Summary, factor: float) -> str:
    estimate = summary.estimate
    text = _short(estimate.value * factor)
    return text if estimate.half_width is None else f"{text} ± {estimate.half_width * factor:.2g}"


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _note(used: int, measured: int) -> str:
    if used in (0, measured):
        return f" ({measured})"
    return f" ({used} of {measured})"


def _print_wide(console: Console, table: Table) -> None:
    """Prints a table; into a file or pipe at its full width, so that nothing is cut off."""
    if not console.is_terminal:
        console = Console(file=console.file, width=max(console.width, 160))
    console.print(table)
