"""`preflight history`, `compare`, `plot` and `check`: without them only a program could ask what is remembered."""

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from flightpath.errors import FlightpathError, UsageError
from flightpath.units import parse_bytes, parse_span
from probes.preflight import codec
from probes.preflight.commands.options import add_meeting
from probes.preflight.memory import history
from probes.preflight.memory.history import Past
from probes.preflight.memory.memory import SCENARIO, default_folder
from probes.preflight.spec import Direction, TransferSpec
from results.store.backend import NoStore
from results.store.location import StoreLocation, add_store_options, store_location
from results.store.query import RunQuery
from results.store.store import Store

COMMANDS = ("history", "compare", "plot", "check")
"""The words that `main` understands as its first argument; all else is a far end to be measured."""

_SHOWN = 20
_JUDGED_BY = 300
"""How many of the newest measurements of a host `check` reads: enough for sixty under the same conditions."""

_COMPARED = 200
"""How many of the newest measurements of each side `compare` looks at."""

_ITERATIONS = 3
"""How often `check` measures a path of which nothing is known."""

_EPILOG = """\
A measurement is named by its run, as `history` shows it, or an unambiguous beginning of that. A host may be followed
by a range of time: dtn@2026-11-01..2026-11-08, dtn@7d.. (the last seven days), dtn@..7d (all before them).

exit codes: 0 done, 2 usage, 1 the memory failed; of check: 0 healthy, or too little history to say,
1 worse than before or too late for --target-time, 2 usage, 3 this machine lacks something, 4 no answer that may be
trusted: the measurement failed, was limited by this machine, or the memory could not be read
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; results go to stdout, everything else to stderr."""
    options = _parser().parse_args(arguments)
    try:
        code = options.run_command(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, a pager or `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except FlightpathError as error:
        from probes.preflight.commands.views import visible

        print(f"error: {chr(10).join(visible(line) for line in str(error).split(chr(10)))}", file=sys.stderr)
        # 1 is an answer of `check`; a failure must not look like one.
        return 4 if options.command == "check" and error.exit_code == 1 else error.exit_code
    return code


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    add_store_options(common, default_folder(), "measurements are remembered")
    parser = argparse.ArgumentParser(
        prog="preflight",
        description="Asks what is remembered of a path.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)

    def add(name: str, text: str, epilog: str = "") -> argparse.ArgumentParser:
        command = commands.add_parser(
            name,
            parents=[common],
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_argument("--json", action="store_true", help="print one JSON object instead")
        return command

    shown = add("history", "list the measurements of a far end, oldest first")
    shown.add_argument("host", metavar="HOST")
    shown.add_argument("--last", type=_count, default=_SHOWN, metavar="N", help=f"only the newest N ({_SHOWN})")
    shown.set_defaults(run_command=_history)
    compared = add("compare", "say by how much two measurements, hosts or times differ", _EPILOG)
    compared.add_argument("first", metavar="A", help="a run, a host, or HOST@FROM..UNTIL")
    compared.add_argument("second", metavar="B")
    compared.set_defaults(run_command=_compare)
    plotted = add("plot", "draw the goodput of a far end over time, and print the paths of the figures")
    plotted.add_argument("host", metavar="HOST")
    plotted.add_argument("--last", type=_count, metavar="N", help="only the newest N (all)")
    plotted.add_argument("--output", type=Path, metavar="FILE", help="FILE.png and FILE.svg (in the memory's folder)")
    plotted.set_defaults(run_command=_plot)
    _add_check(add("check", "say how long a transfer takes, whether all is as usual, and what limits it", _EPILOG))
    return parser


def _add_check(checked: argparse.ArgumentParser) -> None:
    checked.add_argument("host", metavar="[USER@]HOST")
    checked.add_argument("remote_file", nargs="?", metavar="REMOTE_FILE", help="measure first, with this file")
    checked.add_argument("--transfer", metavar="SIZE", help="what is to be transferred: 2TB, 500GB, 64GiB")
    checked.add_argument("--target-time", metavar="TIME", help="how long it may take: 3h20m, 90min, 2d")
    checked.add_argument("--upload", action="store_true", help="the transfer goes to the far end, not from it")
    how = checked.add_mutually_exclusive_group()
    how.add_argument("--measure", action="store_true", help="measure first, as the last time, and remember it")
    how.add_argument("--no-measure", action="store_true", help="ask the memory only (default without REMOTE_FILE)")
    add_meeting(checked.add_argument_group("meeting the far end, to measure"))
    checked.set_defaults(run_command=_check)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of measurements, 1 or more")
    return min(int(text), 2**31)


def _store(options: argparse.Namespace) -> Store:
    place = store_location(options)
    try:
        return Store.open(place, create=False)
    except NoStore as error:
        raise UsageError(
            f"nothing is remembered yet: {error.args[0]}",
            "measure first: preflight [USER@]HOST; or say where measurements are kept: --results DIR or --store URL",
        ) from error


def _history(options: argparse.Namespace) -> int:
    store = _store(options)
    pasts = history.load(store, options.host, options.last)
    from probes.preflight.commands import views

    if options.json:
        print(json.dumps(views.history_json(history.host_name(options.host), pasts), indent=2))
    else:
        views.print_history(pasts, store.count(RunQuery(SCENARIO, history.host_name(options.host))) - len(pasts))
    return 0


def _compare(options: argparse.Namespace) -> int:
    from probes.preflight.commands import views
    from probes.preflight.memory import comparison

    store = _store(options)
    first, second = _side(store, options.first), _side(store, options.second)
    names = [options.first, options.second if options.second != options.first else f"{options.second} (again)"]
    sides = dict(zip(names, (first, second), strict=True))
    found = comparison.compare(*([*_values(pasts)] for pasts in (first, second)))
    if options.json:
        print(json.dumps(views.comparison_json(found, sides), indent=2))
    else:
        views.print_comparison(found, sides)
    return 0


def _side(store: Store, text: str) -> list[Past]:
    """The measurements that one side of a comparison names, those that are figures of the path."""
    host, at, time_range = text.rpartition("@")
    if at and ".." in time_range:
        pasts = history.load(store, host, time_range=time_range)
    elif history.host_name(text) in store.hosts(SCENARIO):
        pasts = history.load(store, text, _JUDGED_BY)
    else:
        pasts = [history.one(store, text)]
    usable = [past for past in pasts if past.measures_path and past.goodputs_bps]
    if not usable:
        raise UsageError(f"{text}: there is no measurement that is a figure of the path")
    return usable[-_COMPARED:]


def _values(pasts: Sequence[Past]) -> Sequence[float]:
    """One value a measurement; of a single measurement its iterations."""
    return pasts[0].goodputs_bps if len(pasts) == 1 else [past.goodput_bps for past in pasts if past.goodput_bps]


def _plot(options: argparse.Namespace) -> int:
    store = _store(options)
    pasts = history.load(store, options.host, options.last)
    host = history.host_name(options.host)
    if not any(past.goodput_bps for past in pasts):
        raise UsageError(f"no measurement of {host} has a goodput to draw")
    from probes.preflight.commands import plots

    target: Path = options.output or store.folder / plots.file_name(host)
    name = target.stem if target.suffix in (".png", ".svg") else target.name
    try:
        files = plots.plot_history(host, pasts, target.parent, name)
    except OSError as error:
        raise UsageError(f"cannot write {target}: {error.strerror or error}", "choose another: --output") from error
    if options.json:
        print(json.dumps({"host": host, "files": [str(path) for path in files]}))
    else:
        print(*files, sep="\n")
    return 0


def _check(options: argparse.Namespace) -> int:
    size = parse_bytes(options.transfer, "--transfer") if options.transfer else None
    target = parse_span(options.target_time, "--target-time") if options.target_time else None
    if target and not size:
        raise UsageError("--target-time: of what?", "say how much is to be transferred: --transfer 2TB")
    if options.no_measure and options.remote_file:
        raise UsageError("--no-measure: a remote file is for measuring", "leave one of them out")
    direction = Direction.UPLOAD if options.upload else Direction.DOWNLOAD
    if options.measure or options.remote_file:
        _measure(options, direction)
    store = _store(options)
    pasts = [past for past in history.load(store, options.host, _JUDGED_BY) if past.direction == direction]
    if not pasts:
        raise UsageError(f"no {direction} of {history.host_name(options.host)} is remembered", "measure it: --measure")
    from probes.preflight.commands import check

    found = check.check(store, history.host_name(options.host), pasts, size, target)
    if options.json:
        print(json.dumps(check.check_json(found), indent=2))
    else:
        check.print_check(found)
    return found.exit_code


def _measure(options: argparse.Namespace, direction: Direction) -> None:
    """Measures and remembers: as the last time, so that the two can be compared; with the file that is named now."""
    from probes.preflight.commands.terminal import measure_and_remember
    from probes.preflight.ssh.target import resolve

    place = store_location(options)
    resolved = resolve(
        options.host,
        port=options.port,
        user=options.user,
        identities=options.identity,
        configuration=options.ssh_config,
    )
    spec = _as_last_time(place, options.host, direction)
    if options.remote_file:
        spec = dataclasses.replace(spec, remote_file=options.remote_file)
    measure_and_remember(resolved, spec, place, accept_new_host_key=options.accept_new_host_key, batch=options.batch)


def _as_last_time(place: StoreLocation, host: str, direction: Direction) -> TransferSpec:
    """What was measured of a host last; a download or upload of three iterations, if nothing was."""
    usual = TransferSpec(direction=direction, iterations=_ITERATIONS)
    try:
        store = Store.open(place, create=False)
    except UsageError:  # none yet, or damaged: whoever writes to it will say so
        return usual
    runs = store.history(RunQuery(SCENARIO, history.host_name(host), _JUDGED_BY), ())
    told = [run.record.plan.get("configuration", {}) for run in runs]
    alike = [each for each in told if each.get("direction") == direction]
    try:
        return codec.decode(TransferSpec, alike[-1]) if alike else usual
    except (TypeError, ValueError):  # another version's, which knew other options
        return usual
