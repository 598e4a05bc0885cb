"""The command line of a scenario: runs it from its options to its figures, or resumes a run."""

import contextlib
import functools
import os
import platform
import resource
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console

from execution.execution import Execution, RunRequest, TooSlow, hint_if_slow
from execution.placement import why_real, with_placement
from experiments import fidelity
from experiments.claims import check_claims
from experiments.plan import Plan
from experiments.scenario import Scenario
from flightpath.clock import Clock
from flightpath.command_line import exit_code_of
from flightpath.completion import parse
from flightpath.errors import MeasurementFailed, MissingCapability, UntrustworthyResult, UsageError
from flightpath.identity import identity
from flightpath.processes import in_user_namespace, processor
from flightpath.units import counted
from results.comparison.compare import compare_runs
from results.exchange.progress import report_progress
from results.figures.drawing import draw_if_writable
from results.pages.json_output import print_json, run_json
from results.pages.terminal import print_answer, print_claims, print_compared, print_summary
from results.records import CellResult, RunStatus, Verdict
from results.store.run_store import RunStore, recover
from results.store.store import Store
from results.summary.runs import headlines
from scenarios.command.link_changes import LinkChanges
from scenarios.command.options import CommandRequest, parser_of, request_of
from scenarios.command.resuming import stored_run


def main(scenario: Scenario, arguments: Sequence[str] | None = None, prog: str | None = None) -> NoReturn:
    """Runs a scenario, and exits.

    Options, the machine and the results folder are checked before anything starts. Then the run moves into a sandbox.
    """

    def run() -> int:
        options = parse(parser_of(scenario, prog), arguments)
        request = request_of(scenario, options)
        return _run_on_both_clocks(scenario, request) if request.both_clocks else _run(scenario, request)

    sys.exit(exit_code_of(run))


def requested_plan(scenario: Scenario, request: CommandRequest) -> Plan:
    """Returns the plan that a command line asks for, with its executor and clock; changes nothing."""
    return with_placement(scenario, scenario.plan(request.plan), request.placement)


def _run(scenario: Scenario, request: CommandRequest) -> int:
    if request.resume:
        resumed, plan = stored_run(scenario, request.resume, request.store)
    else:
        resumed, plan = None, requested_plan(scenario, request)
    if not plan.cells():
        raise UsageError("the plan has no cells", "check --only")
    wanted = RunRequest(scenario, plan, request.placement)
    if request.dry_run:
        return _dry_run(wanted)
    return _carry_out(_prepared(wanted), resumed, request)


def _run_on_both_clocks(scenario: Scenario, request: CommandRequest) -> int:
    """Measures a plan in virtual time and on this machine's clock, as two runs, and says what differs and why."""
    virtual, real = executions = [_on_clock(scenario, request, clock) for clock in (Clock.VIRTUAL, Clock.REAL)]
    if virtual.plan.axes != real.plan.axes:
        raise UsageError("--both-clocks: one of the clocks lacks a congestion control", "leave it out with --only")
    if request.dry_run:
        return max(_print_plan(scenario, execution.plan) for execution in executions)
    runs = []
    for execution in executions:
        if code := _carry_out(execution, None, request):
            return code
        store = Store.open(request.store, create=False)
        record = store.latest(scenario.name)
        assert record is not None, "a run that has ended is in its store"
        runs.append((record, store.cells(record.run_id, series=False)))
    before, after = runs
    print_compared(Console(), compare_runs(before, after))
    return 0


def _on_clock(scenario: Scenario, request: CommandRequest, clock: Clock) -> Execution:
    """Returns the execution on one of both clocks, at full size: each result counts as it is."""
    jobs = request.placement.jobs if clock is Clock.VIRTUAL else None
    where = replace(request.placement, clock=clock, scale=1.0, jobs=jobs)
    wanted = RunRequest(scenario, with_placement(scenario, scenario.plan(request.plan), where), where)
    try:
        return _prepared(wanted)
    except MissingCapability as error:
        message = f"--both-clocks: nothing can be measured on the {clock} clock: {error.args[0]}"
        raise MissingCapability(message, error.hint) from error


def _carry_out(execution: Execution, resumed: str | None, request: CommandRequest) -> int:
    recover(request.store)
    store = RunStore.open(request.store)
    try:
        return execution.run(lambda: _measure(execution, store, resumed, request), [request.store.folder])
    finally:  # out of the sandbox, a server that was restarted can be reached again
        recover(request.store)


def _measure(execution: Execution, store: Store, resumed: str | None, request: CommandRequest) -> int:
    """Measures, stores, judges and prints a run; starts over elsewhere if this machine is too slow for it."""
    scenario, plan = execution.request.scenario, execution.plan
    changes = LinkChanges(scenario, plan, store.run(resumed).environment if resumed else {})
    run_id = store.resume_run(resumed).run_id if resumed else _begin(execution, store, changes)
    try:
        failures = _store_results(execution, store, run_id, changes)
    except TooSlow as error:
        store.discard_run(run_id)
        return _measure(execution.elsewhere(error), store, None, request)
    except BaseException as error:
        is_interrupted = isinstance(error, KeyboardInterrupt)
        store.finish_run(run_id, RunStatus.INTERRUPTED if is_interrupted else RunStatus.FAILED)
        if is_interrupted:
            print(f"interrupted; the finished cells are kept: continue with --resume {run_id}", file=sys.stderr)
        raise
    return _conclude(
        scenario,
        plan,
        store,
        run_id,
        failures,
        facts=execution.facts(),
        as_object=request.as_object,
        may_be_unusable=request.both_clocks and execution.plan.clock is Clock.REAL,
    )


