"""The command `flightpath`: examines the machine (`doctor`) and removes leftovers (`clean`)."""

import argparse
import json
import sys
from collections.abc import Sequence

from rich.console import Console

import congestion
from flightpath.command_line import run_command
from flightpath.parsers import Parser
from topologies.doctor.examination import examine_machine
from topologies.doctor.report import as_json, print_table
from topologies.mininet import catalogue

_DOCTOR = """\
Examines what this machine can do: kernel features, datapaths, link emulators, congestion controls, MPTCP, and tools
with their versions. For each missing one it says what does not work without it, and how to get it.

Features are tried, not guessed from versions: devices, queues, switches and connections are made in separate
namespaces, which vanish when the doctor ends, however it ends. Nothing else on the machine changes, with one exception:
the kernel loads a module when its feature is first used. The doctor names these modules.

It works without root, too. Features that only root can try are then `unknown`."""
_CLEAN = """\
Removes leftovers of killed runs from the machine, and nothing that is not Flightpath's.

Everything in a sandbox vanishes by itself, except congestion controls that were loaded as BPF programs. A process keeps
each of them loaded until the last run that uses it ends; then the kernel removes the algorithm. If that process is
killed, its record stays, and on kernels before 6.4 the algorithm, too. This command removes both."""
_DOCTOR_EPILOG = """\
states:
  ok       it was tried and works
  limited  it works, but not well enough, or not for this user
  missing  it was tried and does not work
  unknown  it could not be tried; the table gives the reason

A * marks what `make mptcp_load` needs. Everything else is optional.

examples:
  sudo flightpath doctor          the table
  flightpath doctor               what works without root
  flightpath doctor --json        one object: {machine, checks: [{area, name, state, found, costs, remedy,
                                             required}], summary}

exit codes: 0 nothing needed is missing, 2 usage, 3 something needed is missing, 130 interrupted
"""


def main(arguments: Sequence[str] | None = None, prog: str = "flightpath") -> int:
    """Runs one command and returns its exit code; results go to stdout, everything else to stderr."""
    return run_command(_parser(prog), arguments)


def _parser(prog: str) -> argparse.ArgumentParser:
    networks = "\n".join(f"  {name:15}  {catalogue.summary(name)}" for name in catalogue.names())
    parser = Parser(
        prog=prog,
        description="Examines and cleans the machine that networks are emulated on.",
        epilog=f"networks, for `flightpath mn --topo NAME`:\n{networks}\n\n"
        "`flightpath COMMAND --help` explains a command.",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    doctor = commands.add_parser(
        "doctor",
        help="show what this machine can do, what is missing, and how to get it",
        description=_DOCTOR,
        epilog=_DOCTOR_EPILOG,
    )
    doctor.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    doctor.set_defaults(run_command=_doctor)
    clean = commands.add_parser(
        "clean",
        help="remove leftovers of killed runs",
        description=_CLEAN,
    )
    clean.set_defaults(run_command=_clean)
    return parser


def _doctor(options: argparse.Namespace) -> int:
    examination = examine_machine()
    if options.json:
        print(json.dumps(as_json(examination), indent=2))
    else:
        print_table(Console(), examination)
    return examination.exit_code


def _clean(_options: argparse.Namespace) -> None:
    orphans = congestion.clean()
    for orphan in orphans:
        result = "it was still registered, and is removed" if orphan.was_registered else "its record is removed"
        print(f"congestion control {orphan.name}: the process that kept it was killed; {result}")
    if not orphans:
        print("nothing to clean")


if __name__ == "__main__":
    sys.exit(main())
