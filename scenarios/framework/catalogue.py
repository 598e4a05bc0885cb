"""The catalogue of scenarios: every module in `scenarios/` defines one."""

import importlib
import pkgutil

import scenarios
from scenarios.framework.scenario import Scenario


def names() -> list[str]:
    """The names of all scenarios, in alphabetical order."""
    modules = pkgutil.iter_modules(scenarios.__path__)
    return sorted(module.name for module in modules if not module.ispkg and not module.name.startswith("_"))


def find(name: str) -> Scenario | None:
    """The scenario with this name; None if there is none."""
    if name not in names():
        return None
    module = importlib.import_module(f"scenarios.{name}")
    (scenario,) = (
        member
        for member in vars(module).values()
        if isinstance(member, type) and issubclass(member, Scenario) and member.__module__ == module.__name__
    )
    return scenario()
