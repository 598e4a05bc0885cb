"""The command line of a scenario: runs it from its options to its figures, or resumes a run."""

import argparse
import dataclasses
import inspect
import os
import platform
import resource
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console

from execution import placement
from execution.attempts import Attempts, TooSlow
from execution.executor import Executor
from experiments import captures, fidelity
from experiments.claims import check_claims
from experiments.plan import Plan
from experiments.scenario import Scenario
from flightpath.completion import parse
from flightpath.errors import FlightpathError, MeasurementFailed, MissingCapability, UntrustworthyResult, UsageError
from flightpath.identity import identity
from flightpath.processes import in_user_namespace
from results.figures.drawing import draw_if_writable
from results.pages.json_output import print_json, run_json
from results.pages.terminal import print_answer, print_claims, print_summary
from results.records import CellResult, Verdict
from results.store.location import add_store_options, store_location
from results.store.run_store import RunStore, recover
from results.store.store import DEFAULT_FOLDER, RunStatus, Store
from results.summary.runs import headlines
from scenarios.command import resuming
from topologies.links.events import EVENT_FORMS, EVENT_KEYS, LinkEvent
from topologies.testbed.openvswitch import DATAPATHS
from topologies.testbed.testbed import EMULATORS

_VIRTUAL_TIME_HINT = "this machine is too slow or too busy: make uml-kernel, then measure again with --clock virtual"


def main(scenario: Scenario, arguments: Sequence[str] | None = None, prog: str | None = None) -> NoReturn:
    """Runs a scenario, and exits.

    Options, the machine and the results folder are checked before anything starts. Then the run moves into a sandbox.
    """
    options = parse(parser_of(scenario, prog), arguments)
    try:
        sys.exit(_run(scenario, options))
    except FlightpathError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


def parser_of(scenario: Scenario, prog: str | None = None) -> argparse.ArgumentParser:
    """The options of a scenario; `prog` is what the user typed to get here."""
    parser = argparse.ArgumentParser(
        prog=prog or f"python -m scenarios.{scenario.name}",
        description=inspect.getdoc(scenario),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="exit codes: 0 done, 2 usage, 3 the machine lacks something, 4 the result is not trustworthy, "
        "130 interrupted",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--quick", dest="form", action="store_const", const="quick", help="the short form (default)")
    form.add_argument("--full", dest="form", action="store_const", const="full", help="the form of the paper's size")
    parser.set_defaults(form="quick")
    parser.add_argument("--repeat", type=int, metavar="N", help="measure each point N times")
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        metavar="N",
        help="for the order of the cells; in virtual time for all random numbers (default 1)",
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="KEY=VALUE", help="only cells with this parameter; repeatable"
    )
    parser.add_argument(
        "--event",
        action="append",
        default=[],
        metavar="EVENT",
        help="change a link during the load; the time counts from the load's first request; repeatable: "
        + f"{EVENT_FORMS}; keys: {', '.join(EVENT_KEYS)}".replace("%", "%%"),
    )
    captures.add_option(parser)
    resuming.add_options(parser)
    parser.add_argument("--dry-run", action="store_true", help="print the cells and their times, measure nothing")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")
    add_store_options(parser, DEFAULT_FOLDER, "results go")
    parser.add_argument("--emulator", choices=EMULATORS, default="auto", help="for the links (default auto)")
    parser.add_argument("--datapath", choices=DATAPATHS, default="auto", help="for the switches (default auto)")
    placement.add_options(parser)
    scenario.add_options(parser.add_argument_group(f"{scenario.name} options"))
    return parser


def _run(scenario: Scenario, options: argparse.Namespace) -> int:
    place = store_location(options)
    plan = resuming.stored_plan(scenario, options, place) if options.resume else asked_plan(scenario, options)
    if not plan.cells():
        raise UsageError("the plan has no cells", "check --only")
    if options.dry_run:
        return _dry_run(scenario, plan, options)
    run = _Run.prepared(scenario, plan, options)
    recover(place)
    store = RunStore.open(place)
    try:
        return run.machine.run(lambda: run.measure(store), [place.folder])
    finally:  # out of the sandbox, a server that was restarted can be reached again
        recover(place)


def asked_plan(scenario: Scenario, options: argparse.Namespace) -> Plan:
    """The plan that the options ask for, with its machine and clock; changes nothing.

    Raises:
        UsageError: an option makes no sense.
    """
    events = tuple(str(LinkEvent.parse(text)) for text in options.event)
    plan = placement.placed(dataclasses.replace(scenario.plan(options), events=events), options)
    scale = placement.scale_asked(options)
    return plan if scale in (None, 1) else scenario.scaled(plan, scale)


