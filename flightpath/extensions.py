"""Modules that no import statement loads: plugins, and large libraries that wait until they are used.

A floor imports only lower floors. If it needs something from a higher one, or another package, it names a group of
entry points here and what they must provide; `setup.py` of the package that provides it lists them.
"""

import sys
from importlib.metadata import entry_points
from importlib.util import LazyLoader, find_spec, module_from_spec
from types import ModuleType
from typing import Any

COMMANDS_OF_CONGESTION = "flightpath.congestion_commands"
"""Modules with `add_arguments(parser)` and `main(options) -> exit code`: more commands of `python -m congestion`."""

SCENARIO_CATALOGUES = "flightpath.scenario_catalogues"
"""Modules with `find(name)`, which returns the scenario of that name or None: see `results.commands.scenarios`."""


def contributions(group: str) -> dict[str, Any]:
    """Loads what installed packages provide for a group, and returns it by name.

    Raises:
        ImportError: a module cannot be loaded.
    """
    return {point.name: point.load() for point in entry_points(group=group)}


def lazy_import(name: str) -> ModuleType:
    """Returns a module that is loaded when one of its attributes is first read.

    Meant for a large library that several functions of a module need, but not every run. (If only one function needs
    it, import it there.) Annotations may name it only under `from __future__ import annotations`.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    if name in sys.modules:
        return sys.modules[name]
    spec = find_spec(name)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    loader = spec.loader = LazyLoader(spec.loader)
    module = sys.modules[name] = module_from_spec(spec)
    loader.exec_module(module)
    return module
