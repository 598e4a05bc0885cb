"""Shell completion for bash and zsh, with argcomplete, from the commands' own parsers.

Every command parses here, so what only a Tab needs is loaded by then.
"""

import argparse
import os
from collections.abc import Collection, Sequence
from importlib import import_module

from flightpath.parsers import Parser

SHELLS = ("bash", "zsh")

_CACHE = "flightpath.completion_cache"
_SKIPPED = "_ARGCOMPLETE"
"""Variable that is set while a shell requests completions: the number of words that are the program itself."""


OWN_PARSERS = {
    "run": None,
    "preflight": ("history", "compare", "plot", "check", "predict", "profile", "service", "export"),
}
"""Words behind a command that have a parser of their own; None: each word, which is the name of a scenario."""

_DESCRIPTION = """\
Prints what makes a shell complete the words of `flightpath`: commands, scenarios, options and their values. In
~/.bashrc or ~/.zshrc:

  eval "$(flightpath completion bash)"
  eval "$(flightpath completion zsh)"
"""


def main(arguments: Sequence[str] | None = None, prog: str = "flightpath completion") -> int:
    """Prints the code for a shell, and returns the exit code."""
    parser = Parser(prog=prog, description=_DESCRIPTION)
    parser.add_argument("shell", choices=SHELLS)
    options = parse(parser, arguments)
    print(import_module("argcomplete").shellcode(["flightpath"], shell=options.shell))
    return 0


def parse(parser: argparse.ArgumentParser, arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parses arguments, by default `sys.argv`; if a shell requests completions, prints them and ends the process."""
    if is_completing():
        if command := " ".join(_words()[1 : _skipped()]):
            parser = import_module(_CACHE).remember(command, parser)
        import_module("argcomplete").autocomplete(parser)
    return parser.parse_args(arguments)


def complete_from_memory() -> None:
    """Prints completions and ends the process, if the command before the cursor is known without loading it."""
    words, count = _words(), _skipped()
    own = OWN_PARSERS.get(words[1], ()) if len(words) > count else ()
    if own is None or any(word == words[count] for word in own):
        count += 1
    if count > 1 and (parser := import_module(_CACHE).remembered(" ".join(words[1:count]))):
        os.environ[_SKIPPED] = str(count)
        import_module("argcomplete").autocomplete(parser)


def is_completing() -> bool:
    """Returns whether a shell requests completions: the arguments are then in COMP_LINE, and `parse` prints them."""
    return _SKIPPED in os.environ


def take_word(among: Collection[str] | None = None) -> str | None:
    """Takes the next word as a part of the program's name; returns None if it is not complete, or not in `among`."""
    words, skipped = _words(), _skipped()
    if len(words) <= skipped or (among is not None and words[skipped] not in among):
        return None
    os.environ[_SKIPPED] = str(skipped + 1)
    return words[skipped]


def _words() -> list[str]:
    """Returns the words before the cursor, without the one that it is in."""
    line, cursor = os.environ["COMP_LINE"], int(os.environ["COMP_POINT"])
    _, _, _, words, _ = import_module("argcomplete").lexers.split_line(line, cursor)
    return list(words)


def _skipped() -> int:
    return int(os.environ[_SKIPPED])
