"""The commands of `flightpath results`."""

import argparse
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from flightpath.command_line import ListOption
from flightpath.errors import MeasurementFailed, UsageError
from flightpath.parsers import Parser
from flightpath.suggestions import did_you_mean
from results.commands.scenarios import answer_of, drawn_if_possible, known_scenario, question_of
from results.comparison.compare import compare_runs, compare_with_history
from results.comparison.differences import differences
from results.figures.drawing import draw_figures
from results.pages.json_output import comparison_json, print_json, run_json, run_list_json
from results.pages.markdown import comparison_markdown
from results.pages.terminal import (
    print_answer,
    print_certificates,
    print_claims,
    print_compared,
    print_differences,
    print_run,
    print_runs,
    print_summary,
)
from results.records import CellResult, Run
from results.store.filters import RunFilter, add_filter_options
from results.store.location import store_location
from results.store.ownership import give_to_caller, writing_to
from results.store.query import RunQuery
from results.store.run_list import find_runs, with_actual_status
from results.store.store import Store
from results.summary.claims import finding
from results.summary.means import metric_names
from results.summary.runs import headlines

_SHOWN = 100
_EXPORTS = {
    "json": "as one JSON file (default)",
    "csv": "as a zip of CSV tables",
    "parquet": "as a zip of Parquet tables; needs pyarrow, which is not installed by default",
}


def add_commands(commands: "argparse._SubParsersAction[Parser]", location: Parser) -> None:
    """Adds all commands, in the order of the help.

    Each prints results on stdout, and everything else on stderr.

    Args:
        commands: subparsers of `flightpath results`.
        location: parser with the options for the location of the store.
    """

    def add(name: str, summary: str, run: Callable[[Namespace], None]) -> ArgumentParser:
        description = f"{summary[0].upper()}{summary[1:]}."
        command = commands.add_parser(name, parents=[location], help=summary, description=description)
        command.set_defaults(run_command=run)
        return command

    listing = add("list", "list the runs, oldest first", _list)
    add_filter_options(listing)
    last = f"only the newest N (default: {_SHOWN}; with --json all)"
    listing.add_argument("--last", type=int, metavar="N", help=last)
    _add_json(listing)

    show = add("show", "show a run's means with intervals, verdicts, and claims", _show)
    show.add_argument("run", metavar="RUN")
    form = show.add_mutually_exclusive_group()
    _add_json(form)
    _add_metrics(form)
    show.add_argument("--certificates", action="store_true", help="show every link in every cell")

    compare = add("compare", "compare runs: what changed, and what else differs between them", _compare)
    compare.add_argument("runs", nargs="+", metavar="RUN", help="the first is compared with each of the others")
    history = "compare one RUN with the last N finished runs before it"
    compare.add_argument("--history", type=int, metavar="N", help=history)
    output = "also draw them side by side: compare.png and .svg in DIR"
    compare.add_argument("--output", type=Path, metavar="DIR", help=output)
    worse = "exit with 1 if something is significantly worse"
    compare.add_argument("--fail-if-worse", action="store_true", help=worse)
    _add_metrics(compare)
    form = compare.add_mutually_exclusive_group()
    _add_json(form)
    form.add_argument("--markdown", action="store_true", help="print Markdown, for code reviews")

    plot = add("plot", "draw a run's figures again, as PNG and SVG, and print their paths", _plot)
    plot.add_argument("run", metavar="RUN")
    plot.add_argument("--output", type=Path, metavar="DIR", help="folder of the figures (default: the run's own)")

    report = add("report", "write a run as one HTML page with its figures, and print its path", _report)
    report.add_argument("run", metavar="RUN")
    output = "file to write (default: report.html in the run's own folder)"
    report.add_argument("--output", type=Path, metavar="FILE", help=output)
    pdf = "as PDF (report.pdf); needs Chromium: make browser-setup"
    report.add_argument("--pdf", action="store_true", help=pdf)
    beside = "show another run on the same axes of the charts"
    report.add_argument("--beside", default="", metavar="RUN", help=beside)

    export = add("export", "write runs to a file, with everything that the store has on them", _export)
    export.add_argument("runs", nargs="*", metavar="RUN", help="which (default: those that match the filters)")
    form = export.add_mutually_exclusive_group()
    for kind, text in _EXPORTS.items():
        form.add_argument(f"--{kind}", dest="kind", action="store_const", const=kind, default="json", help=text)
    output = "file to write (default: RUN.json or RUN.csv.zip, here)"
    export.add_argument("--output", type=Path, metavar="FILE", help=output)
    add_filter_options(export)

    importing = add("import", "add runs that another machine exported: all of them, or none", _import)
    importing.add_argument("files", nargs="+", type=Path, metavar="FILE")

    serving = "serve the store as read-only web pages, on this machine only"
    serve = add("serve", serving, _serve)
    port = "port (default 8700); 0 chooses a free one"
    serve.add_argument("--port", type=int, default=8700, metavar="N", help=port)
    names = "show the names of a class's students, to their teacher"
    serve.add_argument("--names", action="store_true", help=names)


