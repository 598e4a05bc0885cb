"""The pages that students see, from Jinja templates that escape all values."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

_TEMPLATES = Path(__file__).with_name("templates")


class Pages:
    """All pages; their templates are compiled once, and nothing is read from disk afterwards.

    Args:
        questions: number of questions in the examination.
        plain: whether to leave out style sheet, navigation and rules.
    """

    def __init__(self, questions: int, *, plain: bool = False) -> None:
        environment = Environment(
            loader=FileSystemLoader(_TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._templates = {name: environment.get_template(name) for name in environment.list_templates()}
        environment.globals["total"] = questions
        # Parts that do not depend on the student are rendered once: an `include` took half of the time of a page.
        for name in ("style", "rules"):
            environment.globals[name] = "" if plain else Markup(self._render(name))
        numbers = range(1, questions + 1)
        environment.globals["navigation"] = {
            here: "" if plain else Markup(self._render("navigation", numbers=numbers, number=here))
            for here in (None, *numbers)
        }

    def render(self, name: str, **values: Any) -> bytes:
        return self._render(name, **values).encode()

    def _render(self, name: str, **values: Any) -> str:
        return self._templates[f"{name}.html"].render(values)
