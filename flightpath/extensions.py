"""Plugins that a higher floor, or another installed package, adds to a lower one: Python's entry points.

A floor imports only lower floors. If it needs something from a higher one, it names a group of entry points here and
what they must provide; `setup.py` of the package that provides it lists them.
"""

from importlib.metadata import entry_points
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
