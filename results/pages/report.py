"""A run in words and tables: without this module its figures would have no numbers, verdicts or claims beside them."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from flightpath.terminal import plain, print_table
from results.comparison.compare import Change, Compared
from results.comparison.differences import Difference
from results.records import CellResult, Claim, ClaimVerdict, Metric, RunRecord, Verdict
from results.store.filters import machine
from results.store.store import Store
from results.summary import certificates
from results.summary.badge import badge_text, overall
from results.summary.overview import overview, run_facts, status_words

_COLOURS = {
    Verdict.FAITHFUL: "green",
    Verdict.DEGRADED: "yellow",
    Verdict.UNUSABLE: "red",
    ClaimVerdict.REPRODUCED: "green",
    ClaimVerdict.NOT_REPRODUCED: "red",
    ClaimVerdict.NOT_TESTED: "yellow",
}

_CHANGES = {Change.FASTER: "green", Change.SLOWER: "red", Change.MORE: "bold", Change.LESS: "bold"}


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
        table.add_column(_plain(f"{words}\n({unit})"), justify="right", overflow="fold")
    table.add_column("verdict", no_wrap=True)
    for row in shown.rows:
        table.add_row(
            *[_plain(f"{value:.4g}" if isinstance(value, float) else str(value)) for value in row.parameters.values()],
            *[_plain(text) for text in row.values.values()],
            _plain(f"{row.verdict}{row.note}", style=_COLOURS[row.verdict]),
        )
    print_table(console, table)
    console.print(_plain(badge_text(cells), style=_COLOURS[overall(cells)]), soft_wrap=True)


def print_claims(console: Console, claims: Sequence[Claim]) -> None:
    """Prints each claim beside what was measured; nothing if there are none."""
    if not claims:
        return
    table = Table(title="Claims", title_justify="left", show_lines=True)
    for heading in ("claim", "claimed", "measured", "verdict"):
        table.add_column(heading, overflow="fold")
    for claim in claims:
        verdict = _plain(str(claim.verdict), style=_COLOURS[claim.verdict])
        verdict.append(f"\n{claim.why}" if claim.why else "", style="default")
        table.add_row(_plain(claim.claim), _plain(claim.paper), _plain(claim.measured or "-"), verdict)
    print_table(console, table)


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
        told = _plain(str(row.verdict), style=_COLOURS[row.verdict])
        words = (row.rate, row.rtt, row.late, row.drops, row.idle, row.steal)
        table.add_row(_plain(row.label), told, *map(_plain, words))
    print_table(console, table)
    for cell in cells:
        for reason in cell.certificate.reasons:
            console.print(_plain(f"{cell.cell.label}: {reason}"), soft_wrap=True)
        if links:
            _print_links(console, cell)


def _print_links(console: Console, cell: CellResult) -> None:
    rows = certificates.link_rows(cell.certificate)
    if not rows:
        return
    console.print(_plain(f"\n{cell.cell.label}"), style="bold", soft_wrap=True)
    for name, key in (("idle", "idle_cpu_percent"), ("steal", "steal_percent")):
        console.print(_plain(f"{name:<6}{certificates.course(cell.certificate.found.get(key) or ())}"), soft_wrap=True)
    table = Table(caption=f"lateness: p50 / p99 / max, shares {', '.join(certificates.LATENESS_BINS)}")
    headings = ("link", "asked", "rate", "round trip", "packets", "dropped", "lateness", "", "super-frames", "CPU")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(
            *map(_plain, (row.name, row.asked, row.rate, row.rtt, row.packets, row.drops, row.lateness)),
            *map(_plain, (certificates.bins_course(row.late_bins), row.super_frames, row.cpu)),
        )
    print_table(console, table)
    for row in rows:
        if row.notes:
            console.print(_plain(f"{row.name}: {row.notes}"), soft_wrap=True)


def print_run(console: Console, record: RunRecord) -> None:
    """Prints what a run was: scenario, status, times, command, environment."""
    for name, value in run_facts(record).items():
        console.print(_plain(f"{name:<12} {value}"), soft_wrap=True)


def print_runs(console: Console, runs: Sequence[tuple[RunRecord, Mapping[Verdict, int]]]) -> None:
    """Prints a table of runs, each with how many cells it has of each verdict."""
    table = Table()
    for heading in ("run", "scenario", "form", "machine", "status", "cells", "verdict"):
        table.add_column(heading, no_wrap=heading == "run")
    for record, counts in runs:
        verdict = Verdict.worst(list(counts)) if counts else None
        words = (record.run_id, record.scenario, record.plan.get("form", "-"), machine(record), status_words(record))
        table.add_row(
            *map(_plain, words),
            str(sum(counts.values())),
            _plain(verdict, style=_COLOURS[verdict]) if verdict else "-",
        )
    print_table(console, table)


def print_compared(console: Console, compared: Compared) -> None:
    """Prints what changed between two runs: in a sentence, metric by metric, and point by point."""
    table = Table(
        caption="change of the mean with its 95 % interval; what it shows considers how many changes were looked at",
        caption_justify="left",
    )
    for heading in ("metric", "at", "before", "after", "change", "shows"):
        table.add_column(heading, justify="right" if heading in ("before", "after", "change") else "left")
    for each in compared.comparisons:
        shown = _plain(each.change, style=_CHANGES.get(each.change, ""))
        table.add_row(*map(_plain, (each.metric, each.point, *each.means_text, each.change_text)), shown)
    if compared.comparisons:
        print_table(console, table)
    for sentence in [*compared.sentences, *compared.notes]:
        console.print(_plain(sentence), soft_wrap=True)
    for side, points in ((compared.before, compared.only_before), (compared.after, compared.only_after)):
        if points:
            console.print(_plain(f"only in {side}: {'; '.join(points)}"), soft_wrap=True)
    console.print(_plain(compared.sentence), style="bold", soft_wrap=True)


def print_differences(console: Console, runs: Sequence[str], found: Sequence[Difference]) -> None:
    """Prints in what else runs differ: what was asked for, where they ran, what was found there."""
    if not found:
        console.print("They were asked for and made alike: same plan, same environment, same testbed.")
        return
    table = Table(title="What else differs", title_justify="left", show_lines=len(runs) > 2)
    for heading in ("", "", *runs):
        table.add_column(_plain(heading), overflow="fold")
    for difference in found:
        table.add_row(*map(_plain, (difference.kind, difference.name, *difference.values)))
    print_table(console, table)


def _metric_json(metric: Metric) -> dict[str, Any]:
    return {"value": metric.value, "unit": metric.unit, "low": metric.low, "high": metric.high}


def _plain(value: object, style: str = "") -> Text:
    return plain(value, style, keep="\n\t")
