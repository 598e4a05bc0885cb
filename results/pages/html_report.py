"""A run's report: one HTML page that needs no other file and no network."""

import html
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from results.figures.chart import in_script
from results.pages import templating
from results.pages.content import run_content
from results.store.run_list import with_actual_status
from results.store.store import Store
from results.summary.claims import claims_table, finding


def render_html(
    store: Store,
    run_id: str,
    figures: Sequence[Path] = (),
    question: str = "",
    answer: Sequence[str] = (),
    packets: Mapping[str, str] = {},
    beside: str = "",
) -> str:
    """Returns a run's report.

    Args:
        figures: SVG files of its figures.
        question: the scenario's, unless the run's plan has one.
        answer: answer to it from the cells.
        packets: pages of `flightpath watch` beside the report, by the labels of cells.
        beside: another run, to be on the same axes in the charts.
    """
    record, cells = with_actual_status(store, store.run(run_id)), store.cells(run_id)
    return templating.file(
        "report.html",
        **run_content(record, cells, beside=[(store.run(beside), store.cells(beside))] if beside else ()),
        claims=claims_table(store.claims(run_id)),
        finding=finding(answer, store.claims(run_id)),
        packets=packets,
        figures=[embedded_figure(path) for path in figures if path.suffix == ".svg"],
        question=str(record.plan.get("question") or question),
    )


_DESCRIPTION = re.compile(r"<dc:description>(.*?)</dc:description>", re.DOTALL)


class EmbeddedFigure(NamedTuple):
    """A figure in a page: its name, its SVG element, and the description of its data, empty if its file has none."""

    name: str
    svg: Markup
    chart: Markup


def embedded_figure(path: Path, prefix: str = "") -> EmbeddedFigure:
    """Returns a figure of matplotlib's as part of an HTML page.

    All ids in it begin with the prefix, by default the name; it must be unique in the page.
    """
    text = path.read_text(encoding="utf-8")
    description = _DESCRIPTION.search(text)
    chart = in_script(json.loads(html.unescape(description[1]))) if description else ""
    text = text[text.index("<svg") :]
    prefix = prefix or re.sub(r"\W", "_", path.stem)
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}-", text)
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # A style sheet in a figure would apply to the whole page.
    text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
    title = re.search(r"<title>(.*?)</title>", text)
    label = title[1].replace('"', "&quot;") if title else prefix
    text = text.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
    return EmbeddedFigure(prefix, Markup(text), Markup(chart))  # matplotlib has escaped every text in it
