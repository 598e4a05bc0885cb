"""Which scenarios there are: every module in `scenarios/` is one, and nothing lists them by hand."""

import importlib
import pkgutil

import scenarios
from scenarios.framework.scenario import Scenario


def names() -> list[str]:
    """The names of all scenarios, in alphabetical order."""
    modules = pkgutil.iter_modules(scenarios.__path__)
    return sorted(each.name for each in modules if not each.ispkg and not each.name.startswith("_"))


def find(name: str) -> Scenario | None:
    """The scenario of this name; None if there is none."""
    if name not in names():
        return None
    module = importlib.import_module(f"scenarios.{name}")
    (kind,) = (
        member
        for member in vars(module).values()
        if isinstance(member, type) and issubclass(member, Scenario) and member.__module__ == module.__name__
    )
    return kind()
