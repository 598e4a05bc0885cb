"""The command `python -m results`: without it a run could be looked at only while it was being made."""

import argparse
import importlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from flightpath.errors import FlightpathError, UsageError
from results.ownership import give_to_caller
from results.records import CellResult
from results.report import (
    as_json,
    headlines,
    metric_names,
    print_certificates,
    print_claims,
    print_run,
    print_runs,
    print_summary,
    render_html,
)
from results.store import DEFAULT_FOLDER, Store

Draw = Callable[[Sequence[CellResult], Path], list[Path]]
_Result = TypeVar("_Result")

_EPILOG = """\
RUN is a run's id, an unambiguous beginning of one, or `latest`.

examples:
  python -m results list                        every run, and whether it may be believed
  python -m results show latest                 means with intervals, verdicts, the paper's claims
  python -m results show 20261121 --metrics all every metric of the one run of that day
  python -m results show latest --json          the same as one object, for programs
  python -m results plot latest                 draw the figures again, from the store alone
  python -m results report latest               one HTML page, to be sent to somebody

exit codes: 0 done, 1 the store failed, 2 usage (no such run, no store there)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; results go to stdout, everything else to stderr."""
    options = _parser().parse_args(arguments)
    try:
        options.run_command(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, a pager or `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except FlightpathError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--results", type=Path, default=DEFAULT_FOLDER, metavar="DIR", help=f"where runs are kept ({DEFAULT_FOLDER})"
    )
    parser = argparse.ArgumentParser(
        prog="python -m results",
        description="Looks at runs that were made: lists them, shows, draws and reports them from the store alone.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def add(name: str, run_command: Callable[[argparse.Namespace], None], text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, parents=[common], help=text, description=f"{text[0].upper()}{text[1:]}.")
        command.set_defaults(run_command=run_command)
        return command

    add("list", _list, "list the runs, oldest first").add_argument("--scenario", help="only the runs of this scenario")
    show = add("show", _show, "show a run's means with intervals, verdicts, and the paper's claims")
    show.add_argument("run", metavar="RUN")
    form = show.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object instead, with every cell")
    show.add_argument("--certificates", action="store_true", help="how well each link did, in every cell")
    form.add_argument("--metrics", metavar="A,B|all", help="which metrics; by default the scenario's headlines")
    plot = add("plot", _plot, "draw a run's figures again, as PNG and SVG, and print their paths")
    plot.add_argument("run", metavar="RUN")
    plot.add_argument("--output", type=Path, metavar="DIR", help="where to (the run's own folder)")
    report = add("report", _report, "write a run as one HTML page with its figures, and print its path")
    report.add_argument("run", metavar="RUN")
    report.add_argument("--output", type=Path, metavar="FILE", help="where to (report.html in the run's own folder)")
    return parser


def _list(options: argparse.Namespace) -> None:
    print_runs(Console(), Store.open(options.results, create=False), options.scenario)


def _show(options: argparse.Namespace) -> None:
    store = Store.open(options.results, create=False)
    if options.json:
        print(json.dumps(as_json(store, options.run), indent=2))
        return
    record, cells, console = store.run(options.run), store.cells(options.run), Console()
    print_run(console, record)
    if cells:
        chosen = _chosen_metrics(options.metrics, cells) or headlines(record)
        print_summary(console, cells, chosen)
        print_certificates(console, cells, links=options.certificates)
    print_claims(console, store.claims(options.run))


def _plot(options: argparse.Namespace) -> None:
    store = Store.open(options.results, create=False)
    draw = _drawing_of(store.run(options.run).scenario)
    cells = store.cells(options.run)
    if not cells:
        raise UsageError(f"run {store.resolve(options.run)} has no cells to draw")
    folder = options.output or store.artifacts(options.run)
    for path in _written(folder, lambda: draw(cells, folder)):
        print(path)


def _report(options: argparse.Namespace) -> None:
    store = Store.open(options.results, create=False)
    record, cells = store.run(options.run), store.cells(options.run)
    target: Path = options.output or store.artifacts(options.run) / "report.html"
    try:
        draw = _drawing_of(record.scenario)
        figures = draw(cells, store.artifacts(options.run))
    except UsageError as error:
        print(f"warning: the report has no figures: {error}", file=sys.stderr)
        figures = []
    page = render_html(store, record.run_id, figures)
    _written(target, lambda: target.write_text(page, encoding="utf-8"))
    give_to_caller(target)
    print(target)


def _written(target: Path, write: Callable[[], _Result]) -> _Result:
    try:
        return write()
    except OSError as error:
        raise UsageError(
            f"cannot write {target}: {error.strerror or error}", "choose another place: --output"
        ) from error


def _chosen_metrics(text: str | None, cells: Sequence[CellResult]) -> list[str] | None:
    if text is None:
        return None
    known = metric_names(cells)
    if text == "all":
        return known
    for name in (chosen := text.split(",")):
        if name not in known:
            raise UsageError(f"--metrics: there is no metric {name!r}", f"metrics: {', '.join(known)}")
    return chosen


def _drawing_of(scenario: str) -> Draw:
    """The function that draws a scenario's figures: `figures(cells, folder)` of its figures' module or its own.

    `results` lies below `scenarios` and knows none of them; this command is where the two are put together, so here,
    and only here, the scenario that a run names is looked up when it is needed.

    Raises:
        UsageError: this installation has no such scenario, or it draws nothing.
    """
    for module in (f"scenarios.{scenario}_figures", f"scenarios.{scenario}") if scenario.isidentifier() else ():
        try:
            draw = getattr(importlib.import_module(module), "figures", None)
        except ModuleNotFoundError as error:
            if error.name not in (module, "scenarios"):
                raise
            continue
        if callable(draw):
            return draw
    raise UsageError(f"the scenario {scenario!r} is not in this installation, or draws no figures")


if __name__ == "__main__":
    sys.exit(main())
