"""Writes the record and its page into a folder."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from flightpath.project import PROJECT
from results.store.ownership import give_to_caller, make_folder
from results.store.store import Store
from scenarios.reproduction.content import Page, draw, measured_figures, page_of
from scenarios.reproduction.html import render_html
from scenarios.reproduction.markdown import render_markdown
from scenarios.reproduction.papers import papers
from scenarios.reproduction.record import Evidence, Record, merged, read, record_of

NAME = "reproduction"
COMMITTED = PROJECT / "docs" / f"{NAME}.json"
"""Record with which a new run is compared."""


def write(evidence: Sequence[Evidence], store: Store, folder: Path, wanted: Sequence[str]) -> list[Path]:
    """Writes record, page and figures into a folder, as its only ones; returns the files of record and page.

    The HTML page goes into the store's folder, because it is large and holds what the others hold.

    Args:
        wanted: the names of the parts that the page should have.
    """
    drawn = draw(papers(), evidence, store)
    record = record_of(evidence, measured_figures(papers(), evidence))
    page = store.folder / f"{NAME}.html"
    _write(page, render_html(page_of(record, papers(), drawn, wanted)))
    shutil.rmtree(folder / NAME, ignore_errors=True)
    return [*_write_record(record, drawn, folder, wanted), page]


def update(evidence: Sequence[Evidence], store: Store, folder: Path, all_parts: Sequence[str]) -> list[Path]:
    """Replaces the parts that were measured in the record of a folder, and writes its page anew; returns the files.

    Raises:
        UsageError: the record that is there cannot be read.
    """
    record = record_of(evidence, measured_figures(papers(), evidence))
    if (folder / f"{NAME}.json").exists():
        record = merged(read(folder / f"{NAME}.json"), record, all_parts)
    return _write_record(record, draw(papers(), evidence, store), folder, all_parts)


def _write_record(
    record: Record, drawn: Mapping[tuple[str, str], Path], folder: Path, wanted: Sequence[str]
) -> list[Path]:
    images = _images(drawn, folder / NAME)
    page = page_of(record, papers(), images, wanted)
    addresses = {path: f"{NAME}/{path.name}" for path in images.values()}
    files = {
        folder / f"{NAME}.json": json.dumps(record.as_json(), indent=1, ensure_ascii=False) + "\n",
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
