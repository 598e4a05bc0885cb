"""The catalogue of scenarios: every module in `scenarios/` defines one."""

import contextlib
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.files.scenario import CONTENT, FileScenario
from experiments.scenario import Scenario
from flightpath.errors import UsageError
from flightpath.extensions import class_defined_in
from flightpath.suggestions import did_you_mean

TOML = ".toml"


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
        raise UsageError(f"there is no scenario {name!r}", did_you_mean(name, names()))
    return scenario


def asked_for(word: str) -> Scenario:
    """Returns the scenario that a user asks for, by its name or its file. Names that are stored are no such words.

    Raises:
        UsageError: there is none, or something in an experiment file makes no sense.
    """
    return load(Path(word)) if Path(word).suffix in (TOML, ".py") else get(word)


def find(name: str) -> Scenario | None:
    """Returns the scenario with this name; None if there is none."""
    if name not in names():
        return None
    return class_defined_in(importlib.import_module(f"scenarios.{name}"), Scenario)()


def load(file: Path) -> Scenario:
    """Loads the scenario of an experiment file (`.toml`), or one that a Python file defines.

    Raises:
        UsageError: it is neither, or something in an experiment file makes no sense.
    """
    if file.suffix == TOML:
        scenario = FileScenario.from_file(file)
        if scenario.name in names():
            raise UsageError(f"{file}: a scenario of ours is called {scenario.name}", 'in the file: name = "my_own"')
        return scenario
    spec = importlib.util.spec_from_file_location("scenario_file", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise UsageError(f"{file} is no scenario", "one is defined in a file that ends in .toml or .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # the virtual-time kernel is told the file of the class
    spec.loader.exec_module(module)
    return class_defined_in(module, Scenario)()


def of_plan(name: str, settings: Mapping[str, Any]) -> Scenario | None:
    """Returns the scenario of a plan that is stored or sent: one of ours, or an experiment file that it has in it.

    None: there is no such scenario, or the file makes no sense.
    """
    with contextlib.suppress(UsageError):
        return FileScenario.of_plan(name, settings) if CONTENT in settings else find(name)
    return None
