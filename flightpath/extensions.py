"""Plugins (entry points), classes of catalogues, and lazy imports of large libraries.

A floor imports only lower floors. For something from a higher floor or from another package, this module names a group
of entry points and what they must provide; the providing package lists them in its `setup.py`.
"""

import sys
from importlib.metadata import entry_points
from importlib.util import LazyLoader, find_spec, module_from_spec
from types import ModuleType
from typing import Any

COMMANDS_OF_CONGESTION = "flightpath.congestion_commands"
"""Group of modules that add commands to `flightpath congestion`: `add_arguments(parser)`, `main(options) -> code`."""

SCENARIO_CATALOGUES = "flightpath.scenario_catalogues"
"""Group of modules with `of_plan(name, settings)`: a scenario or None (see `results.commands.scenarios`)."""


def contributions(group: str) -> dict[str, Any]:
    """Loads the entry points of a group in all installed packages, and returns them by name.

    Raises:
        ImportError: a module cannot be loaded.
    """
    return {point.name: point.load() for point in entry_points(group=group)}


def class_defined_in(module: ModuleType, base: type) -> Any:
    """Returns the only subclass of a class that a module defines, as each module of a catalogue does.

    Raises:
        TypeError: it defines none, or several.
    """
    own = (it for it in vars(module).values() if isinstance(it, type) and it.__module__ == module.__name__)
    classes = [it for it in own if issubclass(it, base)]
    if len(classes) != 1:
        raise TypeError(f"{module.__file__} must define one {base.__name__} class, and defines {len(classes)}")
    return classes[0]


def lazy_import(name: str) -> ModuleType:
    """Returns a module that is loaded when one of its attributes is first read.

    For a large library that several functions of a module need, but not every run. (If only one function needs it,
    import it there.) Annotations may name it only under `from __future__ import annotations`.

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
