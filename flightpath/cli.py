"""The command `flightpath`, which runs all commands of the project from any folder.

Each is also a module, `python -m MODULE`.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

from flightpath.completion import complete_from_memory, is_completing, parse, take_word
from flightpath.errors import UsageError
from flightpath.launcher import prepare_process, require_trusted_owner
from flightpath.parsers import Parser
from flightpath.suggestions import did_you_mean


class Command(NamedTuple):
    """A command of `flightpath`.

    Attributes:
        module: name of the module whose `main(arguments, prog)` runs the command and returns the exit code. It is text,
            because the module is on a higher floor, and loaded only if needed.
        summary: help text.
        words: the module's first arguments for this command.
    """

    module: str
    summary: str
    words: tuple[str, ...] = ()


COMMANDS = {
    "run": Command("scenarios.__main__", "measure a scenario, or an experiment file; without a name, list them"),
    "new": Command("scenarios.command.new", "write an experiment file to start from, or a table for a link"),
    "import": Command("scenarios.command.importing", "turn another tool's network into an experiment file"),
    "museum": Command("museum.__main__", "public reports as experiments: what is measured here, and why"),
    "replay": Command("execution.replay.command", "measure a stored cell again, stop its clock anywhere, and look"),
    "results": Command("results.__main__", "list, show, compare, draw, report and serve runs"),
    "watch": Command("results.commands.watch", "write a page on which the packets of a recorded cell move"),
    "preflight": Command("probes.preflight.__main__", "measure the path to another machine by transferring a file"),
    "doctor": Command("topologies.__main__", "show what this machine can do, and how to get the rest", ("doctor",)),
    "clean": Command("topologies.__main__", "remove what killed runs left behind", ("clean",)),
    "mn": Command("execution.mininet_clock", "Mininet's command line with our links, switches, controllers", ("mn",)),
    "mn-run": Command("execution.mininet_clock", "run a script for Mininet as it is, on our links", ("mn-run",)),
    "controller": Command("controllers.__main__", "run the OpenFlow controller, or show what one steers"),
    "congestion": Command("congestion.__main__", "list, load and check congestion controls"),
    "lab": Command("labs.__main__", "teaching labs: start one, check your work, grade a class"),
    "cluster": Command("execution.cluster.__main__", "measure on many machines: make a key, start the scheduler"),
    "worker": Command("execution.cluster.__main__", "measure cells on this machine for a cluster", ("worker",)),
    "virtual": Command("execution.virtual", "run any command in virtual time: the same every time"),
    "machines": Command("execution.__main__", "build the virtual-time kernel, run a command in a VM"),
    "completion": Command("flightpath.completion", "print the completion script for bash or zsh"),
}

_EXAMPLES = """\
examples:
  flightpath doctor                          what works on this machine
  flightpath run mptcp_load                  MPTCP against TCP under load, in virtual time
  sudo flightpath run mptcp_load --clock real    the same on this machine's own kernel and clock
  flightpath results report latest           one page with everything
  flightpath new experiment my.toml          a file of your own; flightpath run my.toml measures it
  flightpath COMMAND --help                  explains a command

exit codes: 0 done, 2 usage, 3 the machine lacks something, 4 the result is not trustworthy, 130 interrupted
"""


class _ListedCommand(argparse.ArgumentParser):
    """A command that the help lists. Others parse its words, so it gets no options, which would take most time."""

    def __init__(self, **_settings: object) -> None:
        self._actions = []


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command that the first word names, and returns its exit code."""
    prepare_process()
    words = list(sys.argv[1:] if arguments is None else arguments)
    if is_completing():
        words = [word for word in [take_word()] if word in COMMANDS]
        complete_from_memory()
    if not words or words[0].startswith("-"):
        return _help(words)
    name, *rest = words
    return import_module("flightpath.command_line").exit_code_of(lambda: _run(name, rest))


def _run(name: str, arguments: Sequence[str]) -> int:
    require_trusted_owner()
    if name not in COMMANDS:
        raise UsageError(f"no command {name!r}", did_you_mean(name, COMMANDS))
    command = COMMANDS[name]
    prog = "flightpath" if command.words else f"flightpath {name}"
    return import_module(command.module).main([*command.words, *arguments], prog=prog)


def _help(words: Sequence[str]) -> int:
    parser = Parser(
        prog="flightpath",
        description="Measures bulk transfers and loaded web services over one path or many, in networks that it "
        "emulates on this machine.",
        epilog=_EXAMPLES,
    )
    kind = Parser if is_completing() else _ListedCommand
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=kind)
    for name, command in COMMANDS.items():
        commands.add_parser(name, help=command.summary, add_help=False)
    parse(parser, words)
    parser.print_help(sys.stderr)
    return UsageError.exit_code


if __name__ == "__main__":
    sys.exit(main())
