"""The pages that students see, from Jinja templates that escape all values."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

_TEMPLATES = Path(__file__).with_name("templates")
_NAMES = ("login", "welcome", "list", "question", "saved", "submitted", "result", "health", "error")


class Pages:
    """All pages; their templates are compiled once, and nothing is read from disk afterwards.

    Args:
        questions: number of questions in the examination.
    """

    def __init__(self, questions: int) -> None:
        environment = Environment(
            loader=FileSystemLoader(_TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        for name in environment.list_templates():
            environment.get_template(name)  # also those that others extend, or the first page would read them
        environment.globals["total"] = questions
        # Parts that do not depend on the student are rendered once: an `include` took half of the time of a page.
        environment.globals["style"] = Markup(environment.get_template("style.html").render())
        environment.globals["rules"] = Markup(environment.get_template("rules.html").render())
        navigation = environment.get_template("navigation.html")
        numbers = range(1, questions + 1)
        environment.globals["navigation"] = {
            here: Markup(navigation.render(numbers=numbers, number=here)) for here in (None, *numbers)
        }
        self._pages: Mapping[str, Template] = {name: environment.get_template(f"{name}.html") for name in _NAMES}

    def render(self, name: str, **values: Any) -> bytes:
        """One page; every value is escaped."""
        return self._pages[name].render(values).encode()
