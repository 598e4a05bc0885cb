"""The scenario of a stored run: its question, answer and figures."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from flightpath.errors import UsageError
from flightpath.extensions import SCENARIO_CATALOGUES, contributions
from flightpath.terminal import visible
from results.figures.drawing import Draw, draw_figures
from results.records import CellResult, RunRecord


class StoredScenario(Protocol):
    """A scenario as a catalogue returns it; `summary` is its question, in a sentence."""

    summary: str
    figures: Mapping[str, Draw]

    def answer(self, cells: Sequence[CellResult]) -> Sequence[str]:
        """Returns a run's result in a sentence or two; nothing if its cells give none."""


def scenario_named(name: str, plan: Mapping[str, Any] = {}) -> StoredScenario | None:
    """Returns the scenario of a stored run, by its name and its plan; None if it is not known here."""
    settings = plan.get("settings")
    for catalogue in contributions(SCENARIO_CATALOGUES).values():
        if (scenario := catalogue.of_plan(name, settings if isinstance(settings, Mapping) else {})) is not None:
            return scenario
    return None


def known_scenario(record: RunRecord) -> StoredScenario:
    """Returns the scenario of a stored run.

    Raises:
        UsageError: it is not installed here.
    """
    scenario = scenario_named(record.scenario, record.plan)
    if scenario is None:
        raise UsageError(f"the scenario {record.scenario!r} is not in this installation")
    return scenario


def question_of(record: RunRecord) -> str:
    """Returns the question of a run's scenario, in a sentence; empty if it is not known here."""
    scenario = scenario_named(record.scenario, record.plan)
    return scenario.summary if scenario else ""


def answer_of(name: str, cells: Sequence[CellResult]) -> Sequence[str]:
    """Returns the result of a run, in sentences; nothing if its scenario is not installed here.

    Prints a warning if the scenario does not understand the cells, which may be imported.
    """
    scenario = scenario_named(name)
    try:
        return scenario.answer(cells) if scenario else ()
    except Exception as error:  # parameters and metrics may be anything
        print(f"warning: no answer can be given: {visible(repr(error))}", file=sys.stderr)
        return ()


def drawn_if_possible(record: RunRecord, cells: Sequence[CellResult], folder: Path) -> list[Path]:
    """Draws a run's figures into a folder; prints a warning if that fails, because a report can do without."""
    try:
        return draw_figures(known_scenario(record).figures, cells, folder) if cells else []
    except Exception as error:  # the scenario may need what this machine does not have
        print(f"warning: the report has no figures: {error}", file=sys.stderr)
        return []
