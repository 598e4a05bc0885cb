"""The catalogue of scenarios: every module in `scenarios/` defines one."""

import importlib
import importlib.util
import pkgutil
from pathlib import Path

from experiments.scenario import Scenario
from flightpath.errors import UsageError
from flightpath.extensions import class_defined_in
from flightpath.suggestions import did_you_mean


def names() -> list[str]:
    """Returns the names of all scenarios, in alphabetical order."""
    modules = pkgutil.iter_modules(importlib.import_module("scenarios").__path__)  # on a higher floor
    return sorted(module.name for module in modules if not module.ispkg and not module.name.startswith("_"))


def get(name: str) -> Scenario:
    """Returns the scenario with this name.

    Raises:
        UsageError: there is none.
    """
    if (scenario := find(name)) is None:
        raise UsageError(f"no scenario {name!r}", did_you_mean(name, names()))
    return scenario


def find(name: str) -> Scenario | None:
    """Returns the scenario with this name; None if there is none."""
    if name not in names():
        return None
    return class_defined_in(importlib.import_module(f"scenarios.{name}"), Scenario)()


def load(file: Path) -> Scenario:
    """Loads the scenario that a Python file defines, which need not be in `scenarios/`."""
    spec = importlib.util.spec_from_file_location("scenario_file", file)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file} is no Python file", "a scenario is defined in a file that ends in .py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return class_defined_in(module, Scenario)()
