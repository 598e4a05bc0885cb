"""The changes of links that a run was begun with: a table is a file, which may be another one later."""

import hashlib
from collections.abc import Mapping

from experiments.plan import Plan
from experiments.scenario import Scenario
from flightpath.errors import UsageError
from results.records import Cell

_KEY = "link_changes_sha256"


class LinkChanges:
    """Changes that a plan makes to its links during the load, as the plan was when the run began.

    Raises:
        UsageError: a table cannot be read, or the run was begun with other changes.
    """

    def __init__(self, scenario: Scenario, plan: Plan, environment: Mapping[str, object]) -> None:
        self._scenario, self._plan = scenario, plan
        self._of_cell = {cell.label: self._texts(cell) for cell in plan.cells()}
        self._digest = hashlib.sha256(repr(sorted(self._of_cell.items())).encode()).hexdigest()
        if environment.get(_KEY, self._digest) != self._digest:
            raise UsageError(
                "--resume: the links would change otherwise than when the run began",
                "undo the changes of the table that they follow, or begin a new run",
            )

    def facts(self) -> dict[str, str]:
        """Returns what the environment of a run has of this, for its resumption."""
        return {_KEY: self._digest} if any(self._of_cell.values()) else {}

    def require_unchanged(self, cell: Cell) -> None:
        """Raises a UsageError if a cell that has just been measured may have read another table."""
        if self._texts(cell) != self._of_cell[cell.label]:
            raise UsageError(
                f"{cell.label}: a table of the links' changes was written during the run; this cell is not kept",
                "undo the changes of that file, and continue with --resume latest",
            )

    def _texts(self, cell: Cell) -> list[str]:
        return [str(event) for event in self._scenario.link_events(cell, self._plan)]
