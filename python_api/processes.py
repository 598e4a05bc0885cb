"""Processes of ours that a user's own process starts, which may be the kernel of a notebook."""

import os
import sys

from flightpath.project import PROJECT

_FOR_TERMINALS = ("FORCE_COLOR", "CLICOLOR_FORCE")
"""Variables by which a notebook's kernel asks for what terminals understand: a progress bar would become many lines."""


def python_module(name: str, *arguments: str) -> list[str]:
    """The command that runs one of our modules; a module of the current folder does not take the place of ours (-P)."""
    return [sys.executable, "-P", "-m", name, *arguments]


def environment() -> dict[str, str]:
    """This process's environment for such a command."""
    variables = {name: value for name, value in os.environ.items() if name not in _FOR_TERMINALS}
    paths = [str(PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**variables, "PYTHONPATH": os.pathsep.join(paths)}
