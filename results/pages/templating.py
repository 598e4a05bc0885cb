"""Jinja environment, style sheet, scripts and security policy of all pages."""

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from results.summary.certificates import LATENESS_BINS

TEMPLATES, _ASSETS = Path(__file__).with_name("templates"), Path(__file__).with_name("assets")
SCRIPTS = ("uplot.js", "tables.js", "plot.js", "charts.js", "over_time.js")
_CLASSES = {
    "not reproduced": "refuted",
    "not decided": "undecided",
    "not tested here": "untested",
    "no difference shown": "same",
}


def environment() -> Environment:
    """Returns Jinja's environment, which escapes every variable, and raises an error for an undefined one."""
    jinja = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        extensions=["jinja2.ext.do"],
    )
    jinja.filters |= {
        "words": lambda name: str(name).replace("_", " "),
        "capitalised": lambda text: text[:1].upper() + text[1:],
        "clipped": lambda text, length: text if len(text) <= length else f"{text[: length - 1]}…",
        "verdict_class": lambda verdict: _CLASSES.get(str(verdict), str(verdict).split(" ")[0].rstrip(":")),
        "bin_words": _bin_words,
    }
    return jinja


def asset(name: str) -> Markup:
    return Markup((_ASSETS / name).read_text(encoding="utf-8"))


def script() -> Markup:
    """Returns the script of reports and of the dashboard: tables and charts."""
    return _joined(SCRIPTS)


def stylesheet(page: str = "page.css") -> Markup:
    """Returns a style sheet after the colours of all pages."""
    return _joined(("palette.css", *(("uplot.css",) if page == "page.css" else ()), page))


def file(
    template: str,
    jinja: Environment | None = None,
    style: str = "page.css",
    scripts: Sequence[str] = SCRIPTS,
    **content: Any,
) -> str:
    """Renders a page as one file that needs no other: with its style sheet, its script and its policy.

    Args:
        jinja: an environment with further filters.
        content: names and values for the template.
    """
    script = _joined(scripts)
    return encodable(
        (jinja or environment())
        .get_template(template)
        .render(stylesheet=stylesheet(style), script=script, policy=policy(f"\n{script}"), **content)
    )


def policy(script: str) -> str:
    """Returns the Content-Security-Policy of a page that is one file: no requests, and no script but this one.

    `script` must be the exact text between the page's script tags.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Figures have style attributes; style that requests nothing is harmless.
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; "
        "form-action 'none'"
    )


def _joined(assets: Sequence[str]) -> Markup:
    return Markup("\n").join(map(asset, assets))


def _bin_words(shares: Sequence[float]) -> str:
    named = zip(LATENESS_BINS, shares, strict=False)
    return ", ".join(f"{name}: {share:.2%}" for name, share in named if share) or "no packets"


def encodable(page: str) -> str:
    """Escapes what UTF-8 cannot encode: a command line or a stored run may contain a lone surrogate."""
    return page.encode(errors="backslashreplace").decode()
