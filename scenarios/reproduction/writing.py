"""Writes the record and its page, and the figures of the record that other documents quote.

Such a figure stands between two comments, of which the first names it:

    <!--=mptcp_load, Figure 4: TCP, highest load-->19.31 % (18.07 to 20.55)<!--=-->

The name is a part, the number of a figure and one of its rows, or a part and a claim. `~` before it leaves the interval
out.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from markupsafe import Markup, escape

from flightpath.errors import UsageError
from flightpath.project import PROJECT
from flightpath.suggestions import did_you_mean
from results.pages import templating
from results.pages.html_report import embedded_figure
from results.store.ownership import give_to_caller, make_folder
from results.store.store import Store
from scenarios.reproduction.content import Page, draw, measured_figures, page_of
from scenarios.reproduction.markdown import INTRODUCTION, TITLE, render_markdown
from scenarios.reproduction.papers import papers
from scenarios.reproduction.record import Evidence, Record, merged, read, record_of

NAME = "reproduction"
COMMITTED = PROJECT / "docs" / f"{NAME}.json"
"""Record with which a new run is compared."""

_OTHERS = f"docs/{NAME}.json has all names"

QUOTING = (PROJECT / "README.md", PROJECT / "docs" / "findings.md")
"""Documents that quote the record."""

_QUOTED = re.compile(r"(?P<name><!--=(?P<short>~?)(?P<quantity>[^>]+?)-->)(?P<value>.*?)(?P<end><!--=-->)", re.DOTALL)
_INTERVAL = re.compile(r" \([^()]* to [^()]*\)")


def write(evidence: Sequence[Evidence], store: Store, folder: Path, wanted: Sequence[str]) -> list[Path]:
    """Writes record, page and figures into a folder, as its only ones; returns the files of record and page.

    The HTML page goes into the store's folder, because it is large and holds what the others hold.

    Args:
        wanted: the names of the parts that the page should have.
    """
    drawn = draw(papers(), evidence, store)
    record = record_of(evidence, measured_figures(papers(), evidence))
    page = store.folder / f"{NAME}.html"
    _write(page, _html(page_of(record, papers(), drawn, wanted)))
    shutil.rmtree(folder / NAME, ignore_errors=True)
    return [*_write_record(record, drawn, folder, wanted), page]


def update(evidence: Sequence[Evidence], store: Store, folder: Path, all_parts: Sequence[str]) -> list[Path]:
    """Replaces the parts that were measured in the record of a folder, and writes its page anew; returns the files."""
    record = record_of(evidence, measured_figures(papers(), evidence))
    if (folder / f"{NAME}.json").exists():
        record = merged(read(folder / f"{NAME}.json"), record, all_parts)
    return _write_record(record, draw(papers(), evidence, store), folder, all_parts)


def with_figures(text: str, record: Record) -> str:
    """Returns a document with the values that the record has now."""
    values = dict(_values(record))

    def quoted(match: re.Match[str]) -> str:
        quantity = " ".join(match["quantity"].split())
        if quantity not in values:
            raise UsageError(f"the record has no {quantity!r}", did_you_mean(quantity, values, _OTHERS))
        value = values[quantity]
        return f"{match['name']}{_INTERVAL.sub('', value) if match['short'] else value}{match['end']}"

    return _QUOTED.sub(quoted, text)


def update_quotes(record: Record) -> list[Path]:
    """Writes the values of the record into all documents that quote it; returns their files."""
    texts = {file: with_figures(file.read_text(encoding="utf-8"), record) for file in QUOTING}
    for file, text in texts.items():
        file.write_text(text, encoding="utf-8")
    return list(texts)


def _write_record(
    record: Record, drawn: Mapping[tuple[str, str], Path], folder: Path, wanted: Sequence[str]
) -> list[Path]:
    images = _images(drawn, folder / NAME)
    page = page_of(record, papers(), images, wanted)
    addresses = {path: f"{NAME}/{path.name}" for path in images.values()}
    files = {
        folder / f"{NAME}.json": json.dumps(asdict(record), indent=1, ensure_ascii=False) + "\n",
        folder / f"{NAME}.md": render_markdown(page, addresses, _links(page, folder)),
    }
    for file, text in files.items():
        _write(file, text)
    return list(files)


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
    give_to_caller(file)


def _images(drawn: Mapping[tuple[str, str], Path], folder: Path) -> dict[tuple[str, str], Path]:
    """Copies figures as PNG into a folder; returns all figures of the folder, by part and name."""
    make_folder(folder)
    for (part, name), path in drawn.items():
        copy = folder / f"{part}-{name}.png"
        shutil.copyfile(path.with_suffix(".png"), copy)
        give_to_caller(copy)
    parted = ((path.stem.partition("-"), path) for path in folder.glob("*.png"))
    return {(part, name): path for (part, _, name), path in parted}


def _links(page: Page, folder: Path) -> dict[str, str]:
    """Returns the links to the project's files, relative to the page's folder."""
    files = ["docs/results.md#claims", *(each.see for paper in page.papers for each in paper.learnt)]
    return {file: os.path.relpath(PROJECT / file, folder) for file in files}


def _html(page: Page) -> str:
    """Renders the page as one file that needs no other, with its figures embedded."""
    jinja = templating.environment()
    jinja.filters["coded"] = _coded
    drawn = [path for paper in page.papers for figure in paper.figures for path in figure.drawn]
    figures = {path: embedded_figure(path, f"figure{number}") for number, path in enumerate(drawn)}
    return templating.file(
        "reproduction.html", jinja, page=page, title=TITLE, introduction=INTRODUCTION, figures=figures
    )


def _coded(text: str) -> Markup:
    """Escapes a text, and marks words between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _values(record: Record) -> Iterator[tuple[str, str]]:
    for claim in record.claims:
        yield f"{claim.part}: {claim.claim}", claim.measured
    for figure in record.figures:
        for quantity, _, measured in figure.rows:
            yield f"{figure.part}, {figure.number}: {quantity}", measured
