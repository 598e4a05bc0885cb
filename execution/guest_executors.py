"""Machines that are guests of this one: cells are measured in the lab or in a VM, and their records come back."""

import contextlib
import inspect
import os
import sys
import time
from abc import abstractmethod
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ValidationError

from execution.exchange import (
    ANSWER,
    PROGRESS,
    REQUEST,
    Answer,
    Request,
    plan_in,
    read_answer,
    result_in,
    write,
)
from execution.executor import Executor, Measured, PlannedCell, RunContext
from execution.guests.guest import POLL_S, Guest
from execution.progress import PERIOD_S
from execution.uml.kernel import UmlKernel
from execution.uml.processors import idlest_first
from execution.uml.uml import UserModeLinux
from execution.vm import kernels
from execution.vm.virtual_machine import VirtualMachine
from experiments.plan import Plan
from experiments.scenario import Scenario
from flightpath.clock import Clock
from flightpath.errors import FlightpathError, MeasurementFailed
from flightpath.overrides import override
from flightpath.processes import memory_bytes
from flightpath.project import PROJECT
from results.exchange.progress import CellProgress
from results.records import CellResult

UML_MEMORY_MIB = 3072
"""Of one lab: JMeter, PostgreSQL and the buffers of links of 10 Gb/s need less than two thirds of it."""

VM_TIME_LIMIT_S = 3600.0
_REPETITIONS_APART = 1 << 32
"""Between the seeds of two repetitions, so that no run's second is another run's first."""

# A module of the current folder must not take the place of one of ours (-P).
_COMMAND = ("env", f"PYTHONPATH={PROJECT}", sys.executable, "-P", "-m", "execution.guest_side")


class GuestExecutor(Executor):
    """A machine that boots for each cell, and vanishes with it.

    Args:
        jobs: so many cells at once.

    Attributes:
        artifacts_at: the path of the run's folder in the guest; None: the same as here.
    """

    artifacts_at: ClassVar[Path | None] = None

    def __init__(self, jobs: int = 1) -> None:
        self.jobs = jobs

    @abstractmethod
    def guest(self, argv: Sequence[str], writable: Path | None, slot: int, seed: int) -> Guest:
        """A guest that runs a command.

        Args:
            argv: the command.
            writable: a folder in which files are kept.
            slot: the guest's number among those that run at once.
            seed: of its random numbers, where they can be chosen.
        """

    @override
    def prepare(self, scenario: Scenario, plan: Plan, *, shorten: bool) -> Plan:
        request = request_for(scenario, plan, shorten=shorten)
        with self._asked(request, None, slot=0, seed=plan.seed) as guest:
            while (answer := _answer(guest)) is None:
                time.sleep(POLL_S)
            sys.stderr.write((guest.shared / "stderr").read_text(encoding="utf-8", errors="replace"))
        return plan_in(answer)

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
        artifacts = self.artifacts_at or run.artifacts.resolve()
        request = request_for(run.scenario, run.plan, order=planned.order, artifacts=artifacts)
        own = stack.enter_context(ExitStack())
        # A repetition is another draw of the random numbers, and the same in each run of the same seed.
        seed = run.plan.seed + _REPETITIONS_APART * (planned.cell.repetition - 1)
        return _RunningGuest(planned, own.enter_context(self._asked(request, run.artifacts, slot, seed)), own)

    def _result(self, run: RunContext, each: "_RunningGuest") -> CellResult | MeasurementFailed | None:
        """The result of a running guest, or why it has none; None while it runs."""
        try:
            if (answer := _answer(each.guest)) is None:
                each.pass_on_progress(run)
                return None
            result = result_in(answer)
        except MeasurementFailed as error:
            return error
        found = {**result.certificate.found, "machine": self.name}
        return CellResult(each.planned.cell, result.measurement, replace(result.certificate, found=found))

    @contextlib.contextmanager
    def _asked(self, request: Request, writable: Path | None, slot: int, seed: int) -> Iterator[Guest]:
        guest = self.guest(_COMMAND, writable, slot, seed)
        write(request, guest.shared, REQUEST)
        with guest:
            yield guest


class UmlExecutor(GuestExecutor):
    """The virtual-time kernel: a User-Mode Linux for each cell.

    Args:
        kernel: of the lab.
        clock: of the lab; with the real one only one cell at a time is of use.
        jobs: so many cells at once.
        processors: for the labs, one after the other; by default this machine's, the idlest first.
    """

    name = "uml"
    artifacts_at = Path("/mnt/artifacts")  # a path that differs would change the order of something hashed

    def __init__(
        self, kernel: UmlKernel, clock: Clock, jobs: int = 1, *, processors: Sequence[int] | None = None
    ) -> None:
        super().__init__(jobs)
        self._kernel, self.clock = kernel, clock
        self._processors = processors or idlest_first()

    @override
    def guest(self, argv: Sequence[str], writable: Path | None, slot: int, seed: int) -> Guest:
        processor = self._processors[slot % len(self._processors)]
        lab = UserModeLinux(
            self._kernel, self.clock, UML_MEMORY_MIB, writable, self.artifacts_at, processor=processor, seed=seed
        )
        return lab.guest(argv)


class VmExecutor(GuestExecutor):
    """A virtual machine with a stock kernel, on the real clock: one cell at a time."""

    name = "vm"

    @override
    def guest(self, argv: Sequence[str], writable: Path | None, slot: int, seed: int) -> Guest:
        return VirtualMachine(kernels.find(), results=writable).guest(argv, time_limit_s=VM_TIME_LIMIT_S)


def max_parallel_kernels() -> int:
    """How many labs this machine can run at once: one per processor, as far as the memory suffices."""
    available_mib = memory_bytes()["MemAvailable"] >> 20
    return max(1, min(len(os.sched_getaffinity(0)), available_mib // UML_MEMORY_MIB))


@dataclass
class _RunningGuest:
    """A guest that measures a cell; `stack` ends it."""

    planned: PlannedCell
    guest: Guest
    stack: ExitStack
    reported_s: float = field(default=0.0)

    def pass_on_progress(self, run: RunContext) -> None:
        """Shows what the guest last told of its cell."""
        if time.monotonic() < self.reported_s + PERIOD_S:
            return
        self.reported_s = time.monotonic()
        with contextlib.suppress(FileNotFoundError, ValidationError, FlightpathError):
            told = CellProgress.model_validate_json((self.guest.shared / PROGRESS).read_text(encoding="utf-8"))
            run.show(self.planned.cell.label, told)


def request_for(scenario: Scenario, plan: Plan, **fields: Any) -> Request:
    """What a guest is asked for."""
    file = Path(inspect.getfile(type(scenario))).resolve()
    return Request(scenario=scenario.name, file=file, plan=plan.as_json(), **fields)


def _answer(guest: Guest) -> Answer | None:
    """The answer of a guest; None while there is none yet.

    Raises:
        FlightpathError: what the guest reported, or that it ended without an answer.
    """
    code = guest.exit_code()
    file = guest.shared / ANSWER
    if file.exists():
        return read_answer(file.read_bytes())
    if code is not None:
        raise MeasurementFailed(f"the guest ended without a result: {guest.console()}")
    return None
