"""The controller's output: lines for the testbed on standard output, and its log on standard error."""

import contextlib
import sys


def announce(line: str) -> None:
    """Prints a line for the testbed, which may have stopped reading."""
    with contextlib.suppress(BrokenPipeError):
        print(line, flush=True)


def warn(line: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        print(line, file=sys.stderr, flush=True)
