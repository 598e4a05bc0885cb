"""A run's report: one HTML page that needs no other file and no network."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

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
) -> str:
    """Returns a run's report.

    Args:
        store, run_id: the run.
        figures: SVG files of its figures.
        question: the scenario's, unless the run's plan has one.
        answer: answer to it from the cells.
        packets: pages of `flightpath watch` beside the report, by the labels of cells.
    """
    record, cells = with_actual_status(store, store.run(run_id)), store.cells(run_id)
    script = templating.asset("tables.js")
    return templating.encodable(
        templating.environment()
        .get_template("report.html")
        .render(
            **run_content(record, cells),
            claims=claims_table(store.claims(run_id)),
            finding=finding(answer, store.claims(run_id)),
            packets=packets,
            figures=[embedded_figure(path) for path in figures if path.suffix == ".svg"],
            question=str(record.plan.get("question") or question),
            stylesheet=templating.asset("page.css"),
            script=script,
            policy=templating.policy(f"\n{script}"),
        )
    )


def embedded_figure(path: Path, prefix: str = "") -> tuple[str, Markup]:
    """Returns a figure's name, and its SVG element as part of an HTML page.

    All ids in it begin with the prefix, by default the name; it must be unique in the page.
    """
    text = path.read_text(encoding="utf-8")
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
    return path.stem, Markup(text)  # matplotlib has escaped every text in it
