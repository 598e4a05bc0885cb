"""A run on the executor that it was placed on: checked, measured, and moved elsewhere if this machine is too slow."""

import sys
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from execution import placement
from execution.attempts import Attempts, TooSlow
from execution.executor import Executor, Measured
from execution.placement import PlacementRequest
from execution.progress import Report
from experiments.plan import Plan
from experiments.scenario import Scenario
from flightpath.errors import MissingCapability, UntrustworthyResult
from results.records import Cell

VIRTUAL_TIME_HINT = "this machine is too slow or too busy: make uml-kernel, then measure again with --clock virtual"


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

        A plan that this machine cannot measure at all, for example in a container without privileges, is measured in
        virtual time, unless the user asked for something else.

        Args:
            request: what is to be measured.
            plan: measure this instead of the plan of the request.

        Raises:
            UsageError, MissingCapability: it cannot be measured.
        """
        plan = plan or request.plan
        try:
            return cls._agreed(request, plan)
        except MissingCapability as error:
            if not (request.placement.may_change_clock and placement.has_uml_kernel()):
                raise
            print(f"measuring in virtual time, because {error}", file=sys.stderr)
            return cls._agreed(request, placement.in_virtual_time(plan, request.placement))

    @classmethod
    def _agreed(cls, request: RunRequest, plan: Plan) -> "Execution":
        executor = placement.executor_of(plan, request.placement)
        shorten = not request.placement.is_resumed
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
        """Returns the execution to start over with: in virtual time, or at a smaller scale.

        Raises:
            UntrustworthyResult: there is none.
        """
        print(f"this machine is too slow: {error}", file=sys.stderr)
        scenario, where = self.request.scenario, self.request.placement
        fallback = placement.fallback_plan(scenario, self.plan, self.request.plan, where, error.carried)
        if fallback is None:
            raise UntrustworthyResult("this machine is too slow at any scale: nothing was measured", VIRTUAL_TIME_HINT)
        plan, description = fallback
        print(f"starting over {description}", file=sys.stderr)
        return self.prepared(self.request, plan)

    def facts(self) -> Mapping[str, Any]:
        """Returns what is recorded of the executor with the run."""
        return self.executor.facts()
