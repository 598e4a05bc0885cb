"""The command `flightpath mn`: Mininet's `mn` with our networks, links and controllers (`topologies/mn.py`)."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from flightpath.completion import is_completing


def main(arguments: Sequence[str], prog: str) -> int:
    """Replaces this process by `mn` with these arguments."""
    if is_completing():
        return 0
    program = Path(__file__).parents[1] / "mn.py"
    os.execv(sys.executable, [sys.executable, "-P", str(program), *arguments])
