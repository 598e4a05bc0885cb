"""The options of a scenario's command line, which become one frozen request here; nothing below sees options."""

import argparse
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from execution.cluster.key import DEFAULT_KEY
from execution.placement import EXECUTORS, PlacementRequest
from experiments.parameters import LIST, Axis, Factor, PlanRequest, Setting, option_name
from experiments.plan import restrictions
from experiments.scenario import Scenario
from flightpath.clock import Clock, clock_here
from flightpath.command_line import ListOption
from flightpath.errors import UsageError
from flightpath.parsers import Parser
from results.store.location import StoreLocation, add_store_options, store_location
from results.store.store import DEFAULT_FOLDER
from scenarios.command.study import StudyOption
from topologies.links.emulators import EMULATORS
from topologies.links.events import EVENT_FORMS, EVENT_KEYS, normalised
from topologies.testbed.openvswitch import DATAPATHS

AUTO = "auto"
_METAVARS = {int: "N", float: "NUMBER", str: "TEXT"}
_FORMER_EXECUTORS = {"lab": "uml"}
"""Names of executors in version 0.1.0, which are accepted for a version longer."""


@dataclass(frozen=True)
class ResumeRequest:
    """A run that is to be continued.

    Attributes:
        run: its id, or `latest`.
        on_this_machine: continue here what another machine began.
        load_algorithms: load the congestion controls that the stored plan names into the kernel.
    """

    run: str
    on_this_machine: bool = False
    load_algorithms: bool = False


@dataclass(frozen=True)
class CommandRequest:
    """The wishes of a command line.

    Attributes:
        resume: the run to continue; its plan takes the place of `plan`.
        both_clocks: measure on the virtual clock and on the real one, and compare.
    """

    plan: PlanRequest
    placement: PlacementRequest
    store: StoreLocation
    resume: ResumeRequest | None = None
    both_clocks: bool = False
    dry_run: bool = False
    as_object: bool = False


def parser_of(scenario: Scenario, prog: str | None = None) -> argparse.ArgumentParser:
    """Makes the parser of a scenario's options; `prog` is what the user typed to get here."""
    parser = Parser(
        prog=prog or f"flightpath run {scenario.name}",
        usage="%(prog)s [OPTION ...]",
        description=inspect.getdoc(scenario),
        epilog="exit codes: 0 done, 2 usage, 3 the machine lacks something, 4 the result is not trustworthy, "
        "130 interrupted",
    )
    _add_plan_options(parser, scenario)
    _add_resume_options(parser)
    parser.add_argument("--dry-run", action="store_true", help="print the cells and their times, measure nothing")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")
    add_store_options(parser, DEFAULT_FOLDER, "results go")
    parser.add_argument("--emulator", choices=EMULATORS, default="auto", help="emulator of links (default auto)")
    parser.add_argument("--datapath", choices=DATAPATHS, default="auto", help="datapath of switches (default auto)")
    _add_placement_options(parser)
    own = parser.add_argument_group(f"{scenario.name} options")
    own.add_argument(
        "--study",
        action=StudyOption,
        metavar="FILE",
        help='take options from a TOML file as if they stood here, one in a line: page-weight = ["2k", "11k"]',
    )
    for parameter in _parameters(scenario):
        try:
            _add_parameter(own, parameter)
        except argparse.ArgumentError as error:  # only an experiment file can have such a parameter
            message = f"{scenario.name}: every run has an option {parameter.option}, so no parameter can have this name"
            raise UsageError(message, "rename the parameter") from error
    return parser


def request_of(scenario: Scenario, options: argparse.Namespace) -> CommandRequest:
    """Reads the parsed options of `parser_of`."""
    resume = ResumeRequest(options.resume, options.on_this_machine, options.load_algorithms) if options.resume else None
    if options.both_clocks:
        _refuse_beside_both_clocks(options)
    return CommandRequest(
        _plan_request(scenario, options),
        PlacementRequest(
            executor=_FORMER_EXECUTORS.get(options.machine, options.machine),
            clock=None if options.clock == AUTO else Clock(options.clock),
            scale=_scale(options.scale),
            jobs=options.jobs,
            repeat=options.repeat,
            cluster=options.cluster or "",
            key=options.key,
            is_resumed=bool(options.resume),
        ),
        store_location(options),
        resume,
        options.both_clocks,
        options.dry_run,
        options.json,
    )


def _refuse_beside_both_clocks(options: argparse.Namespace) -> None:
    unset = {"clock": AUTO, "scale": AUTO, "machine": None, "cluster": None, "resume": None, "json": False}
    for name, value in unset.items():
        if getattr(options, name) != value:
            compare = "compare the two runs with: flightpath results compare RUN RUN --json"
            hint = compare if name == "json" else f"leave out --{name}"
            raise UsageError(f"--{name}: --both-clocks measures two new runs, on this machine", hint)
    if clock_here() is Clock.VIRTUAL:
        raise UsageError("--both-clocks: the clock is virtual here", "run it outside the virtual-time kernel")


def request_from(scenario: Scenario, words: Sequence[str]) -> CommandRequest:
    """Reads the words of a command line; argparse's own errors end the program."""
    return request_of(scenario, parser_of(scenario).parse_args(words))


def _parameters(scenario: Scenario) -> list[Axis | Setting | Factor]:
    parameters: list[Axis | Setting | Factor] = [*scenario.axes, *scenario.options, *scenario.factors]
    return [each for each in parameters if each.option]


