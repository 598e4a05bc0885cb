"""The cells of a run on its executor: which comes first, which is measured again, and when to start over."""

from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from execution.executor import Executor, Measured, PlannedCell, RunContext
from execution.progress import Report
from execution.progress_line import ProgressLine
from experiments import fidelity
from experiments.plan import Plan
from experiments.scenario import Scenario
from flightpath.errors import MeasurementFailed
from results.records import Cell, CellResult


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
            done: cells that were measured before.
            artifacts: the run's folder, for files worth keeping.
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
