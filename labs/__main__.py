"""The command `flightpath lab`: teaching labs for students and teachers."""

import argparse
import sys
from collections.abc import Sequence

from flightpath.command_line import run_command
from flightpath.launcher import require_mininet
from flightpath.parsers import Parser
from labs.commands import student, teacher

_EPILOG = """\
examples:
  flightpath lab list                          the labs, in the order of the course
  flightpath lab start 2 --student anna        a folder with instructions in anna's variant
  flightpath lab check lab02_full_pipe         what is right, what is wrong, and hints
  flightpath lab grade handed_in --csv marks.csv
                                               marks for a folder of submissions
"""


def main(arguments: Sequence[str] | None = None, prog: str = "flightpath lab") -> int:
    """Runs one command; returns the exit code."""
    require_mininet()
    return run_command(_parser(prog), arguments)


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = Parser(
        prog=prog,
        description="Teaching labs that check what a student's network really does.",
        epilog=_EPILOG,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    student.add_commands(commands)
    teacher.add_commands(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
