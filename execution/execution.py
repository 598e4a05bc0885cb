"""A run on the executor that it was placed on: checked, measured, and moved elsewhere if this machine is too slow."""

import sys
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from execution import placement
from execution.attempts import Attempts, TooSlow
from execution.executor import Executor, Measured
from execution.placement import PlacementRequest
from execution.progress import Report
from experiments.plan import Plan
from experiments.scenario import Scenario
from flightpath.clock import Clock
from flightpath.errors import MissingCapability, UntrustworthyResult
from results.records import Cell


def hint_if_slow(scenario: Scenario) -> str:
    """Returns what a user can do whose machine is too slow or too busy for a scenario."""
    if scenario.clock is Clock.REAL:
        return "its question is one of processors: it needs a machine that has more of them, or less to do"
    first = "" if placement.has_uml_kernel() else "make uml-kernel, then "
    return f"this machine is too slow or too busy: {first}measure again with --clock virtual"


@dataclass(frozen=True)
class RunRequest:
    """A measurement that a user wants.

    Attributes:
        scenario: the experiment.
        plan: its cells, with the executor and the clock that the user asked for.
        placement: what may be changed if this machine cannot measure that.
    """

    scenario: Scenario
    plan: Plan
    placement: PlacementRequest


@dataclass(frozen=True)
class Execution:
    """A request and the executor that was found able to measure it; `plan` is what it measures."""

    request: RunRequest
    plan: Plan
    executor: Executor

    @classmethod
    def prepared(cls, request: RunRequest, plan: Plan | None = None) -> "Execution":
        """Returns the execution of a request, whose executor has agreed to the plan; starts nothing.

        A plan that cannot be measured on its clock is measured on the other one, unless the user asked for a clock: one
        with a congestion control in BPF needs the real clock, and a container without privileges virtual time.

        Args:
            request: what is to be measured.
            plan: measure this instead of the plan of the request.

        Raises:
            UsageError, MissingCapability: it cannot be measured.
        """
        plan = plan or request.plan
        shorten = not request.placement.is_resumed
        if (other := placement.on_other_clock(plan, request.placement)) is None:
            return cls._agreed(request, plan, shorten=shorten)
        try:
            return cls._agreed(request, plan, shorten=False)
        except MissingCapability as error:
            try:
                moved = cls._agreed(replace(request, plan=other), other, shorten=shorten)
            except MissingCapability:
                return cls._agreed(request, plan, shorten=shorten)
            how = "in virtual time" if other.clock is Clock.VIRTUAL else "on the real clock"
            print(f"measuring {how}, because {error}", file=sys.stderr)
            return moved

    @classmethod
    def _agreed(cls, request: RunRequest, plan: Plan, *, shorten: bool) -> "Execution":
        executor = placement.executor_of(plan, request.placement)
        return cls(request, executor.prepare(request.scenario, plan, shorten=shorten), executor)

    def run(self, main: Callable[[], int], keep: Sequence[Path]) -> int:
        """Calls a function that consumes `results`, where the executor needs it; returns its exit code.

        Args:
            main: the function.
            keep: folders that it uses.
        """
        return self.executor.run(main, keep)

    def results(self, done: Collection[Cell], artifacts: Path, report: Report) -> Generator[Measured]:
        """Measures the cells that are not done, as `Attempts.results` does.

        Raises:
            TooSlow: this machine is too slow; `elsewhere` has another execution.
        """
        scenario, wanted, where = self.request.scenario, self.request.plan, self.request.placement
        attempts = Attempts(
            scenario,
            self.plan,
            self.executor,
            may_start_over=placement.fallback_plan(scenario, wanted, wanted, where, 1.0) is not None,
            may_try_again=not (where.is_fixed or self.executor.tries_again),
        )
        return attempts.results(done, artifacts, report)

    def elsewhere(self, error: TooSlow) -> "Execution":
        """Returns the execution to start over with, at a smaller scale.

        Raises:
            UntrustworthyResult: there is none.
        """
        print(f"this machine is too slow: {error}", file=sys.stderr)
        scenario, where = self.request.scenario, self.request.placement
        fallback = placement.fallback_plan(scenario, self.plan, self.request.plan, where, error.carried)
        if fallback is None:
            why = "this machine is too slow at any scale: nothing was measured"
            raise UntrustworthyResult(why, hint_if_slow(scenario))
        print(f"starting over at {fallback.scale:g} of all bandwidths and loads (not with --scale 1)", file=sys.stderr)
        return self.prepared(self.request, fallback)

    def facts(self) -> Mapping[str, Any]:
        """Returns what is recorded of the executor with the run."""
        return self.executor.facts()
