"""The command `flightpath run`: measures a scenario, or lists them."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from flightpath.command_line import exit_code_of
from flightpath.completion import is_completing, parse, take_word
from flightpath.launcher import require_mininet
from flightpath.parsers import Parser
from flightpath.terminal import print_entries


def main(arguments: Sequence[str] | None = None, prog: str = "flightpath run") -> int:
    """Measures the scenario that the first word names, or prints the list of them; returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    return exit_code_of(lambda: _run(words, prog))


def _run(words: Sequence[str], prog: str) -> None:
    require_mininet()
    from experiments import catalogue
    from scenarios.command import runner  # loads Mininet

    if is_completing():
        typed = take_word() or ""  # a .py file is not run while somebody types
        words = [typed] if typed in catalogue.names() or Path(typed).suffix == catalogue.TOML else []
    if not words or words[0].startswith("-"):
        return _list(words, prog)
    name, *rest = words
    runner.main(catalogue.asked_for(name), rest, f"{prog} {name}")


def _list(words: Sequence[str], prog: str) -> None:
    from experiments import catalogue

    parser = Parser(
        prog=prog,
        usage="%(prog)s [NAME | FILE.toml | FILE.py] [OPTION ...]",
        description="Measures a scenario, which is an experiment: one of ours by its name, or a file of your own "
        "(flightpath new experiment writes one); lists them all if none is named.",
        epilog=f"`{prog} NAME --help` explains a scenario; --dry-run prints what it would measure.",
    )
    parser.add_argument("name", nargs="?", choices=catalogue.names(), help=argparse.SUPPRESS)
    parse(parser, words)
    print_entries(Console(), {name: catalogue.get(name).summary for name in catalogue.names()})
    print(f"\n{prog} NAME --help explains one; --dry-run prints what it would measure.", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
