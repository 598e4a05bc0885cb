"""Tables of means with their intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from results.records import CellResult, ParameterValue, Verdict
from results.statistics.estimates import Summary, group, summarise, usable
from results.summary.numbers import scale, short

_HEADLINES = 5
"""Number of metrics that fit into a table of 100 columns; a scenario records the most important ones first."""


@dataclass(frozen=True)
class MeansRow:
    """The means of one parameter group as text by metric, in the columns' units; `-` where none was measured.

    The verdict is the worst of the cells in the means; the note counts them, and those that are left out.
    """

    parameters: Mapping[str, ParameterValue]
    values: Mapping[str, str]
    verdict: Verdict
    note: str


@dataclass(frozen=True)
class MeansTable:
    """Means with intervals of each parameter group; `columns` are the metrics with the unit in which they are shown."""

    columns: Mapping[str, str]
    rows: Sequence[MeansRow]


def means_table(cells: Sequence[CellResult], metrics: Sequence[str] | None = None) -> MeansTable:
    """Returns means with intervals over the usable repetitions of each parameter group of a run.

    By default of the first few metrics that the cells recorded. Metrics that no cell recorded are left out.
    """
    measured = metric_names(cells)
    names = measured[:_HEADLINES] if metrics is None else [name for name in metrics if name in measured]
    scales, texts = {}, {}
    for name in names:
        means = summaries(cells, name)
        scales[name] = scale([each.estimate.value for each in means], means[0].unit if means else "-")
        texts[name] = {tuple(each.parameters.values()): _mean_text(each, scales[name][0]) for each in means}
    rows = []
    for key, members in group(cells).items():
        used = usable(members)
        verdict = Verdict.worst([cell.certificate.verdict for cell in used or members])
        values = {name: texts[name].get(key, "-") for name in names}
        counts = f"{len(used)} of {len(members)}" if 0 < len(used) < len(members) else f"{len(members)}"
        rows.append(MeansRow(members[0].cell.parameters, values, verdict, f" ({counts})"))
    return MeansTable({name: scales[name][1] for name in names}, rows)


def metric_names(cells: Sequence[CellResult]) -> list[str]:
    """Returns all metrics of some cells, in the order in which they were recorded."""
    return list(dict.fromkeys(name for cell in cells for name in cell.measurement.metrics))


def summaries(cells: Sequence[CellResult], metric: str, steady: Mapping[int, float] | None = None) -> list[Summary]:
    """Returns the means of a metric by all parameters (`summarise`); none if they cannot be computed."""
    try:
        return summarise(cells, metric, list(cells[0].cell.parameters) if cells else [], steady)
    except (ValueError, ArithmeticError):  # several units, or an overflow: no mean rather than a wrong one
        return []


def _mean_text(summary: Summary, factor: float) -> str:
    text = short(summary.estimate.value * factor)
    if summary.estimate.half_width is None:
        return text
    half = summary.estimate.half_width * factor
    return f"{text} ± {half:.0f}" if half >= 100 else f"{text} ± {half:.2g}"
