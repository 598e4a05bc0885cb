"""The record's page as Markdown."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from results.pages.markdown_table import table
from scenarios.reproduction.content import FigurePage, Page, PaperPage

TITLE = "The reproduction record"
INTRODUCTION = (
    "Each claim of the four papers beside what was measured. A value in brackets is the 95 % interval; results.md says "
    "how claims are judged. `make reproduce` measures all of it, `make reproduce PART=NAME` one part, and "
    "`make reproduce-check` compares a new run with this record."
)


def render_markdown(page: Page, images: Mapping[Path, str], link: Mapping[str, str]) -> str:
    """Renders the page; `images` and `link` have the addresses of images and of the project's files."""
    introduction = INTRODUCTION.replace("results.md", f"[results.md]({link['docs/results.md#claims']})")
    lines = [f"# {TITLE}", "", introduction, "", f"**{page.counts}.**", ""]
    lines += ["Written by `make reproduce-record`; do not edit. Measured on:", ""]
    lines += [f"- {line}" for line in page.made]
    if page.missing:
        lines += ["", f"Not, or not completely, in this record: {', '.join(page.missing)}."]
    for paper in page.papers:
        lines += ["", *_paper(paper, images, link)]
    return "\n".join(lines) + "\n"


def _paper(page: PaperPage, images: Mapping[Path, str], link: Mapping[str, str]) -> list[str]:
    lines = [f"## {page.paper.title}", "", f"{page.paper.by}: {page.counts}.", ""]
    lines += table(("claim", "paper", "measured", "verdict", "clock", "certificate", "part"), _claim_rows(page))
    for figure in page.figures:
        lines += ["", *_figure(figure, images)]
    if page.paper.differences:
        rows = [(each.what, each.paper, each.here) for each in page.paper.differences]
        lines += ["", "### What differs in the set-up", "", *table(("", "paper", "here"), rows)]
    if page.untested:
        lines += ["", "### What is not tested here, and why", ""]
        lines += [f"- {each.what}: {each.why}." for each in page.untested]
    if page.learnt:
        lines += ["", "### What the paper could not know", ""]
        lines += [f"- {each.what} See {_linked(each.see, link)}." for each in page.learnt]
    return [*lines, "", "### To repeat it", "", *_parts(page)]


def _claim_rows(page: PaperPage) -> Iterable[tuple[str, ...]]:
    for claim in page.claims:
        verdict = f"**{claim.verdict}**" + (f": {claim.why}" if claim.why else "")
        yield claim.claim, claim.stated, claim.measured or "-", verdict, claim.clock, claim.certificate, claim.part


def _figure(page: FigurePage, images: Mapping[Path, str]) -> list[str]:
    figure = page.of_paper
    lines = [f"### {figure.number}: {figure.shows}", ""]
    lines += [f"![{figure.shows}]({images[path]})" for path in page.drawn if path in images]
    lines += ["", f"The paper's values: {figure.source}.{' ' + figure.note if figure.note else ''}"]
    return [*lines, "", *table(("", "paper", "measured"), page.rows)] if page.rows else lines


def _parts(page: PaperPage) -> list[str]:
    lines = []
    for part in page.parts:
        lines += [
            f"- `{part.name}`: `{part.command}`  ",
            f"  {part.cells} of {part.planned} cells; {part.certificate}.",
        ]
    return lines


def _linked(file: str, link: Mapping[str, str]) -> str:
    return f"[{file.partition('#')[0]}]({link[file]})"
