"""The far side of an executor: checks a plan or measures one of its cells, as a request asks (`flightpath.calls`)."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

import congestion
from execution.executor import LocalExecutor, measure_here
from execution.progress import LiveProgress
from experiments import catalogue
from experiments.plan import Plan
from experiments.scenario import Scenario
from flightpath.calls import SHARED
from results.exchange.progress import CellProgress
from results.records import Cell, CellResult
from topologies.sandbox import sandbox

_PERIOD_S = 0.2


class PlanCheck(BaseModel):
    """A request to check a plan.

    Attributes:
        scenario: its name.
        file: the file that defines it.
        plan: the plan, as JSON.
        shorten: leave out congestion controls that the far side does not have.
    """

    scenario: str
    file: Path
    plan: dict[str, Any]
    shorten: bool = False

    def experiment(self) -> Scenario:
        """Finds the scenario on the far side."""
        return catalogue.of_plan(self.scenario, self.plan.get("settings", {})) or catalogue.load(self.file)


class CellRequest(PlanCheck):
    """A request to measure a cell; `plan` is what of its run's plan concerns it (`Plan.of_cell`).

    Attributes:
        artifacts: folder for files worth keeping, as the far side sees it.
    """

    repetition: int
    artifacts: Path = Path()

    def cell(self) -> Cell:
        """Returns the cell."""
        (first,) = Plan.from_json(self.plan).cells()
        return replace(first, repetition=self.repetition)


def check_plan(request: PlanCheck) -> dict[str, Any]:
    """Checks that this kernel can measure a plan, and returns it as JSON values."""
    plan = Plan.from_json(request.plan)
    return LocalExecutor().prepare(request.experiment(), plan, shorten=request.shorten).as_json()


def measure_cell(request: CellRequest, report: Callable[[CellProgress], None]) -> CellResult:
    """Measures a cell in a sandbox on this kernel."""
    scenario, plan = request.experiment(), Plan.from_json(request.plan)
    LocalExecutor().prepare(scenario, plan, shorten=False)
    cell, artifacts = request.cell(), request.artifacts

    def measure() -> CellResult:
        with LiveProgress(report, cell.label, _PERIOD_S) as live:
            return measure_here(scenario, plan, cell, artifacts, live.update, live)

    # The progress is written into the folder that both sides share.
    return sandbox.call_inside(measure, keep=[Path(os.environ[SHARED]), artifacts, congestion.RECORDS])
