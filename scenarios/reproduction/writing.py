"""Writes the record and its page into a folder."""

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from flightpath.project import PROJECT
from results.store.ownership import give_to_caller, make_folder
from results.store.store import Store
from scenarios.reproduction.content import Page, page_of
from scenarios.reproduction.html import render_html
from scenarios.reproduction.markdown import render_markdown
from scenarios.reproduction.papers import papers
from scenarios.reproduction.parts import Part
from scenarios.reproduction.record import Evidence, record_of

NAME = "reproduction"
COMMITTED = PROJECT / "docs" / f"{NAME}.json"
"""The record that a new run is compared with."""


def write(found: Sequence[Evidence], store: Store, folder: Path, wanted: Sequence[Part]) -> list[Path]:
    """Writes record, page and figures; returns the files of record and page.

    The HTML page always goes into the store's folder, because it is large and holds what the others hold.
    """
    record = record_of(found)
    page = page_of(record, papers(), found, store, [part.name for part in wanted])
    files = {
        folder / f"{NAME}.json": json.dumps(record.as_json(), indent=1, ensure_ascii=False) + "\n",
        folder / f"{NAME}.md": render_markdown(page, _images(page, folder), _links(page, folder)),
        store.folder / f"{NAME}.html": render_html(page),
    }
    for file, text in files.items():
        file.write_text(text, encoding="utf-8")
        give_to_caller(file)
    return list(files)


def _images(page: Page, folder: Path) -> dict[Path, str]:
    """Copies the figures as PNG beside the page; returns their addresses by the SVG files that they were drawn with."""
    beside = folder / NAME
    shutil.rmtree(beside, ignore_errors=True)
    make_folder(beside)
    addresses = {}
    for paper in page.papers:
        for figure in paper.figures:
            for path in figure.drawn:
                name = f"{figure.of_paper.part}-{path.stem}.png"
                shutil.copyfile(path.with_suffix(".png"), beside / name)
                give_to_caller(beside / name)
                addresses[path] = f"{NAME}/{name}"
    return addresses


def _links(page: Page, folder: Path) -> dict[str, str]:
    """The addresses of files of the project, as the page in a folder refers to them."""
    files = ["docs/results.md#claims", *(each.see for paper in page.papers for each in paper.learnt)]
    return {file: os.path.relpath(PROJECT / file, folder) for file in files}
