"""Processes of ours that a user's own process starts, which may be the kernel of a notebook."""

import os
import sys

from flightpath.project import PROJECT

_FOR_TERMINALS = ("FORCE_COLOR", "CLICOLOR_FORCE")
"""Variables with which a notebook's kernel requests terminal output: a progress bar would become many lines."""


def python_module(name: str, *arguments: str) -> list[str]:
    """Returns the command that runs one of our modules; the current folder's modules cannot replace it (-P)."""
    return [sys.executable, "-P", "-m", name, *arguments]


def environment() -> dict[str, str]:
    """Returns this process's environment for such a command."""
    variables = {name: value for name, value in os.environ.items() if name not in _FOR_TERMINALS}
    paths = [str(PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**variables, "PYTHONPATH": os.pathsep.join(paths)}
