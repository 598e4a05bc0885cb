"""The measurement of a run's cells on its machine: what is recorded, what is tried again, and when to start over."""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from execution.executor import Executor, PlannedCell, RunContext
from execution.progress import ProgressLine
from experiments import fidelity
from experiments.plan import Plan
from experiments.scenario import Scenario
from flightpath.errors import MeasurementFailed
from results.exchange.progress import report_progress
from results.records import CellResult
from results.store.store import Store


class TooSlow(Exception):
    """This machine is too slow for a cell; the message says what was found.

    Attributes:
        carried: the share of the load that it carried all the same.
    """

    def __init__(self, label: str, why: str, carried: float) -> None:
        super().__init__(f"{label}: {why}")
        self.carried = carried


@dataclass(frozen=True)
class Attempts:
    """The cells of a run that are missing.

    A cell for which the machine was too slow is measured once more after all others, because the cause may have passed,
    unless that was so for most of them.

    Attributes:
        may_start_over: raise TooSlow if the machine is too slow for the heaviest cell, which is tried first then, for
            most cells, or for one of them twice.
        may_try_again: measure a cell once more; otherwise each result counts as it is.
    """

    scenario: Scenario
    plan: Plan
    executor: Executor
    store: Store
    run_id: str
    may_start_over: bool
    may_try_again: bool

    def measure(self) -> list[str]:
        """Measures and records every cell that the store does not have; returns a message for each that failed.

        Raises:
            TooSlow: this machine is too slow.
        """
        done = [result.cell for result in self.store.cells(self.run_id)]
        cells = [PlannedCell(order, cell) for order, cell in enumerate(self.plan.cells())]
        missing = self._heaviest_first([planned for planned in cells if planned.cell not in done])
        estimates = {planned.cell.label: self.scenario.estimate_s(planned.cell, self.plan) for planned in missing}
        failures: list[str] = []
        with ProgressLine(self.scenario.name, estimates, already_done=len(cells) - len(missing)) as progress:
            report = functools.partial(report_progress, self.store, self.run_id)
            run = RunContext(self.scenario, self.plan, self.store.artifacts(self.run_id), progress, report)
            postponed: list[tuple[PlannedCell, CellResult]] = []
            for planned, result in self._measured(run, missing, failures):
                why = fidelity.too_slow(result.certificate)
                if why is None or not self.may_try_again:
                    self._record(run, planned, result)
                    continue
                if planned is missing[0]:
                    self._consider_starting_over(planned, result)
                postponed.append((planned, result))
                progress.postponed(planned.cell.label, why)
            self._finish(run, postponed, len(missing), failures)
        return failures

    def _heaviest_first(self, missing: list[PlannedCell]) -> list[PlannedCell]:
        """The others keep the plan's order, which is shuffled for a reason."""
        if not self.may_start_over or not missing:
            return missing
        heaviest = max(missing, key=lambda planned: self.scenario.demand(planned.cell, self.plan))
        return [heaviest, *(planned for planned in missing if planned is not heaviest)]

    def _measured(
        self, run: RunContext, cells: Sequence[PlannedCell], failures: list[str]
    ) -> Iterator[tuple[PlannedCell, CellResult]]:
        """Measures cells; `failures` gets a message for each that could not be measured."""
        with self.machine.measure(run, cells) as measured:
            for planned, result in measured:
                if isinstance(result, MeasurementFailed):
                    failures.append(f"{planned.cell.label}: {result}")
                    run.progress.failed(planned.cell.label, str(result))
                else:
                    yield planned, result

    def _finish(
        self, run: RunContext, postponed: Sequence[tuple[PlannedCell, CellResult]], count: int, failures: list[str]
    ) -> None:
        """Measures the cells once more for which the machine was too slow, if they are not most of `count`."""
        if len(postponed) > count / 2:
            for planned, result in postponed:
                self._consider_starting_over(planned, result)
                self._record(run, planned, result)
            return
        causes = {planned.order: fidelity.too_slow(result.certificate) for planned, result in postponed}
        for planned, result in self._measured(run, [planned for planned, _ in postponed], failures):
            self._consider_starting_over(planned, result)
            found = {**result.certificate.found, "measured_again_because": causes[planned.order]}
            self._record(run, planned, replace(result, certificate=replace(result.certificate, found=found)))

    def _consider_starting_over(self, planned: PlannedCell, result: CellResult) -> None:
        why = fidelity.too_slow(result.certificate)
        if self.may_start_over and why:
            raise TooSlow(planned.cell.label, why, self.scenario.carried(result))

    def _record(self, run: RunContext, planned: PlannedCell, result: CellResult) -> None:
        self.store.record(self.run_id, result, planned.order)
        run.progress.finished(result)