def _store_results(execution: Execution, store: Store, run_id: str, changes: LinkChanges) -> list[str]:
    """Stores each result as soon as it is measured; returns a message for each cell that failed."""
    done = [result.cell for result in store.cells(run_id)]
    report = functools.partial(report_progress, store, run_id)
    failures = []
    with contextlib.closing(execution.results(done, store.artifacts(run_id), report)) as measured:
        for planned, result in measured:
            if isinstance(result, MeasurementFailed):
                failures.append(f"{planned.cell.label}: {result}")
            else:
                changes.require_unchanged(planned.cell)
                store.record(run_id, result, planned.order)
    return failures


def _begin(execution: Execution, store: Store, changes: LinkChanges) -> str:
    scenario = execution.request.scenario
    described = {**execution.plan.as_json(), "headlines": list(scenario.headlines), "question": scenario.summary}
    return store.begin_run(scenario.name, described, {**_environment(), **changes.facts()}, _command())


def _conclude(
    scenario: Scenario,
    plan: Plan,
    store: Store,
    run_id: str,
    failures: Sequence[str],
    *,
    facts: Mapping[str, Any],
    as_object: bool,
    may_be_unusable: bool = False,
) -> int:
    """Judges and prints a run whose cells are measured.

    Args:
        may_be_unusable: a machine that is too slow is an answer, as beside a run on the virtual clock.
    """
    # Claims and figures can be had later.
    store.finish_run(run_id, RunStatus.FAILED if failures else RunStatus.DONE, facts)
    if cells := store.cells(run_id):
        store.record_claims(run_id, check_claims(scenario.claims, cells, plan.form))
        figures = draw_if_writable(scenario.figures, cells, store.artifacts(run_id))
        if as_object:
            print_json(run_json(store, run_id))
        else:
            _print_result(scenario, store, run_id, cells, figures)
    if failures:
        # A program reads the error alone; a person has seen each reason when it was found.
        reasons = f"; the first: {failures[0]}" if as_object else ", for the reasons above"
        raise MeasurementFailed(
            f"{len(failures)} of {counted(len(plan.cells()), 'cell')} could not be measured{reasons}",
            f"measure them again with --resume {run_id}",
        )
    verdict = Verdict.worst([result.certificate.verdict for result in cells])
    if verdict is Verdict.UNUSABLE and not may_be_unusable:
        slow = any(fidelity.too_slow(result.certificate) for result in cells)
        hint = hint_if_slow(scenario) if slow else ""
        raise UntrustworthyResult("some cells are unusable, for the reasons above", hint)
    return 0


def _print_result(
    scenario: Scenario, store: Store, run_id: str, cells: Sequence[CellResult], figures: Sequence[Path]
) -> None:
    console = Console()
    print_summary(console, cells, headlines(store.run(run_id)))
    print_answer(console, scenario.answer(cells))
    print_claims(console, store.claims(run_id))
    here = Path.cwd()
    for path in figures:
        if path.suffix == ".png":
            shown = path.relative_to(here) if path.is_relative_to(here) else path
            console.print(f"figure: {shown}", markup=False, soft_wrap=True)
    console.print(f"run: {run_id}\nresults: flightpath results show {run_id}", soft_wrap=True)
    if any("recording" in cell.certificate.found for cell in cells):
        console.print(f"packets: flightpath watch {run_id}", soft_wrap=True)


def _prepared(request: RunRequest) -> Execution:
    """Finds the executor of a request; says why it is measured on the real clock if nobody has asked for that."""
    execution = Execution.prepared(request)
    if execution.plan.clock is request.plan.clock and (why := why_real(request.scenario, request.placement)):
        print(f"measuring on the real clock, because {why}", file=sys.stderr)
    return execution


def _dry_run(request: RunRequest) -> int:
    """Prints what would be measured; the machine is asked as before a run, and refuses what it refuses then."""
    try:
        return _print_plan(request.scenario, _prepared(request).plan)
    except MissingCapability:  # the plan itself makes sense, perhaps on another machine
        _print_plan(request.scenario, request.plan)
        raise


def _print_plan(scenario: Scenario, plan: Plan) -> int:
    estimates = {cell.label: scenario.estimate_s(cell, plan) for cell in plan.cells()}
    for label, seconds in estimates.items():
        print(f"{label}  about {seconds:.0f} s")
    print(f"{counted(len(estimates), 'cell')}, about {sum(estimates.values()) / 60:.1f} min")
    return 0


def _environment() -> dict[str, Any]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    system = platform.freedesktop_os_release() if Path("/etc/os-release").exists() else {}
    return {
        **identity(),
        "host": platform.node(),
        "kernel": platform.release(),
        "system": system.get("PRETTY_NAME", platform.system()),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "processor": processor(),
        "memory_bytes": memory,
        "open_files_limit": resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        "root": "user namespace" if "SUDO_UID" not in os.environ and in_user_namespace() else "real",
    }


def _command() -> list[str]:
    """Returns the command that repeats this run."""
    words = sys.orig_argv
    return ["python", *words[words.index("-m") :]] if "-m" in words else [Path(sys.argv[0]).name, *sys.argv[1:]]