@dataclasses.dataclass(frozen=True)
class _Run:
    """A plan and the machine that measures it; `asked` is the plan before anything was tried."""

    scenario: Scenario
    plan: Plan
    asked: Plan
    options: argparse.Namespace
    executor: Executor

    @classmethod
    def prepared(cls, scenario: Scenario, plan: Plan, options: argparse.Namespace) -> "_Run":
        """The run of a plan on the machine that the plan names, which was asked whether it can measure it.

        What this machine cannot measure at all, for example in a container without privileges, is measured in virtual
        time, unless the options ask for something else.
        """
        machine = placement.machine_of(plan, options)
        try:
            plan = machine.prepare(scenario, plan, shorten=not options.resume)
        except MissingCapability as error:
            if not (placement.may_change_clock(options) and placement.has_uml_kernel()):
                raise
            print(f"measuring in virtual time, because {error}", file=sys.stderr)
            plan = placement.in_virtual_time(plan, options)
            machine = placement.machine_of(plan, options)
            plan = machine.prepare(scenario, plan, shorten=not options.resume)
        return cls(scenario, plan, plan, options, machine)

    def measure(self, store: Store) -> int:
        """Measures, judges and prints the run; starts over with another plan if this machine is too slow for it."""
        run_id = self._begin(store)
        try:
            failures = self._attempts(store, run_id).measure()
        except TooSlow as error:
            store.discard_run(run_id)
            return self._start_over(store, error)
        except BaseException as error:
            is_interrupted = isinstance(error, KeyboardInterrupt)
            store.finish_run(run_id, RunStatus.INTERRUPTED if is_interrupted else RunStatus.FAILED)
            if is_interrupted:
                print(f"interrupted; the finished cells are kept: continue with --resume {run_id}", file=sys.stderr)
            raise
        facts = self.machine.facts()
        return _conclude(self.scenario, self.plan, store, run_id, failures, facts=facts, as_object=self.options.json)

    def _attempts(self, store: Store, run_id: str) -> Attempts:
        return Attempts(
            self.scenario,
            self.plan,
            self.machine,
            store,
            run_id,
            may_start_over=placement.instead(self.scenario, self.asked, self.asked, self.options, 1.0) is not None,
            may_try_again=not (placement.is_as_asked(self.options) or self.machine.tries_again),
        )

    def _start_over(self, store: Store, error: TooSlow) -> int:
        print(f"this machine is too slow: {error}", file=sys.stderr)
        other = placement.instead(self.scenario, self.plan, self.asked, self.options, error.carried)
        if other is None:
            raise UntrustworthyResult("this machine is too slow at any scale: nothing was measured", _VIRTUAL_TIME_HINT)
        plan, words = other
        print(f"starting over {words}", file=sys.stderr)
        return dataclasses.replace(_Run.prepared(self.scenario, plan, self.options), asked=self.asked).measure(store)

    def _begin(self, store: Store) -> str:
        if self.options.resume:
            return store.resume_run(self.options.resume).run_id
        scenario = self.scenario
        described = {**self.plan.as_json(), "headlines": list(scenario.headlines), "question": scenario.summary}
        return store.begin_run(scenario.name, described, _environment(), _command())


def _conclude(
    scenario: Scenario,
    plan: Plan,
    store: Store,
    run_id: str,
    failures: Sequence[str],
    *,
    facts: Mapping[str, Any],
    as_object: bool,
) -> int:
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
        raise MeasurementFailed(
            f"{len(failures)} of {len(plan.cells())} cells could not be measured; the first: {failures[0]}",
            f"measure them again with --resume {run_id}",
        )
    if Verdict.worst([result.certificate.verdict for result in cells]) is Verdict.UNUSABLE:
        slow = any(fidelity.too_slow(result.certificate) for result in cells)
        raise UntrustworthyResult("some cells are unusable, for the reasons above", _VIRTUAL_TIME_HINT if slow else "")
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
            console.print(f"figure: {shown}", soft_wrap=True)
    console.print(f"run: {run_id} (python -m results show {run_id})", soft_wrap=True)


def _dry_run(scenario: Scenario, plan: Plan, options: argparse.Namespace) -> int:
    """Prints what would be measured; the machine is asked as before a run, and refuses what it refuses then."""
    try:
        return _print_plan(scenario, _Run.prepared(scenario, plan, options).plan)
    except MissingCapability:  # the plan itself makes sense, perhaps on another machine
        _print_plan(scenario, plan)
        raise


def _print_plan(scenario: Scenario, plan: Plan) -> int:
    estimates = {cell.label: scenario.estimate_s(cell, plan) for cell in plan.cells()}
    for label, seconds in estimates.items():
        print(f"{label}  about {seconds:.0f} s")
    print(f"{len(estimates)} cells, about {sum(estimates.values()) / 60:.1f} min")
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
        "memory_bytes": memory,
        "open_files_limit": resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        "root": "user namespace" if "SUDO_UID" not in os.environ and in_user_namespace() else "real",
    }


def _command() -> list[str]:
    """The command that repeats this run."""
    words = sys.orig_argv
    return ["python", *words[words.index("-m") :]] if "-m" in words else [Path(sys.argv[0]).name, *sys.argv[1:]]
