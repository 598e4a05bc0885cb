"""The record's page as one HTML file that needs no other."""

import re

from markupsafe import Markup, escape

from results.pages import templating
from results.pages.html_report import embedded_figure
from scenarios.reproduction.content import Page
from scenarios.reproduction.markdown import INTRODUCTION, TITLE


def render_html(page: Page) -> str:
    """Renders the page with its figures embedded."""
    script, jinja = templating.script(), templating.environment()
    jinja.filters["coded"] = _coded
    drawn = [path for paper in page.papers for figure in paper.figures for path in figure.drawn]
    figures = {path: embedded_figure(path, f"figure{number}") for number, path in enumerate(drawn)}
    return templating.encodable(
        jinja.get_template("reproduction.html").render(
            page=page,
            title=TITLE,
            introduction=INTRODUCTION,
            figures=figures,
            stylesheet=templating.stylesheet(),
            script=script,
            policy=templating.policy(f"\n{script}"),
        )
    )


def _coded(text: str) -> Markup:
    """Escapes a text, and marks words between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))
