"""Placement of a run: which executor measures its cells, by which clock, at which scale, and what it falls back to."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from execution.cluster.key import DEFAULT_KEY, require_dask, scheduler_address
from execution.executor import Executor, LocalExecutor
from execution.guest_executors import UmlExecutor, VmExecutor, max_parallel_kernels
from execution.uml import kernel
from experiments.plan import Plan
from experiments.scenario import Scenario
from flightpath.clock import Clock, clock_here
from flightpath.command_line import check_jobs
from flightpath.errors import MissingCapability, UsageError

MIN_SCALE = 0.05
_SCALE_STEPS = 20
_IDLE_SHARE = 0.4
"""Fraction of the saturating load that leaves enough idle CPU."""

VIRTUAL_REPEAT = 3
"""Default repetitions of a full form in virtual time: only the seed differs between them, so three often suffice."""

HERE, UML, VM = LocalExecutor.name, UmlExecutor.name, VmExecutor.name


class ExecutorKind(NamedTuple):
    """A way to measure cells that users can choose.

    Attributes:
        make: makes the executor of a plan; raises MissingCapability if this machine has none.
        clocks: the clocks that it has, the default first.
    """

    make: Callable[[Plan, "PlacementRequest"], Executor]
    clocks: tuple[Clock, ...]
    summary: str


def _uml(plan: Plan, request: "PlacementRequest") -> Executor:
    jobs = 1 if plan.clock is Clock.REAL else request.jobs or max_parallel_kernels()
    return UmlExecutor(kernel.find(), plan.clock, jobs)


EXECUTORS = {
    HERE: ExecutorKind(lambda plan, request: LocalExecutor(), (clock_here(),), "this machine's kernel"),
    UML: ExecutorKind(
        _uml, (Clock.VIRTUAL, Clock.REAL), "the virtual-time kernel, a User-Mode Linux (make uml-kernel)"
    ),
    VM: ExecutorKind(lambda plan, request: VmExecutor(), (Clock.REAL,), "a VM with a stock kernel (make vm-setup)"),
}
"""Executors by the names that plans and `--machine` have for them. To add one, see CONTRIBUTING.md."""


@dataclass(frozen=True)
class PlacementRequest:
    """A user's wish for executor, clock and scale of a run. None leaves a choice to this machine.

    Attributes:
        scale: factor of all bandwidths and offered loads.
        repeat: repetitions that the user asked for.
        cluster: address of a Dask scheduler, or the file that has it; empty without a cluster.
        is_resumed: the plan is a stored one, and stays as it is.
    """

    executor: str | None = None
    clock: Clock | None = None
    scale: float | None = None
    jobs: int | None = None
    repeat: int | None = None
    cluster: str = ""
    key: Path = DEFAULT_KEY
    is_resumed: bool = False

    @property
    def is_fixed(self) -> bool:
        """Whether clock and scale are given, so that each result counts as it is."""
        return self.clock is not None and self.scale is not None

    @property
    def leaves_clock_open(self) -> bool:
        """Whether the experiment and this machine decide which clock is used."""
        return self.clock is None and self.executor is None and self._is_new

    @property
    def may_change_scale(self) -> bool:
        """Whether bandwidths and loads may be scaled to this machine."""
        return self.scale is None and self.executor in (None, HERE) and self._is_new and not self.cluster

    @property
    def _is_new(self) -> bool:
        return not self.is_resumed and clock_here() is Clock.REAL


def with_placement(scenario: Scenario, plan: Plan, request: PlacementRequest) -> Plan:
    """Returns the plan with the executor, the clock and the scale of a request."""
    executor = request.executor or (UML if _clock(scenario, request) is Clock.VIRTUAL else HERE)
    clocks = EXECUTORS[executor].clocks
    clock = request.clock or clocks[0]
    if clock not in clocks:
        raise UsageError(f"--machine {executor} has no {clock} clock", f"use --machine {UML}")
    plan = _at(plan, executor, clock, request)
    _check_jobs(plan, request)
    return plan if request.scale in (None, 1) else scenario.scaled(plan, request.scale)


def _clock(scenario: Scenario, request: PlacementRequest) -> Clock:
    if request.leaves_clock_open and has_uml_kernel():
        return scenario.clock
    return request.clock or Clock.REAL


def why_real(scenario: Scenario, request: PlacementRequest) -> str | None:
    """Returns why the real clock is used although nobody asked for it; None if it is not, or somebody did."""
    if not request.leaves_clock_open:
        return None
    if scenario.clock is Clock.REAL:
        return "the question is one of processors, which compute in no time on a virtual clock"
    try:
        kernel.find()
    except MissingCapability as error:
        return str(error)
    return None


def on_other_clock(plan: Plan, request: PlacementRequest) -> Plan | None:
    """Returns a plan for the other clock, to be measured if its own cannot be; None if it must keep its clock."""
    if not request.leaves_clock_open or request.cluster:
        return None
    if plan.clock is Clock.VIRTUAL:
        return _at(plan, HERE, Clock.REAL, request)
    return _at(plan, UML, Clock.VIRTUAL, request) if has_uml_kernel() else None


def fallback_plan(
    scenario: Scenario, plan: Plan, requested: Plan, request: PlacementRequest, carried: float
) -> Plan | None:
    """Returns the scaled plan to measure on a machine that is too slow for a plan; None: there is none.

    Args:
        plan: the plan that was tried.
        requested: the plan that the user asked for.
        carried: the share of the load that the machine carried.
    """
    if plan.clock is Clock.VIRTUAL or not request.may_change_scale:
        return None
    factor = int(_SCALE_STEPS * _IDLE_SHARE * carried * plan.scale) / _SCALE_STEPS
    if factor < MIN_SCALE:
        return None
    try:
        return scenario.scaled(requested, factor)
    except UsageError:
        return None


def has_uml_kernel() -> bool:
    """Returns whether the virtual-time kernel has been built."""
    try:
        kernel.find()
    except MissingCapability:
        return False
    return True


def executor_of(plan: Plan, request: PlacementRequest) -> Executor:
    """Returns the executor of a plan."""
    _check_jobs(plan, request)
    if request.cluster:
        return _cluster(plan, request)
    if plan.executor not in EXECUTORS:
        raise UsageError(f"there is no executor {plan.executor!r}", f"this version has {', '.join(EXECUTORS)}")
    return EXECUTORS[plan.executor].make(plan, request)


def _cluster(plan: Plan, request: PlacementRequest) -> Executor:
    require_dask()
    address = scheduler_address(request.cluster)
    if plan.executor == VM:
        raise UsageError(
            "--cluster: its machines measure on their own kernel or in virtual time", "leave --machine vm out"
        )
    from execution.cluster.cluster import ClusterExecutor  # loads Dask, which nothing else needs

    return ClusterExecutor(address, request.key)


def _at(plan: Plan, executor: str, clock: Clock, request: PlacementRequest) -> Plan:
    is_default = plan.form == "full" and request.repeat is None
    repeat = min(plan.repeat, VIRTUAL_REPEAT) if clock is Clock.VIRTUAL and is_default else plan.repeat
    return replace(plan, executor=executor, clock=clock, repeat=repeat)


def _check_jobs(plan: Plan, request: PlacementRequest) -> None:
    check_jobs(request.jobs)
    if (request.jobs or 1) > 1 and plan.clock is Clock.REAL:
        raise UsageError("--jobs: cells that are measured at once on the real clock disturb each other")
