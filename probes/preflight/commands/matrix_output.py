"""The matrix of sites as a table, a figure, and a page that links each path to its history."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from flightpath.terminal import plain, print_table, visible
from flightpath.units import counted, format_rate
from probes.preflight.commands.common import print_line, save_figure
from probes.preflight.history.health import judgement_text
from probes.preflight.history.past import PastMeasurement, describe
from probes.preflight.history.regression_check import Judgement, Standing
from probes.preflight.measure.matrix import Pair
from probes.preflight.records import LimitedBy, PreflightResult
from results.figures.matrix import matrix
from results.pages.matrix_page import MatrixCell, MatrixPath, matrix_page
from results.records import Series, Verdict
from results.store.ownership import writing_to

_KINDS = {
    "failed": ("x", "not measured", "red"),
    "limited": ("*", "a machine was the limit, not the path", "yellow"),
    "worse": ("-", "worse than usual", "red"),
    "better": ("+", "better than usual", "green"),
    "usual": ("=", "as usual", ""),
    "new": (".", "too few measurements to compare", ""),
}
"""Sign, meaning and colour of each kind of path, those that need attention first."""

_WIDE = 8
"""Largest number of columns in which a cell has words; with more, it has a sign."""

_LISTED = 40
"""Maximum number of paths about which the terminal has a line."""

MAX_DRAWN, _TABLED = 60, 12
"""Number of newest measurements in a path's chart and in its table."""

_LEGEND = (
    "goodput, and its change against what the path usually gives; * a machine was the limit, not the path; "
    "failed: not measured, for the reason below"
)


@dataclass(frozen=True)
class Measured:
    """A path of the matrix.

    Attributes:
        result: None if it could not be measured.
        error: reason why the path could not be measured; empty otherwise.
        run_id: run in the store; None if it is not stored.
        judgement: comparison with the path's history; None if it was not measured, or its history is not read.
        pasts: its newest measurements, oldest first; empty if they are not read.
    """

    pair: Pair
    result: PreflightResult | None = None
    error: str = ""
    run_id: str | None = None
    judgement: Judgement | None = None
    pasts: Sequence[PastMeasurement] = ()

    @property
    def goodput_bps(self) -> float | None:
        return self.result.goodput_bps if self.result else None

    @property
    def is_trusted(self) -> bool:
        return self.result is not None and self.result.verdict in (LimitedBy.OK, LimitedBy.RATE_LIMITED)

    @property
    def is_worse(self) -> bool:
        """Whether the path gives less than it used to."""
        return self.kind == "worse"

    @property
    def kind(self) -> str:
        """One of `_KINDS`."""
        if self.error:
            return "failed"
        if self.result is not None and not self.is_trusted:
            return "limited"
        standing = self.judgement.standing if self.judgement else Standing.UNKNOWN
        return {Standing.BELOW: "worse", Standing.ABOVE: "better", Standing.WITHIN: "usual"}.get(standing, "new")

    @property
    def words(self) -> str:
        """The figure, and what is remarkable about it."""
        if self.goodput_bps is None:
            return "failed" if self.error else "-"
        change = self.judgement.change if self.judgement else None
        text = format_rate(self.goodput_bps) + ("" if self.is_trusted else "*")
        return text if change is None else f"{text} {100 * change:+.0f}%"

    @property
    def remark(self) -> str:
        """The reason why the path needs attention; empty if it is as usual."""
        if self.is_worse and self.judgement and self.judgement.usual_bps:
            return f"worse than usual ({format_rate(self.judgement.usual_bps)})"
        return self.error or (f"* {self.result.verdict}" if self.result and not self.is_trusted else "")


def print_matrix(
    console: Console, results: Sequence[Measured], sources: Sequence[str], targets: Sequence[str], files: Sequence[str]
) -> None:
    by_pair: Mapping[Pair, Measured] = {each.pair: each for each in results}
    if len(targets) > _WIDE:
        _print_signs(console, by_pair, sources, targets)
    else:
        table = Table("from \\ to", box=None, pad_edge=False)
        for name in targets:
            table.add_column(plain(name))
        for a in sources:
            row = (by_pair.get(Pair(a, b)) for b in targets)
            table.add_row(plain(a), *(Text(visible(each.words), _colour(each)) if each else Text("") for each in row))
        print_table(console, table)
        print_line(console, _LEGEND, "italic")
    print_line(console, summary(results))
    order = list(_KINDS)
    remarkable = sorted((each for each in results if each.remark), key=lambda each: order.index(each.kind))
    for each in remarkable[:_LISTED]:
        print_line(console, f"{each.pair.source} to {each.pair.target}: {each.remark}", _colour(each))
    if len(remarkable) > _LISTED:
        print_line(console, f"and {len(remarkable) - _LISTED} more")
    for file in files:
        console.print(plain(file), soft_wrap=True)


