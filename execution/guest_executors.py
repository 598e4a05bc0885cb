"""Executors that start a guest for each cell: the virtual-time kernel, or a VM."""

import contextlib
import inspect
import os
import sys
import time
from abc import abstractmethod
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from pydantic import ValidationError

from execution.executor import Executor, Measured, PlannedCell, RunContext
from execution.guest_side import CellRequest, PlanCheck, check_plan, measure_cell
from execution.guests.calling import GuestCall, called
from execution.guests.guest import POLL_S, Guest
from execution.progress import PERIOD_S
from execution.uml.kernel import UmlKernel
from execution.uml.uml import UserModeLinux
from execution.vm import kernels
from execution.vm.virtual_machine import VirtualMachine
from experiments.plan import Plan
from experiments.scenario import Scenario
from flightpath.clock import Clock
from flightpath.errors import FlightpathError, MeasurementFailed
from flightpath.overrides import override
from flightpath.processes import memory_bytes
from results.exchange.progress import CellProgress
from results.records import Cell, CellResult

UML_MEMORY_MIB = 3072
"""Memory of one kernel: JMeter, PostgreSQL and the buffers of links of 10 Gb/s need less than two thirds of it."""

VM_TIME_LIMIT_S = 3600.0
_REPETITIONS_APART = 1 << 32
"""Offset between the seeds of two repetitions, so that no run's second is another run's first."""


class GuestExecutor(Executor):
    """A machine that boots for each cell, and vanishes with it.

    Args:
        jobs: number of cells at once.

    Attributes:
        artifacts_at: the path of the run's folder in the guest; None: the same as here.
    """

    artifacts_at: ClassVar[Path | None] = None

    def __init__(self, jobs: int = 1) -> None:
        self.jobs = jobs

    @abstractmethod
    def guest(self, argv: Sequence[str], writable: Path | None, slot: int, seed: int) -> Guest:
        """Returns a guest that runs a command.

        Args:
            argv: the command.
            writable: a folder in which files are kept.
            slot: the guest's number among those that run at once.
            seed: of its random numbers, where they can be chosen.
        """

    @override
    def prepare(self, scenario: Scenario, plan: Plan, *, shorten: bool) -> Plan:
        start = partial(self.guest, writable=None, slot=0, seed=plan.seed)
        with called(start, check_plan, plan_check(scenario, plan, shorten=shorten)) as call:
            checked = call.wait()
            sys.stderr.write((call.guest.shared / "stderr").read_text(encoding="utf-8", errors="replace"))
        return Plan.from_json(checked)

    @override
    def measure_all(self, run: RunContext, cells: Sequence[PlannedCell]) -> Generator[Measured]:
        waiting = list(cells)
        with ExitStack() as stack:
            running: dict[int, _RunningGuest] = {}
            while waiting or running:
                for slot in range(self.jobs):
                    if waiting and slot not in running:
                        running[slot] = self._start(run, waiting.pop(0), slot, stack)
                time.sleep(POLL_S)
                run.check()
                for slot, each in list(running.items()):
                    if (result := self._result(run, each)) is not None:
                        del running[slot]
                        each.stack.close()
                        yield Measured(each.planned, result)

    def _start(self, run: RunContext, planned: PlannedCell, slot: int, stack: ExitStack) -> "_RunningGuest":
        run.progress.begin(planned.cell.label)
        request = cell_request(run.scenario, run.plan, planned.cell, self.artifacts_at or run.artifacts.resolve())
        own = stack.enter_context(ExitStack())
        start = partial(self.guest, writable=run.artifacts, slot=slot, seed=seed_of(run.plan, planned.cell))
        return _RunningGuest(planned, own.enter_context(called(start, measure_cell, request)), own)

    def _result(self, run: RunContext, each: "_RunningGuest") -> CellResult | MeasurementFailed | None:
        """Returns the result of a running guest, or why it has none; None while it runs."""
        try:
            if (result := each.call.answer()) is None:
                each.pass_on_progress(run)
                return None
        except MeasurementFailed as error:
            return error
        found = {**result.certificate.found, "machine": self.name}
        return CellResult(each.planned.cell, result.measurement, replace(result.certificate, found=found))


class UmlExecutor(GuestExecutor):
    """The virtual-time kernel: a User-Mode Linux for each cell.

    Args:
        kernel: the kernel that is started.
        clock: clock of the guests; with the real one only one cell at a time is of use.
        jobs: number of cells at once.
        processors: processors for the guests, in turn; by default each guest chooses.
    """

    name = "uml"
    artifacts_at = Path("/mnt/artifacts")  # fixed path: hash order, and so the result, depends on it

    def __init__(
        self, kernel: UmlKernel, clock: Clock, jobs: int = 1, *, processors: Sequence[int] | None = None
    ) -> None:
        super().__init__(jobs)
        self._kernel, self.clock = kernel, clock
        self._processors = processors

    @override
    def guest(self, argv: Sequence[str], writable: Path | None, slot: int, seed: int) -> Guest:
        processor = self._processors[slot % len(self._processors)] if self._processors else None
        machine = UserModeLinux(
            self._kernel, self.clock, UML_MEMORY_MIB, writable, self.artifacts_at, processor=processor, seed=seed
        )
        return machine.guest(argv)


class VmExecutor(GuestExecutor):
    """A virtual machine with a stock kernel, on the real clock: one cell at a time."""

    name = "vm"

    @override
    def guest(self, argv: Sequence[str], writable: Path | None, slot: int, seed: int) -> Guest:
        return VirtualMachine(kernels.find(), results=writable).guest(argv, time_limit_s=VM_TIME_LIMIT_S)


def max_parallel_kernels() -> int:
    """Returns how many kernels this machine can run at once: one per processor, as far as the memory suffices."""
    available_mib = memory_bytes()["MemAvailable"] >> 20
    return max(1, min(len(os.sched_getaffinity(0)), available_mib // UML_MEMORY_MIB))


@dataclass
class _RunningGuest:
    """A guest that measures a cell; `stack` ends it."""

    planned: PlannedCell
    call: GuestCall[CellResult]
    stack: ExitStack
    reported_s: float = field(default=0.0)

    def pass_on_progress(self, run: RunContext) -> None:
        """Shows the progress that the guest last reported."""
        if time.monotonic() < self.reported_s + PERIOD_S:
            return
        self.reported_s = time.monotonic()
        if (content := self.call.progress()) is not None:
            with contextlib.suppress(ValidationError, FlightpathError):
                run.show(self.planned.cell.label, CellProgress.model_validate_json(content))


def seed_of(plan: Plan, cell: Cell) -> int:
    """Returns the seed of a cell's guest: a repetition draws other numbers, the same in each run of the same seed."""
    return plan.seed + _REPETITIONS_APART * (cell.repetition - 1)


def plan_check(scenario: Scenario, plan: Plan, *, shorten: bool) -> PlanCheck:
    """Makes the request to check a plan elsewhere."""
    return PlanCheck(scenario=scenario.name, file=_file_of(scenario), plan=plan.as_json(), shorten=shorten)


def cell_request(scenario: Scenario, plan: Plan, cell: Cell, artifacts: Path = Path()) -> CellRequest:
    """Makes the request to measure a cell of a plan elsewhere."""
    alone = plan.of_cell(cell).as_json()
    file, repetition = _file_of(scenario), cell.repetition
    return CellRequest(scenario=scenario.name, file=file, plan=alone, repetition=repetition, artifacts=artifacts)


def _file_of(scenario: Scenario) -> Path:
    return Path(inspect.getfile(type(scenario))).resolve()
