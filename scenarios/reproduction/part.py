"""A part of the record: one run, with its form and its clock."""

import shlex
from dataclasses import dataclass

from experiments import catalogue
from experiments.plan import Plan
from experiments.scenario import Scenario
from flightpath.clock import Clock
from scenarios.command import runner
from scenarios.command.options import request_from

CORES = 2
"""Number of cores that the estimates assume by default."""


@dataclass(frozen=True)
class Part:
    """One run of the record.

    Several parts may run the same scenario, for example on both clocks. A claim is then judged by the first of them
    that tests it.

    Attributes:
        name: for `PART="…"`; usually the scenario's.
        paper: name of the paper's file in `papers/`.
        options: the scenario's options; the clock, the jobs and the store are added. Empty: only in the papers' size.
        cell_s: processor time of one cell in virtual time, roughly, as measured; 0 on the real clock, where the
            scenario itself knows how long a cell takes.
        full, full_cell_s: both in the paper's own size; empty: there is none.
        is_ours: whether none of its claims is the paper's.
        scenario_name: the scenario, if it is called neither as the part nor as the part that this one adds to.
        adds_to: name of the part with whose cells its own are judged: more repetitions of some, or further values.
    """

    name: str
    paper: str
    options: str = ""
    cell_s: float = 0.0
    clock: Clock = Clock.VIRTUAL
    scenario_name: str = ""
    full: str = ""
    full_cell_s: float = 0.0
    is_ours: bool = False
    adds_to: str = ""

    @property
    def scenario(self) -> Scenario:
        """The scenario that is run."""
        return catalogue.get(self.scenario_name or self.adds_to or self.name)

    @property
    def arguments(self) -> list[str]:
        """The options of the scenario, and the clock; at the paper's rates, since cells tell if a machine is slow."""
        scale = [] if self.clock is Clock.VIRTUAL else ["--scale", "1"]
        return [*shlex.split(self.options), "--clock", str(self.clock), *scale]

    @property
    def command(self) -> str:
        """The command that repeats this part by itself."""
        return shlex.join(["flightpath", "run", self.scenario.name, *self.arguments])

    def plan(self) -> Plan:
        """Returns the plan, before cells that this machine cannot measure are left out."""
        return runner.requested_plan(self.scenario, request_from(self.scenario, self.arguments))

    def estimate_s(self, jobs: int = CORES) -> float:
        """Estimates the duration; in virtual time, `jobs` cells are measured at once."""
        plan = self.plan()
        if self.clock is Clock.VIRTUAL:
            return len(plan.cells()) * self.cell_s / jobs
        return sum(self.scenario.estimate_s(cell, plan) for cell in plan.cells())
