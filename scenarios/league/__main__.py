"""The command `python3 -m scenarios.league`: the record of the transport league in docs/, and its page, from runs."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from flightpath.command_line import run_command
from flightpath.errors import UsageError
from flightpath.parsers import Parser
from flightpath.project import IS_CHECKOUT
from results.store.store import DEFAULT_FOLDER, Store


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns the exit code."""
    parser = Parser(
        prog="python3 -m scenarios.league",
        description="Writes docs/league.json and docs/league.md from runs of transport_league, to commit.",
        epilog="example:\n  flightpath run transport_league --full && python3 -m scenarios.league latest",
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run of transport_league, each with cells of its own")
    parser.add_argument(
        "--results", type=Path, default=DEFAULT_FOLDER, metavar="DIR", help="folder of the store (default: %(default)s)"
    )
    parser.set_defaults(run_command=_write)
    return run_command(parser, arguments)


def _write(options: argparse.Namespace) -> None:
    from scenarios.league import page, record

    if not IS_CHECKOUT:
        raise UsageError("the record belongs to a checkout", "git clone the project, then measure there")
    found = record.record_of(Store.open(options.results, create=False), options.runs)
    record.write(found)
    page.write_page(found)
    print(f"{record.RECORD}\n{page.PAGE}")


if __name__ == "__main__":
    sys.exit(main())
