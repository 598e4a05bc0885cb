"""The scenario that a stored run names, as far as results need it: what it asks, and how its figures are drawn."""

from collections.abc import Mapping
from typing import Protocol

from flightpath.extensions import SCENARIO_CATALOGUES, contributions
from results.figures.drawing import Draw


class StoredScenario(Protocol):
    """What a catalogue of scenarios returns.

    Attributes:
        summary: what the scenario asks, in a sentence.
        figures: the function that draws each figure from a run's cells, by the name of its files.
    """

    summary: str
    figures: Mapping[str, Draw]


def scenario_named(name: str) -> StoredScenario | None:
    """The scenario of a stored run; None if it is not installed here."""
    for catalogue in contributions(SCENARIO_CATALOGUES).values():
        if (found := catalogue.find(name)) is not None:
            return found
    return None
