"""The command `python -m topologies`: without it nobody could ask what this machine can emulate."""

import argparse
import json
import os
import sys
from collections.abc import Sequence

from rich.console import Console

import congestion
from flightpath.errors import FlightpathError
from topologies.doctor.examination import examine_machine
from topologies.doctor.report import as_json, print_table
from topologies.sandbox.sandbox import INTERRUPTED

_EPILOG = "`python -m topologies COMMAND --help` tells more."
_DOCTOR = """\
Tells what this machine can do: kernel features, datapaths, link emulators, congestion controls, MPTCP, and tools with
their versions; what each missing thing costs; and what mends it.

Features are tried, not guessed from versions: devices, queues, switches and connections are made in namespaces of their
own, which are gone when the doctor ends, however it ends. Nothing else changes, but for one thing that any use of the
kernel may do: it loads a module of its own when that is first asked for. The doctor names those.

Works without root, too. What cannot be tried without it is `unknown`."""
_CLEAN = """\
Removes what killed runs have left outside their sandbox, and nothing that is not Flightpath's.

A sandbox leaves nothing. What is the machine's own are congestion controls that were loaded as BPF programs. Each is
held by a process that ends with the last run that uses it, however that ends, and the kernel drops the algorithm with
it. Only if that process itself is killed, its record stays; and on kernels before 6.4 the algorithm, which is taken
back here."""
_DOCTOR_EPILOG = """\
states:
  ok       it was tried and works
  limited  there, but too little of it, or not for this user
  missing  it was tried and is not there
  unknown  it could not be tried; the reason is beside it

A * marks what `make mptcp_load` needs. Everything else is optional.

examples:
  sudo python3 -m topologies doctor          the table
  python3 -m topologies doctor               what you can do without root
  python3 -m topologies doctor --json        one object: {machine, checks: [{area, name, state, found, costs, remedy,
                                             required}], summary}

exit codes: 0 all that is needed is there, 2 usage, 3 something needed is missing, 130 interrupted
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; results go to stdout, everything else to stderr."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.run_command is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        code = options.run_command(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, a pager or `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except FlightpathError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m topologies",
        description="Looks after the machine that networks are emulated on.",
        epilog=_EPILOG,
    )
    parser.set_defaults(run_command=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    doctor = commands.add_parser(
        "doctor",
        help="tell what this machine can do, what is missing, what that costs, and what mends it",
        description=_DOCTOR,
        epilog=_DOCTOR_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    doctor.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    doctor.set_defaults(run_command=_doctor)
    clean = commands.add_parser(
        "clean",
        help="remove what killed runs have left",
        description=_CLEAN,
        formatter_class=argparse.RawDescriptionHelpFormatter,
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


def _clean(_options: argparse.Namespace) -> int:
    found = congestion.clean()
    for orphan in found:
        what = "was still registered: taken back" if orphan.was_registered else "its record removed"
        print(f"congestion control {orphan.name}: its holder was killed; {what}")
    if not found:
        print("nothing to clean")
    return 0


if __name__ == "__main__":
    sys.exit(main())
