"""Executors of cells: the contract, and the one for this machine's own kernel."""

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import congestion
from execution.progress import LiveProgress, Report
from experiments.plan import Plan
from experiments.scenario import CellContext, Scenario
from flightpath.command_line import exit_code_of, sigterm_as_interrupt
from flightpath.errors import MeasurementFailed
from flightpath.overrides import override
from results.exchange.progress import CellProgress
from results.records import Cell, CellResult
from topologies.sandbox import sandbox


class PlannedCell(NamedTuple):
    """A cell of a plan, and its number there."""

    order: int
    cell: Cell


class Measured(NamedTuple):
    """A planned cell with its result, or with the error for which it has none."""

    planned: PlannedCell
    result: CellResult | MeasurementFailed


class CellDisplay(Protocol):
    """Shows what becomes of cells while they are measured: `ProgressLine`, or a worker's reports to the scheduler."""

    def begin(self, label: str) -> None:
        """Shows that a cell begins."""

    def update(self, label: str, fraction: float, doing: str) -> None:
        """Shows which fraction of a cell is done, and what is going on."""

    def postponed(self, label: str, why: str) -> None:
        """Shows that a cell will be measured again."""


@dataclass(frozen=True)
class RunContext:
    """The run that cells belong to.

    Attributes:
        artifacts: the run's folder in the results, for files worth keeping.
        progress: shows which cells begin, and how far they are.
        report: stores what the dashboard shows of the cell that is measured.
        check: called while a cell is measured in a guest; raises MeasurementFailed if nobody waits for it any more.
    """

    scenario: Scenario
    plan: Plan
    artifacts: Path
    progress: CellDisplay
    report: Report
    check: Callable[[], None] = lambda: None

    def show(self, label: str, reported: CellProgress) -> None:
        """Shows the progress that another machine reported of a cell, here and on the dashboard."""
        self.progress.update(label, reported.fraction, reported.doing)
        # The guest's clock differs from ours.
        self.report(reported.model_copy(update={"told_at": datetime.now(UTC).isoformat()}))


class Executor(ABC):
    """Place that measures cells.

    Attributes:
        name: `here`, `uml`, `vm` or `cluster`; recorded in each certificate.
        tries_again: it measures a cell again by itself if the result is unusable.
    """

    name: str
    tries_again: bool = False

    def facts(self) -> Mapping[str, Any]:
        """Returns facts that are recorded with a run, as JSON values, besides those about this machine."""
        return {}

    @abstractmethod
    def prepare(self, scenario: Scenario, plan: Plan, *, shorten: bool) -> Plan:
        """Checks that the executor can measure a plan, and returns it; starts nothing.

        Args:
            scenario: of the plan.
            shorten: leave out congestion controls that it does not have (`without_missing_algorithms`).

        Raises:
            UsageError, MissingCapability: it cannot.
        """

    def run(self, main: Callable[[], int], keep: Sequence[Path]) -> int:
        """Calls a function that measures cells on this machine, and returns its exit code; `keep` are folders it uses.

        By default the function is called as it is, because what it measures runs elsewhere.

        Raises:
            MissingCapability: the function's surroundings cannot be made here.
        """
        sigterm_as_interrupt()
        return exit_code_of(main)

    def measure(self, run: RunContext, cells: Sequence[PlannedCell]) -> AbstractContextManager[Iterator[Measured]]:
        """Measures cells; each comes as soon as it is measured. Leaving the context ends those that still run."""
        return closing(self.measure_all(run, cells))

    @abstractmethod
    def measure_all(self, run: RunContext, cells: Sequence[PlannedCell]) -> Generator[Measured]:
        """Returns a generator for `measure`: closing it ends what still runs."""


class LocalExecutor(Executor):
    """This machine's own kernel and clock, in a sandbox: one cell after the other."""

    name = "here"

    @override
    def prepare(self, scenario: Scenario, plan: Plan, *, shorten: bool) -> Plan:
        if shorten:
            plan = scenario.without_missing_algorithms(plan)
        scenario.require(plan)
        sandbox.require()
        return plan

    @override
    def run(self, main: Callable[[], int], keep: Sequence[Path]) -> int:
        return sandbox.run_inside(main, keep=[*keep, congestion.RECORDS])

    @override
    def measure_all(self, run: RunContext, cells: Sequence[PlannedCell]) -> Generator[Measured]:
        for planned in cells:
            run.progress.begin(planned.cell.label)
            try:
                yield Measured(planned, self._measure(run, planned.cell))
            except MeasurementFailed as error:
                yield Measured(planned, error)

    def _measure(self, run: RunContext, cell: Cell) -> CellResult:
        def update(fraction: float, doing: str) -> None:
            run.progress.update(cell.label, fraction, doing)
            live.update(fraction, doing)

        with LiveProgress(run.report, cell.label) as live:
            return measure_here(run.scenario, run.plan, cell, run.artifacts, update, live)


def measure_here(
    scenario: Scenario,
    plan: Plan,
    cell: Cell,
    artifacts: Path,
    update: Callable[[float, str], None],
    live: LiveProgress,
) -> CellResult:
    """Measures a cell on the kernel that this process runs on, inside a sandbox."""
    folder = sandbox.TEMPORARY / "cell"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return scenario.measure(CellContext(cell, plan, folder, artifacts, update, live.show_samples))