def _plan_request(scenario: Scenario, options: argparse.Namespace) -> PlanRequest:
    names = (option_name(parameter.option) for parameter in _parameters(scenario))
    return PlanRequest(
        form=options.form,
        options={name: getattr(options, name) for name in names},
        repeat=options.repeat,
        seed=options.seed,
        only=restrictions(options.only),
        events=tuple(map(normalised, options.event)),
        captures=tuple(options.capture.split(",")) if options.capture else (),
        is_recorded=options.record,
        emulator=options.emulator,
        datapath=options.datapath,
    )


def _scale(text: str) -> float | None:
    if text == AUTO:
        return None
    try:
        factor = float(text)
    except ValueError as error:
        raise UsageError(f"--scale: cannot read {text!r}", "accepted forms: auto, 1, 0.4") from error
    if not 0 < factor < float("inf"):
        raise UsageError(f"--scale: {text} is not possible", "choose a factor above 0")
    return factor


def _add_plan_options(parser: argparse.ArgumentParser, scenario: Scenario) -> None:
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--quick", dest="form", action="store_const", const="quick", help="the short form (default)")
    form.add_argument("--full", dest="form", action="store_const", const="full", help="the full size, as in the paper")
    parser.set_defaults(form="quick")
    parser.add_argument("--repeat", type=int, metavar="N", help="measure each point N times")
    parser.add_argument(
        "--seed",
        type=int,
        default=scenario.seed,
        metavar="N",
        help="seed of the cells' order; in virtual time, of all random numbers (default %(default)s)",
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="KEY=VALUE", help="only cells with this value; repeatable"
    )
    parser.add_argument(
        "--event",
        action="append",
        default=[],
        metavar="EVENT",
        help="change a link during the load, at a time since the load's first request; repeatable: "
        + f"{EVENT_FORMS}; keys: {', '.join(EVENT_KEYS)}".replace("%", "%%"),
    )
    parser.add_argument(
        "--capture",
        action=ListOption,
        metavar=LIST,
        help="capture packets during the load, the first 128 bytes of each, at an interface (h1-eth0) or all of them "
        "at a host (h1); costs processor time",
    )
    parser.add_argument(
        "--record",
        action="store_true",
        help="record what happens to each packet on each link, and each connection's window, for `flightpath watch`; "
        "up to 450 MB a cell, about half of that when it is complete",
    )


def _add_resume_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--resume", metavar="RUN", help="measure the missing cells of a run (`latest`: the newest)")
    parser.add_argument(
        "--on-this-machine", action="store_true", help="with --resume: continue here a run of another machine"
    )
    parser.add_argument(
        "--load-algorithms",
        action="store_true",
        help="with --resume: load the congestion controls that the stored plan names and this kernel lacks (in virtual "
        "time: those given as C files)",
    )


def _add_placement_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("machine and clock")
    group.add_argument(
        "--machine",
        choices=(*EXECUTORS, *_FORMER_EXECUTORS),
        metavar="{" + ",".join(EXECUTORS) + "}",
        help="where cells are measured (default: what --clock needs): "
        + ", ".join(f"{name}: {kind.summary}" for name, kind in EXECUTORS.items()),
    )
    group.add_argument(
        "--clock",
        choices=(AUTO, *map(str, Clock)),
        default=AUTO,
        help="virtual: computing takes no time, so a busy machine gives the same figures; auto (default): virtual, but "
        "real if the question is one of processors, or if this machine has no virtual-time kernel",
    )
    group.add_argument(
        "--both-clocks",
        action="store_true",
        help="measure on the virtual clock, then on the real one, as two runs, and say of each cell what the network "
        "carries, what programs reach if computing takes no time, what they reach here, and what limits them",
    )
    group.add_argument(
        "--scale",
        default=AUTO,
        metavar="auto|FACTOR",
        help="factor for all bandwidths and offered loads, while times stay as they are; auto (default): 1, unless "
        "this machine is too slow for the first cell on the real clock",
    )
    group.add_argument(
        "--jobs", type=int, metavar="N", help="parallel cells in virtual time (default: one per processor)"
    )
    group.add_argument(
        "--cluster",
        metavar="tls://HOST:PORT",
        help="measure on a cluster: its scheduler's address, or a file with it (flightpath cluster --help)",
    )
    group.add_argument("--key", type=Path, default=DEFAULT_KEY, metavar="FILE", help=f"its key ({DEFAULT_KEY})")


def _add_parameter(group: argparse._ArgumentGroup, parameter: Axis | Setting | Factor) -> None:
    match parameter:
        case Axis():
            texts = [",".join(map(str, values)) for values in (parameter.quick, parameter.full) if values is not None]
            group.add_argument(parameter.option, action=ListOption, metavar=LIST, help=_help(parameter.help, texts))
        case Setting():
            texts = [str(it).removesuffix(".0") for it in (parameter.quick, parameter.full) if it is not None]
            group.add_argument(
                parameter.option,
                action=ListOption if parameter.metavar == LIST else "store",
                type=type(parameter.quick),
                metavar=parameter.metavar or _METAVARS[type(parameter.quick)],
                help=_help(parameter.help, texts),
            )
        case Factor():
            words = _help(parameter.help, [parameter.default])
            group.add_argument(parameter.option, action="append", metavar=parameter.metavar, help=words)


def _help(what: str, defaults: Sequence[str]) -> str:
    return f"{what} (default {'; full: '.join(defaults)})".replace("%", "%%")
