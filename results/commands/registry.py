"""Registration of the commands of `flightpath results`: functions with a name, a help text and arguments."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Argument = Callable[[argparse._ActionsContainer], object]
"""Function that adds one or more arguments to a parser."""

Run = Callable[[argparse.Namespace], None]


@dataclass(frozen=True)
class Command:
    """A command; `run` prints results on stdout, and everything else on stderr."""

    name: str
    summary: str
    arguments: tuple[Argument, ...]
    run: Run


COMMANDS: list[Command] = []
"""All commands, in the order of the help."""


def command(name: str, summary: str, *arguments: Argument) -> Callable[[Run], Run]:
    """Registers the decorated function as a command, with these arguments besides the location of the store."""

    def register(run: Run) -> Run:
        COMMANDS.append(Command(name, summary, arguments, run))
        return run

    return register


def argument(*flags: str, **options: Any) -> Argument:
    """Returns an argument, described as for `ArgumentParser.add_argument`."""
    return lambda parser: parser.add_argument(*flags, **options)


def one_of(*arguments: Argument) -> Argument:
    """Returns arguments that exclude each other."""

    def add(parser: argparse._ActionsContainer) -> None:
        group = parser.add_mutually_exclusive_group()
        for each in arguments:
            each(group)

    return add
