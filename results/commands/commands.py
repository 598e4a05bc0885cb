"""What each command of `python -m results` does with the store: without it they would be words that do nothing."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console

from flightpath.errors import UsageError
from results.commands.scenarios import scenario_named
from results.comparison.compare import Compared, compare_runs, compare_with_history
from results.comparison.differences import differences
from results.figures.drawing import Draw, draw_figures
from results.pages.report import (
    as_json,
    print_certificates,
    print_claims,
    print_compared,
    print_differences,
    print_run,
    print_runs,
    print_summary,
)
from results.records import CellResult, RunRecord, Verdict
from results.store.filters import RunFilter, machine
from results.store.listing import listed, worst
from results.store.location import place_of
from results.store.ownership import give_to_caller
from results.store.store import Store
from results.summary.overview import headlines, metric_names

SHOWN = 100
"""Runs in a list that nobody asked to be longer."""

_Result = TypeVar("_Result")


def list_runs(options: argparse.Namespace) -> None:
    """Prints the runs that the filters leave."""
    store = opened(options)
    if options.last is not None and options.last < 1:
        raise UsageError(f"list: --last {options.last} is no number of runs")
    found = listed(store, RunFilter.parse(vars(options)), options.last or (None if options.json else SHOWN))
    if options.json:
        print(json.dumps({"runs": [_run_json(record, counts) for record, counts in found.runs]}, indent=2))
        return
    print_runs(Console(), found.runs)
    if len(found.runs) < found.found:
        print(f"the newest {len(found.runs)} of {found.found} runs; filters or --last N show others", file=sys.stderr)


def show(options: argparse.Namespace) -> None:
    """Prints one run."""
    store = opened(options)
    if options.json:
        print(json.dumps(as_json(store, options.run), indent=2))
        return
    record, cells, console = store.run(options.run), store.cells(options.run), Console()
    print_run(console, record)
    if cells:
        chosen = _chosen_metrics(options.metrics, metric_names(cells)) or headlines(record)
        print_summary(console, cells, chosen)
        print_certificates(console, cells, links=options.certificates)
    print_claims(console, store.claims(options.run))


def compare(options: argparse.Namespace) -> None:
    """Prints how the first run, or its history, differs from the others."""
    store = opened(options)
    sides = [(store.run(run), store.cells(run, series=False)) for run in options.runs]
    if options.history is None and len(sides) < 2:
        raise UsageError("compare: one run alone cannot be compared", "name another, or say --history 10")
    if options.history is not None:
        sides = [*_history(store, options), sides[0]]
    known = metric_names([cell for _, cells in sides for cell in cells])
    metrics = _chosen_metrics(options.metrics, known)
    if options.history is not None:
        found = [compare_with_history(sides[:-1], sides[-1], metrics)]
    else:
        found = [compare_runs(sides[0], side, metrics) for side in sides[1:]]
    differing = differences(sides)
    if options.json:
        runs = [record.run_id for record, _ in sides]
        told = [{"kind": d.kind, "name": d.name, "values": list(d.values)} for d in differing]
        print(json.dumps({"runs": runs, "compared": [_compared_json(c) for c in found], "differences": told}, indent=2))
        return
    for compared in found:
        print_compared(Console(), compared)
    print_differences(Console(), [record.run_id for record, _ in sides], differing)


def plot(options: argparse.Namespace) -> None:
    """Draws a run's figures."""
    store = opened(options)
    figures = figures_of(store.run(options.run).scenario)
    cells = store.cells(options.run)
    if not cells:
        raise UsageError(f"run {store.resolve(options.run)} has no cells to draw")
    folder = options.output or store.artifacts(options.run)
    for path in _written(folder, lambda: draw_figures(figures, cells, folder)):
        print(path)


def report(options: argparse.Namespace) -> None:
    """Writes a run's page."""
    from results.pages.page import render_html  # templates and drawings of networks, which no other command needs
    from results.pages.pdf import browser, print_pdf

    store = opened(options)
    if options.pdf:
        browser()  # before half a minute is spent on figures
    record, cells = store.run(options.run), store.cells(options.run)
    target: Path = options.output or store.artifacts(options.run) / ("report.pdf" if options.pdf else "report.html")
    figures = drawn(record, cells, store.artifacts(options.run))
    page = render_html(store, record.run_id, figures, question_of(record.scenario))
    if options.pdf:
        print_pdf(page, target)
    else:
        _written(target, lambda: target.write_text(page, encoding="utf-8"))
    give_to_caller(target)
    print(target)


