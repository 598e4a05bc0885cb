"""The command `python -m scenarios`: lists the experiments."""

import sys
from argparse import ArgumentParser
from collections.abc import Sequence

from scenarios.framework import catalogue

_MORE = "python3 -m scenarios.NAME --help explains an experiment; --dry-run prints what it would measure."


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the list and returns the exit code."""
    ArgumentParser(prog="python -m scenarios", description="List the experiments.", epilog=_MORE).parse_args(arguments)
    for name in catalogue.names():
        print(f"{name:20} {catalogue.find(name).summary}")
    print(f"\n{_MORE}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
