"""The Python that Flightpath is installed in: programs of an experiment file find another one in their path."""

import os
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]


def run_in_own_python() -> None:
    """Starts the program again in that Python, unless it is the one that runs it."""
    own = _ROOT / ".venv"
    if not own.exists():  # it is installed: lib/python3.11/site-packages
        own = _ROOT.parents[2]
    if Path(sys.prefix).resolve() != own.resolve():
        python = str(own / "bin/python")
        os.execv(python, [python, *sys.argv])
