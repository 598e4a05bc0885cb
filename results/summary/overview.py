"""Means in words: without this each table and page would round, scale and leave out in its own way."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from results.records import CellResult, ParameterValue, RunRecord, Verdict
from results.statistics.estimates import Summary, group, summarise, usable

_HEADLINES = 5
"""As many metrics fit in a table of 100 columns; a scenario records the most telling first."""


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


def overview(cells: Sequence[CellResult], metrics: Sequence[str] | None = None) -> Overview:
    """Means with intervals over the believable repetitions of each parameter group.

    Args:
        cells: the cells of one run.
        metrics: which metrics; the first few that the cells recorded by default.
    """
    names = list(metrics) if metrics is not None else metric_names(cells)[:_HEADLINES]
    axes = list(cells[0].cell.parameters) if cells else []
    scales, texts = {}, {}
    for name in names:
        summaries = _summaries(cells, name, axes)
        scales[name] = scale([s.estimate.value for s in summaries], summaries[0].unit if summaries else "-")
        texts[name] = {tuple(s.parameters.values()): _value_text(s, scales[name][0]) for s in summaries}
    rows = []
    for key, members in group(cells, axes).items():
        parameters = members[0].cell.parameters
        values = {name: texts[name].get(key, "-") for name in names}
        used = usable(members)
        verdict = Verdict.worst([cell.certificate.verdict for cell in used or members])
        rows.append(Row(parameters, values, verdict, _note(len(used), len(members))))
    return Overview({name: scales[name][1] for name in names}, rows)


def doubts(cells: Sequence[CellResult]) -> list[str]:
    """How many cells may not be believed, and how many not fully, each in a sentence; none if all may."""
    said = []
    for verdict, words in ((Verdict.UNUSABLE, "unusable and left out"), (Verdict.DEGRADED, "degraded")):
        if count := sum(cell.certificate.verdict is verdict for cell in cells):
            noun, verb = "cell" if len(cells) == 1 else "cells", "is" if count == 1 else "are"
            said.append(f"{count} of {len(cells)} {noun} {verb} {words}")
    return said


def headlines(record: RunRecord) -> list[str] | None:
    """The metrics that the run's scenario puts first, as its plan names them; None if it names none."""
    named = record.plan.get("headlines")
    return [str(name) for name in named] if isinstance(named, list) else None


def metric_names(cells: Sequence[CellResult]) -> list[str]:
    """All metrics of some cells, in the order in which they were recorded."""
    return list(dict.fromkeys(name for cell in cells for name in cell.measurement.metrics))


def run_facts(record: RunRecord) -> dict[str, str]:
    """What a reader wants to know of a run, as text by name."""
    environment = ", ".join(f"{name} {value}" for name, value in record.environment.items())
    return {
        "run": record.run_id,
        "scenario": record.scenario,
        "form": str(record.plan.get("form", "-")),
        "status": status_words(record),
        "started": f"{record.started_at:%Y-%m-%d %H:%M:%S} UTC",
        "ended": f"{record.ended_at:%Y-%m-%d %H:%M:%S} UTC" if record.ended_at else "-",
        "environment": environment or "-",
        "command": shlex.join(record.command),
    }


def planned_cells(plan: Mapping[str, Any]) -> int:
    """How many cells a plan has: the product of its axes, restricted and repeated; 0 if it does not say."""
    axes, only, repeat = plan.get("axes"), plan.get("only") or {}, plan.get("repeat")
    if not isinstance(axes, Mapping) or not isinstance(only, Mapping) or not isinstance(repeat, int):
        return 0
    count = repeat
    for name, values in axes.items():
        if not isinstance(values, list):
            return 0
        wanted = only.get(name)
        count *= sum(str(value) in wanted for value in values) if isinstance(wanted, list) else len(values)
    return max(0, count)


def status_words(record: RunRecord) -> str:
    """How a run ended; one that was killed never said so."""
    return "running, or killed" if record.status == "running" else str(record.status)


def scale(values: Iterable[float], unit: str) -> tuple[float, str]:
    """Factor and unit in which some values of one unit are easy to read."""
    largest = max((abs(value) for value in values), default=0.0)
    if unit in ("bit/s", "B"):
        for factor, prefix in ((1e-9, "G"), (1e-6, "M"), (1e-3, "k")):
            if largest * factor >= 1:
                return factor, f"{prefix}{unit}"
    return 1.0, "count" if unit == "1" else unit


def _summaries(cells: Sequence[CellResult], metric: str, axes: Sequence[str]) -> list[Summary]:
    try:
        return summarise(cells, metric, axes)
    except (
        ValueError,
        ArithmeticError,
    ):  # several units, or beyond a computer's range: no mean rather than a wrong one
        return []


def _value_text(summary: Summary, factor: float) -> str:
    estimate = summary.estimate
    text = short(estimate.value * factor)
    if estimate.half_width is None:
        return text
    half = estimate.half_width * factor
    return f"{text} ± {half:.0f}" if half >= 100 else f"{text} ± {half:.2g}"


def short(value: float) -> str:
    """A number with as many digits as a reader needs: four, and no decimals from a thousand on."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _note(used: int, measured: int) -> str:
    if used in (0, measured):
        return f" ({measured})"
    return f" ({used} of {measured})"
