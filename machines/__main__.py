"""Command line of the machines: `python -m machines lab-kernel`."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from flightpath.command_line import run_command
from machines.lab import kernel

_LAB_KERNEL = """\
Builds the lab kernel: a User-Mode Linux (x86-64) that runs experiments on a virtual clock, as an ordinary user.

Its source is the newest suitable package linux-source-X.Y that this machine's own package mirrors offer; on Debian also
in the backports and in the next suite. Nothing is installed. The kernel is kept in ~/.cache/flightpath/lab (or
$FLIGHTPATH_CACHE/lab), and built once per version and configuration: 5 to 7 minutes on two cores. An interrupted build
is continued by the next one.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m machines", description="Machines on which experiments run.")
    commands = parser.add_subparsers(metavar="COMMAND")
    build = commands.add_parser(
        "lab-kernel",
        help="build the kernel for experiments in virtual time",
        description=_LAB_KERNEL,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    build.add_argument("--source", type=Path, metavar="FILE", help="use this source (linux-X.Y.Z.tar.xz) instead")
    build.add_argument("--jobs", type=int, metavar="N", help="compilers at once (by default one per processor)")
    build.set_defaults(run_command=_build)
    return run_command(parser, arguments)


def _build(options: argparse.Namespace) -> None:
    began_s = time.monotonic()
    shown = ""

    def progress(fraction: float, doing: str) -> None:
        nonlocal shown
        text = f"lab kernel: {fraction:4.0%} {doing}, {time.monotonic() - began_s:.0f} s"
        if sys.stderr.isatty():
            print(f"\r{text}\033[K", end="", file=sys.stderr, flush=True)
        elif doing != shown:
            print(text, file=sys.stderr)
        shown = doing

    built = kernel.build(progress, source=options.source, jobs=options.jobs)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    print(f"lab kernel: Linux {built.version} in {built.image}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