def _add_json(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")


def _add_metrics(parser: argparse._ActionsContainer) -> None:
    metrics = "which metrics (default: the scenario's headlines)"
    parser.add_argument("--metrics", action=ListOption, metavar="A,B|all", help=metrics)


def _list(options: Namespace) -> None:
    store = _open_store(options)
    if options.last is not None and options.last < 1:
        raise UsageError(f"list: --last must be at least 1, not {options.last}")
    wanted = RunFilter.parse(vars(options))
    listed = find_runs(store, wanted, options.last or (None if options.json else _SHOWN))
    if not listed.total:
        print(_why_none(store, wanted), file=sys.stderr)
    if options.json:
        print_json(run_list_json(listed))
    elif listed.total:
        print_runs(Console(), listed.runs)
    if len(listed.runs) < listed.total:
        hint = "filters or --last N show the others"
        print(f"the newest {len(listed.runs)} of {listed.total} runs; {hint}", file=sys.stderr)


def _show(options: Namespace) -> None:
    store = _open_store(options)
    if options.json:
        print_json(run_json(store, options.run))
        return
    record, cells, console = with_actual_status(store, store.run(options.run)), store.cells(options.run), Console()
    print_run(console, record)
    print_answer(console, finding(answer_of(record.scenario, cells) if cells else (), store.claims(options.run)))
    if cells:
        print_summary(console, cells, _metrics(options, cells) or headlines(record))
        print_certificates(console, cells, links=options.certificates)
    print_claims(console, store.claims(options.run))


def _compare(options: Namespace) -> None:
    store = _open_store(options)
    sides: list[Run] = [(store.run(run), store.cells(run, series=False)) for run in options.runs]
    if options.history is not None:
        sides = [*_history(store, options), sides[0]]
    elif len(sides) < 2:
        raise UsageError("compare: there is only one run", "name another one, such as latest~1, or use --history 10")
    metrics = _metrics(options, [cell for _, cells in sides for cell in cells])
    if options.history is not None:
        comparisons = [compare_with_history(sides[:-1], sides[-1], metrics)]
    else:
        comparisons = [compare_runs(sides[0], side, metrics) for side in sides[1:]]
    run_ids, others = [record.run_id for record, _ in sides], differences(sides)
    if options.output is not None:
        _draw_side_by_side(sides, metrics, options.output)
    if options.json:
        print_json(comparison_json(run_ids, comparisons, others))
    elif options.markdown:
        print(comparison_markdown(comparisons, others), end="")
    else:
        for comparison in comparisons:
            print_compared(Console(), comparison)
        print_differences(Console(), run_ids, others)
    worse = [f"{each.metric} at {each.point}" for every in comparisons for each in every.comparisons if each.is_worse]
    if options.fail_if_worse and worse:
        raise MeasurementFailed(f"worse: {', '.join(worse)}", "the comparison above says by how much")


def _draw_side_by_side(sides: Sequence[Run], metrics: Sequence[str] | None, folder: Path) -> None:
    from results.figures import style  # matplotlib, which a comparison in words does without
    from results.figures.side_by_side import side_by_side

    last, cells = sides[-1]
    measured = metric_names(cells)
    shown = [name for name in metrics or headlines(last) or measured if name in measured]
    if not shown:
        raise UsageError(f"compare: {last.run_id} measured none of the metrics to draw")
    with writing_to(folder):
        for path in style.save(side_by_side(sides, shown), folder, "compare"):
            print(path, file=sys.stderr)


def _plot(options: Namespace) -> None:
    store = _open_store(options)
    record, cells = store.run(options.run), store.cells(options.run)
    scenario = known_scenario(record)
    if not cells:
        raise UsageError(f"run {record.run_id} has no cells to draw")
    folder = options.output or store.artifacts(options.run)
    with writing_to(folder):
        paths = draw_figures(scenario.figures, cells, folder)
    for path in paths:
        print(path)


def _report(options: Namespace) -> None:
    from results.commands.watch import linked_pages
    from results.pages.browser import browser, print_pdf
    from results.pages.html_report import render_html  # loads templates and networkx, which no other command needs

    store = _open_store(options)
    if options.pdf:
        browser()  # fails before half a minute is spent on figures
    record, cells = store.run(options.run), store.cells(options.run)
    folder = store.artifacts(options.run)
    target: Path = options.output or folder / ("report.pdf" if options.pdf else "report.html")
    figures = drawn_if_possible(record, cells, folder)
    packets = linked_pages(store, record) if target.parent == folder and not options.pdf else {}
    page = render_html(
        store,
        record.run_id,
        figures,
        question_of(record),
        answer_of(record.scenario, cells),
        packets,
        options.beside and store.resolve(options.beside),
    )
    with writing_to(target):
        if options.pdf:
            print_pdf(page, target)
        else:
            target.write_text(page, encoding="utf-8")
    give_to_caller(target)
    print(target)


def _export(options: Namespace) -> None:
    from results.exchange.export import export_runs
    from results.exchange.files import write_export

    store, kind = _open_store(options), options.kind
    if options.runs:
        run_ids = list(dict.fromkeys(store.resolve(run) for run in options.runs))
    else:
        wanted = RunFilter.parse(vars(options))
        run_ids = [record.run_id for record, _ in find_runs(store, wanted).runs]
        if not run_ids:
            raise UsageError(f"export: {_why_none(store, wanted)}")
    suffix = "json" if kind == "json" else f"{kind}.zip"
    target: Path = options.output or Path(f"{run_ids[0] if len(run_ids) == 1 else 'flightpath'}.{suffix}")
    write_export(export_runs(store, run_ids), target, kind)
    print(target)


def _import(options: Namespace) -> None:
    from results.exchange.export import import_runs
    from results.exchange.files import read_export

    exports = [read_export(file) for file in options.files]
    imported = import_runs(Store.open(store_location(options)), exports)
    for run_id in imported.added:
        print(run_id)
    if imported.known:
        print(f"already there, with the same content: {', '.join(imported.known)}", flush=True)


def _serve(options: Namespace) -> None:
    from results.dashboard.app import application, serve  # loads a web server, which no other command needs

    app = application(_open_store(options), drawn_if_possible, answer_of, names=options.names)
    serve(app, options.port)


def _why_none(store: Store, wanted: RunFilter) -> str:
    """Returns why no run matches a filter, if a misspelt word explains it."""
    scenario, scenarios = wanted.query.scenario, store.scenarios()
    if not scenarios:
        return f"{store.name} has no runs yet"
    if scenario and scenario not in scenarios:
        return f"no run of {scenario!r} is stored: {did_you_mean(scenario, scenarios)}"
    plans = (plan for _, plan in store.plans(RunQuery(scenario)))
    return wanted.unknown_parameter(plans) or "no run matches the filters"


def _open_store(options: Namespace) -> Store:
    return Store.open(store_location(options), create=False)


def _metrics(options: Namespace, cells: Sequence[CellResult]) -> list[str] | None:
    """Returns the metrics that `--metrics` names; None without it."""
    if options.metrics is None:
        return None
    measured = metric_names(cells)
    if options.metrics == "all":
        return measured
    for name in (names := options.metrics.split(",")):
        if name not in measured:
            raise UsageError(f"--metrics: there is no metric {name!r}", f"metrics: {', '.join(measured)}")
    return names


def _history(store: Store, options: Namespace) -> list[Run]:
    if len(options.runs) != 1 or options.history < 1:
        raise UsageError("compare: --history takes one RUN, and a number of at least 1", "compare latest --history 10")
    record = store.run(options.runs[0])
    earlier = store.finished_before(record, options.history)
    if not earlier:
        raise UsageError(f"no run of {record.scenario} with the same plan was finished before {record.run_id}")
    return [(past, store.cells(past.run_id, series=False)) for past in earlier]