def drawn(record: RunRecord, cells: Sequence[CellResult], folder: Path) -> list[Path]:
    """A run's figures, drawn again; none, with a warning, if nothing can be drawn: its tables are worth a page too."""
    try:
        return draw_figures(figures_of(record.scenario), cells, folder) if cells else []
    except Exception as error:  # the scenario may need what this machine does not have
        print(f"warning: the report has no figures: {error}", file=sys.stderr)
        return []


def serve(options: argparse.Namespace) -> None:
    """Serves the dashboard until it is interrupted."""
    from results.dashboard.server import serve as serve_store  # a web server, which no other command needs

    serve_store(opened(options), drawn, options.port)


def opened(options: argparse.Namespace) -> Store:
    """The store that a command looks at."""
    return Store.open(place_of(options), create=False)


def figures_of(scenario: str) -> Mapping[str, Draw]:
    """The functions that draw a scenario's figures, by name.

    Raises:
        UsageError: this installation has no such scenario.
    """
    found = scenario_named(scenario)
    if found is None:
        raise UsageError(f"the scenario {scenario!r} is not in this installation")
    return found.figures


def question_of(scenario: str) -> str:
    """What a scenario asks, in a sentence; empty if this installation does not know it."""
    found = scenario_named(scenario)
    return found.summary if found else ""


def _history(store: Store, options: argparse.Namespace) -> list[tuple[RunRecord, Sequence[CellResult]]]:
    if len(options.runs) != 1 or options.history < 1:
        raise UsageError("compare: --history takes one run, and at least one run before it")
    record = store.run(options.runs[0])
    earlier = store.finished_before(record, options.history)
    if not earlier:
        raise UsageError(f"no run of {record.scenario} was finished before {record.run_id}")
    return [(each, store.cells(each.run_id, series=False)) for each in earlier]


def _written(target: Path, write: Callable[[], _Result]) -> _Result:
    try:
        return write()
    except OSError as error:
        raise UsageError(
            f"cannot write {target}: {error.strerror or error}", "choose another place: --output"
        ) from error


def _chosen_metrics(text: str | None, known: Sequence[str]) -> list[str] | None:
    if text is None:
        return None
    if text == "all":
        return list(known)
    for name in (chosen := text.split(",")):
        if name not in known:
            raise UsageError(f"--metrics: there is no metric {name!r}", f"metrics: {', '.join(known)}")
    return chosen


def _run_json(record: RunRecord, counts: Mapping[Verdict, int]) -> dict[str, Any]:
    verdict = worst(counts)
    return {
        "run": record.run_id,
        "scenario": record.scenario,
        "form": record.plan.get("form"),
        "status": str(record.status),
        "machine": machine(record),
        "started_at": record.started_at.isoformat(),
        "ended_at": record.ended_at.isoformat() if record.ended_at else None,
        "cells": {str(name): count for name, count in counts.items()},
        "verdict": str(verdict) if verdict else None,
    }


def _compared_json(compared: Compared) -> dict[str, Any]:
    return {
        "before": compared.before,
        "after": compared.after,
        "sentence": compared.sentence,
        "comparisons": [
            {
                "metric": each.metric,
                "parameters": dict(each.parameters),
                "change": str(each.change),
                "before": each.effect.before if each.effect else None,
                "after": each.effect.after if each.effect else None,
                "difference": each.effect.change.value if each.effect else None,
                "low": each.effect.change.low if each.effect else None,
                "high": each.effect.change.high if each.effect else None,
                "unit": "%" if each.effect and each.effect.relative else each.unit,
                "p": each.effect.p if each.effect else None,
                "verdict": str(each.verdict),
            }
            for each in compared.comparisons
        ],
        "only_before": list(compared.only_before),
        "only_after": list(compared.only_after),
        "notes": list(compared.notes),
    }
