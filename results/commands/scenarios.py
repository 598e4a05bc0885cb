"""The scenario that a stored run names, as far as results need it: what it asks, and how its figures are drawn."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from flightpath.extensions import SCENARIO_CATALOGUES, contributions
from results.records import CellResult


class StoredScenario(Protocol):
    """What a catalogue of scenarios returns.

    Attributes:
        summary: what the scenario asks, in a sentence.
    """

    summary: str

    def figures(self, cells: Sequence[CellResult], folder: Path) -> list[Path]:
        """Draws the figures into a folder, from the cells alone, and returns the files."""


def scenario_named(name: str) -> StoredScenario | None:
    """The scenario of a stored run; None if it is not installed here."""
    for catalogue in contributions(SCENARIO_CATALOGUES).values():
        if (found := catalogue.find(name)) is not None:
            return found
    return None
