"""Parts that a floor, or another installed package, contributes to a floor below: entry points of Python packages.

A floor imports only what lies below it. Where it needs something from above, it names a group of entry points here
and what they must offer, and `setup.py` of whoever contributes lists them.
"""

from importlib.metadata import entry_points
from typing import Any

COMMANDS_OF_CONGESTION = "flightpath.congestion_commands"
"""Modules with `add_arguments(parser)` and `main(options) -> exit code`: further commands of `python -m congestion`."""

SCENARIO_CATALOGUES = "flightpath.scenario_catalogues"
"""Modules with `find(name)`, which returns the scenario of this name or None: see `results.commands.scenarios`."""


def contributions(group: str) -> dict[str, Any]:
    """What installed packages contribute to a group, by name; loads it.

    Raises:
        ImportError: a contributed module cannot be loaded.
    """
    return {point.name: point.load() for point in entry_points(group=group)}
