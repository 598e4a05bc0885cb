"""The commands `flightpath mn` and `mn-run` on either clock: in virtual time they run in a virtual-time kernel."""

import math
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

from execution.uml import kernel
from execution.uml.terminal import TerminalGuest
from execution.uml.uml import UmlGuest, UserModeLinux, keeps_current_folder
from flightpath.clock import Clock
from flightpath.command_line import exit_code_of, sigterm_as_interrupt
from flightpath.errors import UsageError
from flightpath.launcher import python_module

_MODULES = {"mn": "topologies.mininet.runner", "mn-run": "topologies.mininet.scripts.program"}
_OURS = ("--clock", "--seed")
_WITH_VALUE = ("--congestion-control",)
"""Options of `mn-run` before the script whose value is the next word."""


class ClockOptions(NamedTuple):
    """The options of a command line that choose the clock, apart from its other words.

    Attributes:
        seed: seed of all random numbers in virtual time; None: other ones each time.
    """

    clock: Clock
    seed: int | None
    words: list[str]

    @classmethod
    def take(cls, words: Sequence[str], *, before_script: bool = False) -> "ClockOptions":
        """Takes the options out of a command line; with `before_script` only out of what precedes the script."""
        given, others, rest = dict.fromkeys(_OURS, ""), [], list(words)
        while rest:
            word = rest.pop(0)
            option, is_one_word, value = word.partition("=")
            if option in _OURS:
                given[option] = value if is_one_word else rest.pop(0) if rest else "nothing"
            elif before_script and not word.startswith("-"):
                others += [word, *rest]
                break
            else:
                others.append(word)
                if word in _WITH_VALUE and rest:
                    others.append(rest.pop(0))
        return cls(*_values(given["--clock"] or Clock.REAL, given["--seed"]), others)


def main(arguments: Sequence[str], prog: str = "flightpath") -> int:
    """Runs `mn` or `mn-run`, whichever is the first argument, with the others, and returns the exit code."""
    name, *words = arguments
    return exit_code_of(lambda: _run(name, words, f"{prog} {name}"))


def _run(name: str, words: Sequence[str], prog: str) -> int:
    options = ClockOptions.take(words, before_script=name == "mn-run")
    if options.clock is Clock.REAL or {"-h", "--help"} & set(options.words):
        return int(import_module(_MODULES[name]).main(options.words, prog=prog))
    sigterm_as_interrupt()
    ends_by_itself = any(word.startswith("--test") for word in options.words)
    is_interactive = sys.stdin.isatty() and sys.stdout.isatty() and not ends_by_itself
    machine = UserModeLinux(
        kernel.find(), keeps_folder=keeps_current_folder("choose another folder"), seed=options.seed
    )
    guest = TerminalGuest if is_interactive else UmlGuest
    return guest(machine, python_module("flightpath.cli", name, *options.words)).run(math.inf)


def _values(clock: str, seed: str) -> tuple[Clock, int | None]:
    if clock not in list(Clock):
        raise UsageError(f"--clock: {clock!r} is no clock", f"choose {' or '.join(Clock)}")
    if seed and not seed.isdecimal():
        raise UsageError(f"--seed: {seed!r} is no number", "give a whole number of 0 or more")
    if seed and clock != Clock.VIRTUAL:
        raise UsageError("--seed repeats a run in virtual time only", "add --clock virtual")
    return Clock(clock), int(seed) if seed else None
