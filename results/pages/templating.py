"""Jinja environment, style sheet, scripts and security policy of all pages."""

import base64
import hashlib
import math
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from results.records import Series
from results.summary.certificates import LATENESS_BINS
from results.summary.numbers import scale, short

TEMPLATES = Path(__file__).with_name("templates")
_MAX_POINTS = 160
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
    )
    jinja.filters |= {
        "words": lambda name: str(name).replace("_", " "),
        "capitalised": lambda text: text[:1].upper() + text[1:],
        "clipped": lambda text, length: text if len(text) <= length else f"{text[: length - 1]}…",
        "verdict_class": lambda verdict: _CLASSES.get(str(verdict), str(verdict).split(" ")[0].rstrip(":")),
        "polyline": _polyline,
        "bin_words": _bin_words,
    }
    return jinja


def asset(name: str) -> Markup:
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))


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


def _polyline(series: Series, width: float, height: float) -> dict[str, str]:
    """Scales a series to a box from its minimum, or zero, to its maximum; averages a long one.

    The line is empty if there is nothing to draw.
    """
    times, values = _averaged(series)
    low, high = min((0.0, *values)), max((0.0, *values))
    span_x, span_y = (times[-1] - times[0] if times else 0.0) or 1.0, (high - low) or 1.0
    if not times or not (math.isfinite(span_x) and math.isfinite(span_y)):
        return {"line": ""}
    line = " ".join(
        f"{(time - times[0]) / span_x * width:.1f},{height - 1 - (value - low) / span_y * (height - 2):.1f}"
        for time, value in zip(times, values, strict=True)
    )
    factor, unit = scale(series.values, series.unit)
    least, most = short(min(series.values) * factor), short(max(series.values) * factor)
    return {
        "line": line,
        "least": least,
        "most": most,
        "last": short(series.values[-1] * factor),
        "bottom": short(low * factor),
        "top": short(high * factor),
        "unit": unit,
        "start": short(series.times_s[0]),
        "end": short(series.times_s[-1]),
        "seconds": short(series.times_s[-1]),
    }


def _averaged(series: Series) -> tuple[list[float], list[float]]:
    step = -(-len(series.values) // _MAX_POINTS) or 1
    starts = range(0, len(series.values), step)
    starts = starts[: len(series.values) // step] or starts  # fewer values at the end do not make a mean
    return (
        [series.times_s[start] for start in starts],
        [sum(value / step for value in series.values[start : start + step]) for start in starts],
    )


def _bin_words(shares: Sequence[float]) -> str:
    named = zip(LATENESS_BINS, shares, strict=False)
    return ", ".join(f"{name}: {share:.2%}" for name, share in named if share) or "no packets"


def encodable(page: str) -> str:
    """Escapes what UTF-8 cannot encode: a command line or a stored run may contain a lone surrogate."""
    return page.encode(errors="backslashreplace").decode()
