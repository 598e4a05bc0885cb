"""The command `flightpath museum`: public reports as experiments, with what was measured and why."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown

from flightpath.command_line import run_command
from flightpath.errors import UsageError
from flightpath.launcher import require_mininet
from flightpath.parsers import Parser
from flightpath.project import IS_CHECKOUT
from flightpath.terminal import print_entries

_EPILOG = """\
examples:
  flightpath museum list
  flightpath museum show mahimahi_144      the report, what was measured here, and why
  flightpath museum run mahimahi_144       measure it, as flightpath run FILE.toml does; options go behind the name
"""


def main(arguments: Sequence[str] | None = None, prog: str = "flightpath museum") -> int:
    """Runs one command; returns the exit code."""
    require_mininet()
    return run_command(_parser(prog), arguments)


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = Parser(
        prog=prog,
        description="Public reports of this field as experiment files: what was reported, what is measured here, why, "
        "and what would change it.",
        epilog=_EPILOG,
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    commands.add_parser("list", help="list the entries").set_defaults(run_command=_list)
    show = commands.add_parser("show", help="show an entry: report, figures, cause")
    show.add_argument("name", metavar="NAME")
    show.set_defaults(run_command=_show)
    run = commands.add_parser("run", help="measure an entry, as flightpath run FILE.toml does")
    run.add_argument("name", metavar="NAME")
    run.add_argument("options", nargs=argparse.REMAINDER, metavar="OPTION", help="for flightpath run")
    run.set_defaults(run_command=_run)
    record = commands.add_parser("record", help="measure entries, and write the record and docs/museum.md, to commit")
    record.add_argument("names", nargs="*", metavar="NAME", help="entries (default: all)")
    record.set_defaults(run_command=_record)
    return parser


def _list(options: argparse.Namespace) -> None:
    from museum import catalogue

    entries = {name: catalogue.entry(name) for name in catalogue.names()}
    questions = {name: f"{found.question} ({report.source})" for name, (found, report) in entries.items()}
    print_entries(Console(), questions)


def _show(options: argparse.Namespace) -> None:
    from museum import catalogue, page, record

    catalogue.file_of(options.name)
    if (measured := record.read_record().get(options.name)) is None:
        raise UsageError(f"{options.name} is not in the record", f"flightpath museum record {options.name}")
    Console().print(Markdown("\n".join(page.entry_lines(options.name, measured))))


def _run(options: argparse.Namespace) -> int:
    from museum import catalogue
    from scenarios import __main__ as scenarios

    return scenarios.main([str(catalogue.file_of(options.name)), *options.options])


def _record(options: argparse.Namespace) -> None:
    from museum import catalogue, page, record

    if not IS_CHECKOUT:
        raise UsageError("the record belongs to a checkout", "git clone the project, then measure there")
    for name in options.names or catalogue.names():
        with tempfile.TemporaryDirectory() as folder:
            measured = {"commit": record.commit_of(name), **record.measure(name, Path(folder))}
        entries = {each: found for each, found in record.read_record().items() if each in catalogue.names()}
        entries[name] = measured
        record.write_record(entries)
        page.write_page(entries)


if __name__ == "__main__":
    sys.exit(main())
