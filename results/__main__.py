"""The command `flightpath results`."""

import argparse
import sys
from collections.abc import Sequence

from flightpath.command_line import run_command
from flightpath.parsers import Parser
from results.commands.commands import add_commands
from results.store.location import add_store_options
from results.store.store import DEFAULT_FOLDER

_EPILOG = """\
RUN is a run's id, an unambiguous beginning of one, or `latest`: the newest with cells (`latest~1`: the one before it).

examples:
  flightpath results list                        every run, with its verdict
  flightpath results list --scenario mptcp_load --where protocol=mptcp --since 2026-11-01 --verdict faithful
  flightpath results show latest                 means with intervals, verdicts, claims
  flightpath results show 20261121 --metrics all  every metric of the only run of that day
  flightpath results show latest --json          the same as one object, for programs
  flightpath results compare latest~1 latest     what changed, with intervals; what else differs between the two
  flightpath results compare latest --history 10  the same, against the ten runs of its scenario before it
  flightpath results plot latest                 draw the figures again, from the store alone
  flightpath results report latest               one HTML page, to send to somebody; --pdf for a paper
  flightpath results export latest --csv         a zip of tables; JSON by default, --parquet for data frames
  flightpath results import FILE                 the runs of another machine; all of the file, or nothing
  flightpath results serve                       all of this in a browser, on this machine only
  flightpath results serve --store postgresql://student@server/class
                                                what all machines of a class keep in one database

exit codes: 0 done, 1 the store failed, 2 usage (no such run, no store there), 3 something is not installed,
130 interrupted
"""


def main(arguments: Sequence[str] | None = None, prog: str = "flightpath results") -> int:
    """Runs one command and returns its exit code; results go to stdout, everything else to stderr."""
    return run_command(_parser(prog), arguments)


def _parser(prog: str) -> argparse.ArgumentParser:
    location = Parser(add_help=False)
    add_store_options(location, DEFAULT_FOLDER, "runs are kept")
    parser = Parser(
        prog=prog,
        description="Lists, shows, compares, draws and reports runs, from the store alone.",
        epilog=_EPILOG,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    add_commands(commands, location)
    return parser


if __name__ == "__main__":
    sys.exit(main())
