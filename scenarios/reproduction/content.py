"""The content of the record's page, ready for its templates: texts without markup."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.claims import InsufficientData, counting_evidence
from experiments.judging import change, level
from results.figures.drawing import draw_figures
from results.records import CellResult, ClaimVerdict
from results.statistics.estimates import Estimate
from results.store.store import Store
from results.summary.claims import verdict_counts
from results.summary.numbers import short
from scenarios.reproduction.papers import Learnt, Paper, PaperFigure, Untested, Value, reason
from scenarios.reproduction.parts import is_ours
from scenarios.reproduction.record import Evidence, JudgedClaim, MeasuredFigure, MeasuredPart, Record

_NOTHING = "-"
_NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class FigurePage:
    """A figure of a paper, beside ours.

    Attributes:
        rows: the quantity, the paper's value, and the measured one.
        drawn: the files of our figures.
    """

    of_paper: PaperFigure
    rows: Sequence[tuple[str, str, str]]
    drawn: Sequence[Path]


@dataclass(frozen=True)
class PaperPage:
    """Everything about a paper."""

    paper: Paper
    counts: str
    claims: Sequence[JudgedClaim]
    figures: Sequence[FigurePage]
    untested: Sequence[Untested]
    learnt: Sequence[Learnt]
    parts: Sequence[MeasuredPart]


@dataclass(frozen=True)
class Page:
    """The whole page.

    Attributes:
        made: date, commit and machine of the measurements.
        missing: the parts that the record does not have, or not all of.
    """

    counts: str
    made: Sequence[str]
    papers: Sequence[PaperPage]
    missing: Sequence[str]


def page_of(
    record: Record, papers: Sequence[Paper], drawn: Mapping[tuple[str, str], Path], all_parts: Sequence[str]
) -> Page:
    """Builds the page of a record; `drawn` are our figures, by part and name."""
    shown = [_paper_page(paper, record, drawn) for paper in papers]
    return Page(
        counts=counts(record.claims),
        made=_made(record),
        papers=[page for page in shown if page.parts],
        missing=_missing(record, all_parts),
    )


def counts(claims: Sequence[JudgedClaim]) -> str:
    """Returns the number of claims with each verdict, as text: the papers' and our own apart."""
    theirs, ours = (
        verdict_counts(claim.verdict for claim in claims if _is_ours(claim) is wanted) for wanted in (False, True)
    )
    return f"{theirs}; of our own: {ours}" if theirs and ours else theirs or ours


def _is_ours(claim: JudgedClaim) -> bool:
    """Returns whether a claim is none of the paper's: it says so, or an experiment of ours makes it."""
    return "(ours)" in claim.claim or is_ours(claim.part)


def _paper_page(paper: Paper, record: Record, drawn: Mapping[tuple[str, str], Path]) -> PaperPage:
    claims = [claim for claim in record.claims if claim.paper == paper.name]
    untested = [claim for claim in claims if claim.verdict is ClaimVerdict.NOT_TESTED]
    claims = [_explained(claim, paper) for claim in claims]
    rows = {(figure.part, figure.number): figure.rows for figure in record.figures}
    figures = [
        FigurePage(
            figure,
            rows[figure.part, figure.number],
            [drawn[figure.part, name] for name in figure.ours if (figure.part, name) in drawn],
        )
        for figure in paper.figures
        if (figure.part, figure.number) in rows
    ]
    return PaperPage(
        paper=paper,
        counts=counts(claims),
        claims=claims,
        figures=figures,
        untested=[*(Untested(claim.claim, claim.why) for claim in untested), *paper.not_tested],
        learnt=paper.learnt,
        parts=[part for part in record.parts if part.paper == paper.name],
    )


def _explained(claim: JudgedClaim, paper: Paper) -> JudgedClaim:
    """Adds the reason beside what is not reproduced, not decided, or not tested because the machine was too slow."""
    if claim.needs_faster_machine:
        why = reason(paper, claim.claim) or "it takes a machine with more processors"
    elif claim.verdict in (ClaimVerdict.NOT_REPRODUCED, ClaimVerdict.NOT_DECIDED):
        why = reason(paper, claim.claim) or "the reason is not known"
    else:
        return claim
    return replace(claim, why="; ".join(filter(None, (claim.why, why))))


def measured_figures(papers: Sequence[Paper], evidence: Sequence[Evidence]) -> list[MeasuredFigure]:
    """Returns the values of all figures whose parts have cells."""
    cells = {each.part.name: each.judged for each in evidence}
    return [
        MeasuredFigure(
            figure.part,
            figure.number,
            tuple((value.what, value.paper, measured(cells[figure.part], figure, value)) for value in figure.values),
        )
        for paper in papers
        for figure in paper.figures
        if figure.part in cells
    ]


def measured(cells: Sequence[CellResult], figure: PaperFigure, value: Value) -> str:
    """Returns the measured counterpart of a value, as text with its interval and unit.

    Cells count and are compared as for claims, so that a page has one figure for one thing.
    """
    if value.where is None:
        return _NOTHING
    metric, evidence = value.metric or figure.metric, counting_evidence(cells, "")
    if value.against is not None:
        found = change(evidence, metric, value.against, value.where)
    else:
        found = level(evidence, metric, scale=figure.scale, **value.where)
    if isinstance(found, InsufficientData):
        return _NOT_MEASURED
    return _text(found, "" if value.against is None else "{:+z.1f}", figure.unit)


def _text(estimate: Estimate, form: str, unit: str) -> str:
    value, *bounds = (
        (form.format(number) if form else short(number)) if number is not None else None
        for number in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} {unit} ({bounds[0]} to {bounds[1]})" if None not in bounds else f"{value} {unit} (one repetition)"


def draw(papers: Sequence[Paper], evidence: Sequence[Evidence], store: Store) -> dict[tuple[str, str], Path]:
    """Draws our figures that a paper's figure names, each in its run's folder; returns the SVGs by part and name."""
    files = {}
    for each in evidence:
        wanted = {name for paper in papers for f in paper.figures if f.part == each.part.name for name in f.ours}
        figures = {name: draw for name, draw in each.part.scenario.figures.items() if name in wanted}
        for path in draw_figures(figures, each.judged, store.artifacts(each.run.run_id)):
            if path.suffix == ".svg":
                files[each.part.name, path.stem] = path
    return files


def _made(record: Record) -> list[str]:
    """Returns where and when the parts were measured: a line for each machine and commit."""
    lines: dict[str, list[str]] = {}
    for part in record.parts:
        machine = part.machine
        facts = [
            f"{machine.get('host', 'an unnamed machine')}: {machine.get('cores', '?')} cores",
            str(machine.get("processor", "")),
            f"{int(machine['memory_bytes']) / 2**30:.1f} GiB" if "memory_bytes" in machine else "",
            str(machine.get("system", "")),
            f"Linux {machine.get('kernel', '?')}",
        ]
        where = ", ".join(filter(None, facts))
        lines.setdefault(f"{where}; commit {part.commit or 'unknown'}", []).append(part.started_at[:10])
    return [f"{line}; {' to '.join(dict.fromkeys((min(days), max(days))))}" for line, days in lines.items()]


def _missing(record: Record, all_parts: Sequence[str]) -> list[str]:
    there = {part.name: part for part in record.parts}
    absent = [name for name in all_parts if name not in there]
    partly = [
        f"{name} ({part.cells} of {part.planned} cells)" for name, part in there.items() if part.cells < part.planned
    ]
    return [*absent, *partly]
