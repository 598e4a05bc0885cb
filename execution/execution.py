"""A run on the executor that it was placed on: checked, measured, and moved elsewhere if this machine is too slow.

`Execution` has the executor, `Attempts` the order of its cells: which comes first, and which is measured again.
"""

import sys
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from execution import placement
from execution.executor import Executor, Measured, PlannedCell, RunContext
from execution.placement import PlacementRequest
from execution.progress import Report
from execution.progress_line import ProgressLine
from experiments import fidelity
from experiments.plan import Plan
from experiments.scenario import Scenario
from flightpath.clock import Clock
from flightpath.errors import MeasurementFailed, MissingCapability, UntrustworthyResult
from results.records import Cell, CellResult


def hint_if_slow(scenario: Scenario) -> str:
    """Returns what a user can do whose machine is too slow or too busy for a scenario."""
    if scenario.clock is Clock.REAL:
        return "its question is one of processors: it needs a machine that has more of them, or less to do"
    first = "" if placement.has_uml_kernel() else "make uml-kernel, then "
    return f"this machine is too slow or too busy: {first}measure again with --clock virtual"


class TooSlow(Exception):
    """This machine is too slow for a cell; the message says what was found.

    Attributes:
        carried: the share of the load that it carried.
    """

    def __init__(self, label: str, why: str, carried: float) -> None:
        super().__init__(f"{label}: {why}")
        self.carried = carried


@dataclass(frozen=True)
class Attempts:
    """The cells of a plan.

    If the machine was too slow for a cell, it is measured once more after all others, because the cause may have
    passed, unless that was so for most cells.

    Attributes:
        may_start_over: raise TooSlow if the machine is too slow for the heaviest cell, which is tried first then, for
            most cells, or for one of them twice.
        may_try_again: measure a cell once more; otherwise each result counts as it is.
    """

    scenario: Scenario
    plan: Plan
    executor: Executor
    may_start_over: bool
    may_try_again: bool

    def results(self, done: Collection[Cell], artifacts: Path, report: Report) -> Generator[Measured]:
        """Measures every cell that is not done; yields each with its result, or with the error for which it has none.

        Args:
            report: gets the progress of the cell that is measured.

        Raises:
            TooSlow: this machine is too slow.
        """
        cells = [PlannedCell(order, cell) for order, cell in enumerate(self.plan.cells())]
        missing = self._heaviest_first([planned for planned in cells if planned.cell not in done])
        estimates = {planned.cell.label: self.scenario.estimate_s(planned.cell, self.plan) for planned in missing}
        with ProgressLine(self.scenario.name, estimates, already_done=len(cells) - len(missing)) as progress:
            run = RunContext(self.scenario, self.plan, artifacts, progress, report)
            postponed: list[tuple[PlannedCell, CellResult]] = []
            for planned, result in self._measured(run, missing):
                why = None if isinstance(result, MeasurementFailed) else fidelity.too_slow(result.certificate)
                if isinstance(result, MeasurementFailed) or why is None or not self.may_try_again:
                    yield from _shown(progress, planned, result)
                    continue
                if planned is missing[0]:
                    self._consider_starting_over(planned, result)
                postponed.append((planned, result))
                progress.postponed(planned.cell.label, why)
            yield from self._again(run, progress, postponed, len(missing))

    def _heaviest_first(self, missing: list[PlannedCell]) -> list[PlannedCell]:
        """Moves the heaviest cell to the front; the others keep the plan's order, which is shuffled for a reason."""
        if not self.may_start_over or not missing:
            return missing
        heaviest = max(missing, key=lambda planned: self.scenario.demand(planned.cell, self.plan))
        return [heaviest, *(planned for planned in missing if planned is not heaviest)]

    def _measured(self, run: RunContext, cells: Sequence[PlannedCell]) -> Iterator[Measured]:
        with self.executor.measure(run, cells) as measured:
            yield from measured

    def _again(
        self,
        run: RunContext,
        progress: ProgressLine,
        postponed: Sequence[tuple[PlannedCell, CellResult]],
        count: int,
    ) -> Iterator[Measured]:
        """Measures the postponed cells once more if they are not most of `count`."""
        if len(postponed) > count / 2:
            for planned, result in postponed:
                self._consider_starting_over(planned, result)
                yield from _shown(progress, planned, result)
            return
        causes = {planned.order: fidelity.too_slow(result.certificate) for planned, result in postponed}
        for planned, again in self._measured(run, [planned for planned, _ in postponed]):
            if isinstance(again, MeasurementFailed):
                yield from _shown(progress, planned, again)
                continue
            self._consider_starting_over(planned, again)
            found = {**again.certificate.found, "measured_again_because": causes[planned.order]}
            noted = replace(again, certificate=replace(again.certificate, found=found))
            yield from _shown(progress, planned, noted)

    def _consider_starting_over(self, planned: PlannedCell, result: CellResult) -> None:
        why = fidelity.too_slow(result.certificate)
        if self.may_start_over and why:
            raise TooSlow(planned.cell.label, why, self.scenario.carried(result))


def _shown(progress: ProgressLine, planned: PlannedCell, result: CellResult | MeasurementFailed) -> Iterator[Measured]:
    """Yields a cell, and shows it as done when whoever consumes it has stored it."""
    if isinstance(result, MeasurementFailed):
        progress.failed(planned.cell.label, str(result))
        yield Measured(planned, result)
    else:
        yield Measured(planned, result)
        progress.finished(result)


@dataclass(frozen=True)
class RunRequest:
    """A measurement that a user wants.

    Attributes:
        plan: its cells, with the executor and the clock that the user asked for.
        placement: the user's choices; what they leave open may be changed if this machine cannot measure the plan.
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
        """Calls a function that consumes `results`, where the executor needs it; returns its exit code."""
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
        """Returns the execution to start over with, at a smaller scale."""
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
