"""Where, by which clock and at which scale a run's cells are measured: the options, and what a plan says of it."""

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path

from execution.cluster.key import DEFAULT_KEY, require_dask, scheduler_address
from execution.executor import Executor, LocalExecutor
from execution.guest_executors import UmlExecutor, VmExecutor, max_parallel_kernels
from execution.uml import kernel
from experiments.plan import Plan
from experiments.scenario import Scenario
from flightpath.clock import Clock, clock_here
from flightpath.command_line import check_jobs
from flightpath.errors import MissingCapability, UsageError

AUTO = "auto"
LEAST_SCALE = 0.05
_SCALE_STEPS = 20
_MARGIN = 0.4
"""Of what a machine carried without any idle time, so much leaves it enough of that."""

VIRTUAL_REPEAT = 3
"""In virtual time nothing but the seed differs between repetitions; so many give a narrow interval."""

HERE, LAB, VM = LocalExecutor.name, UmlExecutor.name, VmExecutor.name
MACHINES = (HERE, LAB, VM)


def add_options(parser: ArgumentParser) -> None:
    """Adds `--machine`, `--clock`, `--scale`, `--jobs`, `--cluster` and `--key`."""
    group = parser.add_argument_group("machine and clock")
    group.add_argument(
        "--machine",
        choices=MACHINES,
        help="where cells are measured: on this machine's kernel, in the virtual-time kernel (make uml-kernel), or in a VM "
        "with a stock kernel (make vm-setup); by default as --clock needs",
    )
    group.add_argument(
        "--clock",
        choices=(AUTO, *Clock),
        default=AUTO,
        help="virtual: a clock on which computing takes no time, in the lab; auto (default): real, unless this machine "
        "is too slow for the first cell, or cannot measure at all, and the virtual-time kernel is there",
    )
    group.add_argument(
        "--scale",
        default=AUTO,
        metavar="auto|FACTOR",
        help="of all bandwidths and offered loads, which leaves all times as they are; auto (default): 1, unless this "
        "machine is too slow for the first cell and the virtual-time kernel is not there",
    )
    group.add_argument(
        "--jobs", type=int, metavar="N", help="cells at once in virtual time (default: one per processor)"
    )
    group.add_argument(
        "--cluster",
        metavar="tls://HOST:PORT",
        help="measure on the machines of a cluster, whose scheduler this is, or its file (flightpath cluster --help)",
    )
    group.add_argument("--key", type=Path, default=DEFAULT_KEY, metavar="FILE", help=f"the cluster's ({DEFAULT_KEY})")


def placed(plan: Plan, options: Namespace) -> Plan:
    """The plan with the machine and the clock that the options ask for as settings.

    Raises:
        UsageError: they contradict each other.
    """
    machine = options.machine or (LAB if options.clock == Clock.VIRTUAL else HERE)
    usual = {HERE: clock_here(), LAB: Clock.VIRTUAL, VM: Clock.REAL}[machine]
    clock = usual if options.clock == AUTO else Clock(options.clock)
    if machine != LAB and clock != usual:  # the lab has both
        raise UsageError(f"--machine {machine} has no {clock} clock", "use --machine lab")
    plan = _at(plan, machine, clock, options)
    _check_jobs(options, plan)
    return plan


def scale_asked(options: Namespace) -> float | None:
    """The factor of `--scale`; None for `auto`.

    Raises:
        UsageError: it is no number above 0.
    """
    if options.scale == AUTO:
        return None
    try:
        factor = float(options.scale)
    except ValueError as error:
        raise UsageError(f"--scale: cannot read {options.scale!r}", "accepted forms: auto, 1, 0.4") from error
    if not 0 < factor < float("inf"):
        raise UsageError(f"--scale: {options.scale} is not possible", "a factor is above 0")
    return factor


def is_as_asked(options: Namespace) -> bool:
    """Whether clock and scale are given, so that each result counts as it is."""
    return options.clock != AUTO and options.scale != AUTO


def instead(scenario: Scenario, plan: Plan, asked: Plan, options: Namespace, carried: float) -> tuple[Plan, str] | None:
    """What to measure on a machine that is too slow for a plan, and what that is in words; None: nothing else.

    Args:
        scenario: of the plan.
        plan: what was tried.
        asked: what was asked for, before anything was tried.
        options: the command line's.
        carried: the share of the load that the machine carried all the same.
    """
    if may_change_clock(options) and has_uml_kernel():
        return in_virtual_time(asked, options), "in virtual time (not with --clock real)"
    if not may_change_scale(options):
        return None
    factor = int(_SCALE_STEPS * _MARGIN * carried * plan.settings.get("scale", 1.0)) / _SCALE_STEPS
    if factor < LEAST_SCALE:
        return None
    try:
        scaled = scenario.scaled(asked, factor)
    except UsageError:
        return None
    return scaled, f"at {factor:g} of all bandwidths and loads (not with --scale 1)"


def in_virtual_time(plan: Plan, options: Namespace) -> Plan:
    """The plan for virtual time, in the lab."""
    return _at(plan, LAB, Clock.VIRTUAL, options)


def may_change_clock(options: Namespace) -> bool:
    """Whether virtual time may be taken instead if this machine is too slow."""
    return options.clock == AUTO and options.machine is None and _is_new_here(options)


def may_change_scale(options: Namespace) -> bool:
    """Whether bandwidths and loads may be scaled to this machine."""
    return options.scale == AUTO and options.machine in (None, HERE) and _is_new_here(options)


def _is_new_here(options: Namespace) -> bool:
    return not options.resume and not options.cluster and clock_here() is Clock.REAL


def has_uml_kernel() -> bool:
    """Whether the virtual-time kernel is there."""
    try:
        kernel.find()
    except MissingCapability:
        return False
    return True


def machine_of(plan: Plan, options: Namespace) -> Executor:
    """The machine on which a plan's cells are measured.

    Raises:
        UsageError: several cells at once are asked for where they disturb each other.
        MissingCapability: the virtual-time kernel is not there.
    """
    _check_jobs(options, plan)
    if options.cluster:
        return _cluster(options, plan)
    if plan.settings.get("machine", HERE) == HERE:  # plans of earlier versions do not say it
        return LocalExecutor()
    if plan.settings["machine"] == VM:
        return VmExecutor()
    clock = Clock(plan.settings["clock"])
    jobs = 1 if clock is Clock.REAL else options.jobs or max_parallel_kernels()
    return UmlExecutor(kernel.find(), clock, jobs)


def _cluster(options: Namespace, plan: Plan) -> Executor:
    require_dask()
    address = scheduler_address(options.cluster)
    if plan.settings.get("machine") == VM:
        raise UsageError("--cluster: its machines measure on their own kernel or in the lab", "leave --machine vm out")
    from execution.cluster.cluster import Cluster  # loads Dask, which nothing else needs

    return Cluster(address, options.key)


def _at(plan: Plan, machine: str, clock: Clock, options: Namespace) -> Plan:
    """The plan for a machine and a clock."""
    settings = {**plan.settings, "machine": machine, "clock": str(clock)}
    repeat = min(plan.repeat, VIRTUAL_REPEAT) if clock is Clock.VIRTUAL and options.repeat is None else plan.repeat
    return replace(plan, settings=settings, repeat=repeat)


def _check_jobs(options: Namespace, plan: Plan) -> None:
    check_jobs(options.jobs)
    if (options.jobs or 1) > 1 and plan.settings.get("clock", Clock.REAL) == Clock.REAL:
        raise UsageError("--jobs: cells that are measured at once on the real clock disturb each other")
