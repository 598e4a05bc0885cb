"""Shell completion for bash and zsh, with argcomplete, from the commands' own parsers."""

import argparse
import os
from collections.abc import Sequence
from importlib import import_module

SHELLS = ("bash", "zsh")

_SKIPPED = "_ARGCOMPLETE"
"""Variable that is set while a shell requests completions: the number of words that are the program itself."""

_DESCRIPTION = """\
Prints what makes a shell complete the words of `flightpath`: commands, scenarios, options and their values. In
~/.bashrc or ~/.zshrc:

  eval "$(flightpath completion bash)"
  eval "$(flightpath completion zsh)"
"""


def main(arguments: Sequence[str] | None = None, prog: str = "flightpath completion") -> int:
    """Prints the code for a shell, and returns the exit code."""
    parser = argparse.ArgumentParser(
        prog=prog, description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("shell", choices=SHELLS)
    options = parse(parser, arguments)
    print(import_module("argcomplete").shellcode(["flightpath"], shell=options.shell))
    return 0


def parse(parser: argparse.ArgumentParser, arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parses arguments, by default `sys.argv`; if a shell requests completions, prints them and ends the process."""
    if is_completing():
        import_module("argcomplete").autocomplete(parser)
    return parser.parse_args(arguments)


def is_completing() -> bool:
    """Returns whether a shell requests completions: the arguments are then in COMP_LINE, and `parse` prints them."""
    return _SKIPPED in os.environ


def take_word() -> str | None:
    """Takes the next word as a part of the program's name; returns None if the cursor is in that word."""
    _, _, _, words, _ = import_module("argcomplete").lexers.split_line(
        os.environ["COMP_LINE"], int(os.environ["COMP_POINT"])
    )
    skipped = int(os.environ[_SKIPPED])
    if len(words) <= skipped:
        return None
    os.environ[_SKIPPED] = str(skipped + 1)
    return words[skipped]
