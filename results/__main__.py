"""The command `python -m results`: without it a run could be looked at only while it was being made."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from flightpath.errors import FlightpathError
from results.commands import commands
from results.commands import exchange as exchange_commands
from results.commands.exchange import KINDS
from results.store.filters import add_filter_options
from results.store.location import add_store_options
from results.store.store import DEFAULT_FOLDER

_EPILOG = """\
RUN is a run's id, an unambiguous beginning of one, or `latest`.

examples:
  python -m results list                        every run, and whether it may be believed
  python -m results list --scenario mptcp_load --where protocol=mptcp --since 2026-11-01 --verdict faithful
  python -m results show latest                 means with intervals, verdicts, claims
  python -m results show 20261121 --metrics all every metric of the one run of that day
  python -m results show latest --json          the same as one object, for programs
  python -m results compare RUN latest          what changed, with intervals; what else differs between the two
  python -m results compare latest --history 10 the same against the ten runs of its scenario before it
  python -m results plot latest                 draw the figures again, from the store alone
  python -m results report latest               one HTML page, to be sent to somebody; --pdf for a paper
  python -m results export latest --csv         a zip of tables; JSON by default, --parquet for data frames
  python -m results import FILE                 another machine's runs; all of the file or nothing
  python -m results serve                       the same in a browser, on this machine only
  python -m results serve --store postgresql://student@server/class
                                                what all machines of a class have kept in one database

exit codes: 0 done, 1 the store failed, 2 usage (no such run, no store there), 3 something is not installed,
130 interrupted
"""
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; results go to stdout, everything else to stderr."""
    options = _parser().parse_args(arguments)
    try:
        options.run_command(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, a pager or `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return _INTERRUPTED
    except FlightpathError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    add_store_options(common, DEFAULT_FOLDER, "runs are kept")
    parser = argparse.ArgumentParser(
        prog="python -m results",
        description="Looks at runs that were made: lists, shows, compares, draws, reports them, from the store alone.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parts = parser.add_subparsers(metavar="COMMAND", required=True)

    def add(name: str, run_command: Callable[[argparse.Namespace], None], text: str) -> argparse.ArgumentParser:
        command = parts.add_parser(name, parents=[common], help=text, description=f"{text[0].upper()}{text[1:]}.")
        command.set_defaults(run_command=run_command)
        return command

    listing = add("list", commands.list_runs, "list the runs, oldest first")
    add_filter_options(listing)
    listing.add_argument("--last", type=int, metavar="N", help=f"only the newest N ({commands.SHOWN}; with --json all)")
    listing.add_argument("--json", action="store_true", help="print one JSON object instead")
    _add_show(add("show", commands.show, "show a run's means with intervals, verdicts, and claims"))
    _add_compare(add("compare", commands.compare, "compare runs: what changed, and what else differs between them"))
    plot = add("plot", commands.plot, "draw a run's figures again, as PNG and SVG, and print their paths")
    plot.add_argument("run", metavar="RUN")
    plot.add_argument("--output", type=Path, metavar="DIR", help="where to (the run's own folder)")
    report = add("report", commands.report, "write a run as one HTML page with its figures, and print its path")
    report.add_argument("run", metavar="RUN")
    report.add_argument("--output", type=Path, metavar="FILE", help="where to (report.html in the run's own folder)")
    report.add_argument("--pdf", action="store_true", help="as PDF (report.pdf); needs Chromium: make browser-setup")
    _add_exchange(add)
    serve = add("serve", commands.serve, "serve the store as pages, on this machine only; they change nothing")
    serve.add_argument("--port", type=int, default=8700, metavar="N", help="to listen on (8700); 0 finds a free one")
    return parser


def _add_show(show: argparse.ArgumentParser) -> None:
    show.add_argument("run", metavar="RUN")
    form = show.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object instead, with every cell")
    show.add_argument("--certificates", action="store_true", help="how well each link did, in every cell")
    form.add_argument("--metrics", metavar="A,B|all", help="which metrics; by default the scenario's headlines")


def _add_compare(compare: argparse.ArgumentParser) -> None:
    compare.add_argument("runs", nargs="+", metavar="RUN", help="the first is what the others are compared with")
    compare.add_argument(
        "--history", type=int, metavar="N", help="compare one RUN with the N finished runs of its scenario before it"
    )
    compare.add_argument("--metrics", metavar="A,B|all", help="which metrics; by default the scenario's headlines")
    compare.add_argument("--json", action="store_true", help="print one JSON object instead")


def _add_exchange(add: Callable[..., argparse.ArgumentParser]) -> None:
    export = add(
        "export", exchange_commands.export_runs, "write runs into a file with all that the store knows of them"
    )
    export.add_argument("runs", nargs="*", metavar="RUN", help="which; those that the filters leave by default")
    form = export.add_mutually_exclusive_group()
    for kind in KINDS:
        form.add_argument(f"--{kind}", dest="kind", action="store_const", const=kind)
    export.set_defaults(kind=KINDS[0])
    export.add_argument("--output", type=Path, metavar="FILE", help="where to (RUN.json or RUN.csv.zip, here)")
    add_filter_options(export)
    bring = add(
        "import", exchange_commands.import_files, "bring in what another machine exported: all of it or nothing"
    )
    bring.add_argument("files", nargs="+", type=Path, metavar="FILE")


if __name__ == "__main__":
    sys.exit(main())