def _print_signs(
    console: Console, by_pair: Mapping[Pair, Measured], sources: Sequence[str], targets: Sequence[str]
) -> None:
    """Prints a sign for each path, under the numbers of the columns, which the rows below explain."""
    names = list(dict.fromkeys([*sources, *targets]))
    width = len(str(len(names)))
    for digit in range(width):
        heading = "".join(str(names.index(b) + 1).rjust(width)[digit] for b in targets)
        console.print(plain(" " * (width + 1) + heading), soft_wrap=True)
    for number, name in enumerate(names, start=1):
        line = Text(f"{number:>{width}} ")
        for b in targets:
            each = by_pair.get(Pair(name, b))
            line.append(_KINDS[each.kind][0] if each else " ", _colour(each) if each else "")
        console.print(line.append_text(plain(f" {name}")), soft_wrap=True)
    print_line(console, f"a row sends, a column receives; {signs()}", "italic")


def signs() -> str:
    return "; ".join(f"{sign} {meaning}" for sign, meaning, _ in _KINDS.values())


def summary(results: Sequence[Measured]) -> str:
    counts = {
        "measured": sum(each.result is not None for each in results),
        "worse than usual": sum(each.is_worse for each in results),
        "failed": sum(bool(each.error) for each in results),
        "limited by a machine": sum(each.result is not None and not each.is_trusted for each in results),
    }
    parts = [f"{count} {what}" for what, count in counts.items() if count]
    return f"{counted(len(results), 'path')}: {', '.join(parts)}"


def draw(results: Sequence[Measured], sources: Sequence[str], targets: Sequence[str], target: Path) -> list[str]:
    """Draws the matrix, and writes its page if there are histories; returns the paths of the files."""
    rates: dict[tuple[str, str], float] = {each.pair: each.goodput_bps for each in results if each.goodput_bps}
    if not rates:
        return []
    is_wide = len(targets) > _WIDE
    name = target.stem if target.suffix in (".png", ".svg", ".html") else target.name
    page = target.with_name(f"{name}.html")
    links: dict[tuple[str, str], str] = {}
    if any(each.pasts for each in results):
        links = {each.pair: f"{page.name}#{_anchor(each.pair)}" for each in results}
    trusted = all(each.is_trusted for each in results if each.result)
    figure = matrix(
        rates,
        {each.pair: _KINDS[each.kind][0] if is_wide else visible(each.words) for each in results},
        sources,
        targets,
        title="Goodput between sites",
        badge=visible(summary(results)),
        legend=signs() if is_wide else _LEGEND.partition("; failed")[0],
        verdict=Verdict.FAITHFUL if trusted else Verdict.DEGRADED,
        links=links,
    )
    files = save_figure(figure, target.with_name(name))
    if links:
        with writing_to(page):
            page.write_text(_page(results, sources, targets), encoding="utf-8")
        files.append(str(page))
    return files


def _page(results: Sequence[Measured], sources: Sequence[str], targets: Sequence[str]) -> str:
    cells: dict[tuple[str, str], MatrixCell] = {each.pair: _cell(each) for each in results}
    paths = [_path(each) for each in results if each.pasts]
    kinds = {kind: (sign, meaning) for kind, (sign, meaning, _) in _KINDS.items()}
    return matrix_page("Goodput between sites", summary(results), sources, targets, cells, kinds, paths)


def _cell(each: Measured) -> MatrixCell:
    title = f"{each.pair.source} to {each.pair.target}: {each.remark or each.words}"
    return MatrixCell(each.kind, each.words, title, _anchor(each.pair) if each.pasts else "")


def _path(each: Measured) -> MatrixPath:
    drawn = [past for past in each.pasts if past.goodput_bps][-MAX_DRAWN:]
    times = tuple(past.at.timestamp() for past in drawn)
    rows = [
        (_when(past), format_rate(past.goodput_bps) if past.goodput_bps else "-", _verdict(past), past.run_id)
        for past in each.pasts[-_TABLED:]
    ]
    return MatrixPath(
        anchor=_anchor(each.pair),
        name=f"{each.pair.source} to {each.pair.target}",
        text=each.error or (judgement_text(each.judgement) if each.judgement else each.words),
        settings=describe(each.pasts[-1].configuration),
        goodput=Series("bit/s", times, tuple(past.goodput_bps or 0.0 for past in drawn)),
        notes=[f"{_when(past)}, {_verdict(past)}" for past in drawn],
        rows=rows[::-1],
    )


def _when(past: PastMeasurement) -> str:
    return f"{past.at.astimezone():%Y-%m-%d %H:%M}"


def _verdict(past: PastMeasurement) -> str:
    return "; ".join(past.reasons) or str(past.verdict)


def _anchor(pair: Pair) -> str:
    return pair.name.encode().hex()  # a name may hold anything


def _colour(each: Measured) -> str:
    return _KINDS[each.kind][2]


def as_json(each: Measured) -> dict[str, Any]:
    judgement = each.judgement
    return {
        "from": each.pair.source,
        "to": each.pair.target,
        "run": each.run_id,
        "goodput_bps": each.goodput_bps,
        "verdict": each.result.verdict if each.result else None,
        "standing": judgement.standing if judgement else None,
        "usual_bps": judgement.usual_bps if judgement else None,
        "error": each.error or None,
    }
