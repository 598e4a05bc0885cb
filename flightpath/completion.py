"""Shell completion for bash and zsh, with argcomplete, from the commands' own parsers."""

import argparse
import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import NoReturn

from flightpath.completion_cache import remember, remembered
from flightpath.suggestions import nearest

SHELLS = ("bash", "zsh")

_SKIPPED = "_ARGCOMPLETE"
"""Variable that is set while a shell requests completions: the number of words that are the program itself."""

_UNRECOGNIZED = "unrecognized arguments: "
_INVALID_CHOICE = re.compile(r"invalid choice: '(?P<word>.*?)' \(choose from (?P<known>.*)\)")


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
    parser = argparse.ArgumentParser(
        prog=prog, description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("shell", choices=SHELLS)
    options = parse(parser, arguments)
    print(import_module("argcomplete").shellcode(["flightpath"], shell=options.shell))
    return 0


def parse(parser: argparse.ArgumentParser, arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parses arguments, by default `sys.argv`; if a shell requests completions, prints them and ends the process.

    Errors of argparse, which ends the process, name the known word that is nearest to an unknown one.
    """
    if is_completing():
        if command := " ".join(_words()[1 : _skipped()]):
            parser = remember(command, parser)
        import_module("argcomplete").autocomplete(parser)
    for each in _with_subparsers(parser):
        setattr(each, "error", partial(_refuse, each, each.error))  # noqa: B010 - argparse's only hook
    return parser.parse_args(arguments)


def complete_from_memory() -> None:
    """Prints completions and ends the process, if the command before the cursor is known without loading it."""
    words, count = _words(), _skipped()
    own = OWN_PARSERS.get(words[1], ()) if len(words) > count else ()
    if own is None or any(word == words[count] for word in own):
        count += 1
    if count > 1 and (parser := remembered(" ".join(words[1:count]))):
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


def _with_subparsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:  # argparse offers no public way
        if isinstance(action, argparse._SubParsersAction):
            for each in {id(it): it for it in action.choices.values()}.values():
                yield from _with_subparsers(each)


def _refuse(parser: argparse.ArgumentParser, refuse: Callable[[str], NoReturn], message: str) -> NoReturn:
    """Adds the nearest known words to an error of argparse."""
    unknown, known = message.removeprefix(_UNRECOGNIZED).split(), []
    if message.startswith(_UNRECOGNIZED):
        known = [text for each in _with_subparsers(parser) for it in each._actions for text in it.option_strings]
    elif choice := _INVALID_CHOICE.search(message):
        unknown, known = [choice["word"]], re.split("[', ]+", choice["known"])
    near = [near for word in unknown if (near := nearest(word.partition("=")[0], known))]
    refuse(f"{message}\n  did you mean {', '.join(near)}?" if near else message)


def _words() -> list[str]:
    """Returns the words before the cursor, without the one that it is in."""
    line, cursor = os.environ["COMP_LINE"], int(os.environ["COMP_POINT"])
    _, _, _, words, _ = import_module("argcomplete").lexers.split_line(line, cursor)
    return list(words)


def _skipped() -> int:
    return int(os.environ[_SKIPPED])
