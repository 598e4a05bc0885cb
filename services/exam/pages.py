"""The pages that students see: without templates and their escaping, a hostile account name would become markup."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

_TEMPLATES = Path(__file__).with_name("templates")
_NAMES = ("login", "welcome", "list", "question", "saved", "submitted", "result", "health", "error")


class Pages:
    """All pages, compiled once; nothing is read from disk afterwards.

    Args:
        questions: how many questions the examination has.
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
            environment.get_template(name)  # also what others extend, which would be read at the first page
        environment.globals["total"] = questions
        # What does not depend on the student is rendered once: an `include` in every page took half of its time.
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
