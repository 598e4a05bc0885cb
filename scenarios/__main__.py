"""The command `python -m scenarios`: lists the experiments."""

import argparse
import sys
from collections.abc import Sequence

from flightpath.command_line import exit_code_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the list; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m scenarios",
        description="Lists the scenarios: experiments, each of which is a command `python3 -m scenarios.NAME`.",
        epilog="`python3 -m scenarios.NAME --help` explains a scenario; --dry-run prints what it would measure.",
    )
    parser.parse_args(arguments)
    return exit_code_of(_list)


def _list() -> None:
    from scenarios.framework import catalogue  # loads the scenarios, which need Mininet

    for name in catalogue.names():
        print(f"{name:20} {catalogue.find(name).summary}")
    print("\npython3 -m scenarios.NAME --help explains one; --dry-run prints what it would measure.", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
