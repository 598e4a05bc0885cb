"""The command `flightpath congestion`: lists, loads and checks congestion controls."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

import congestion
from congestion import loader, provision, registry, sources
from flightpath.command_line import run_command
from flightpath.errors import UsageError
from flightpath.extensions import COMMANDS_OF_CONGESTION, contributions
from flightpath.parsers import Parser

_DESCRIPTION = """\
TCP congestion controls: those that this machine has, and those that root can load as BPF programs.

An experiment loads what it needs, and unloads it when it ends. `load` keeps an algorithm until `unload`, so that an
ordinary user can use it. NAME is an algorithm's name or a C file of your own: see congestion/README.md."""
_EPILOG = """\
examples:
  flightpath congestion list
  sudo flightpath congestion trace vegas --link 20Mbit,20ms,1bdp
  sudo flightpath congestion check mine.bpf.c

exit codes: 0 done, 2 usage (also: the program does not compile, or the kernel refuses it), 3 the machine lacks
something, or the user the right, 4 the result is not trustworthy, 130 interrupted
"""


def main(arguments: Sequence[str] | None = None, prog: str = "flightpath congestion") -> int:
    """Runs one command, and returns its exit code; results go to stdout, everything else to stderr."""
    return run_command(_parser(prog), arguments)


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = Parser(prog=prog, description=_DESCRIPTION, epilog=_EPILOG)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    listing = commands.add_parser("list", help="list algorithms with their origin and the processes that use them")
    listing.add_argument("--json", action="store_true", help="print one JSON object")
    listing.set_defaults(run_command=_list)
    for name, run, summary in (
        ("load", _load, "get algorithms into the kernel, and keep them there until `unload`"),
        ("unload", _unload, "unload algorithms that were loaded; one that a run uses stays until the run ends"),
        ("check", _check, "compile, and let the kernel's verifier check; loads nothing"),
    ):
        command = commands.add_parser(name, help=summary, description=summary.capitalize() + ".")
        command.add_argument("names", nargs="+", metavar="NAME")
        command.set_defaults(run_command=run)
    for name, module in contributions(COMMANDS_OF_CONGESTION).items():
        command = commands.add_parser(name, help=module.SUMMARY, description=module.DESCRIPTION)
        module.add_arguments(command)
        command.set_defaults(run_command=module.main)
    return parser


def _list(options: argparse.Namespace) -> int:
    rows = [_row(name) for name in dict.fromkeys((*congestion.available(), *congestion.shipped()))]
    if options.json:
        print(json.dumps({"algorithms": rows}, indent=2))
        return 0
    table = Table("algorithm", "now", "used by", box=None, header_style="bold")
    for row in rows:
        table.add_row(row["name"], row["origin"] or "not loaded; as a BPF program", row["users"] or "")
    Console().print(table)
    return 0


def _row(name: str) -> dict[str, Any]:
    users = None
    if connection := registry.connect(name):
        with connection:
            users = registry.ask(connection, "who")
    return {"name": name, "origin": congestion.origin(name), "users": users, "shipped": name in congestion.shipped()}


def _load(options: argparse.Namespace) -> int:
    for name in options.names:
        with congestion.provided(name) as algorithm:
            if algorithm.connection is not None:
                registry.ask(algorithm.connection, "keep")
            print(f"{algorithm.name}: {algorithm.origin}")
    return 0


def _unload(options: argparse.Namespace) -> int:
    for name in map(congestion.name_of, options.names):
        connection = registry.connect(name)
        if connection is None:
            raise UsageError(f"{name} was not loaded by Flightpath, or not by this user", "flightpath congestion list")
        with connection:
            registry.ask(connection, "release")
            users = registry.ask(connection, "who")
        print(f"{name}: {f'in use by {users}; it stays until they end' if users else 'unloaded'}")
    return 0


def _check(options: argparse.Namespace) -> int:
    for name in options.names:
        source = sources.source_of(name)
        if source is None and name in congestion.available():
            raise UsageError(f"{name} is the kernel's own: there is no BPF program of it to check")
        if source is None:
            raise provision.unknown(name)
        built = sources.build(source)
        loader.check(built, source)
        print(f"{loader.name_in(built, source)}: the kernel accepts it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
