"""Runs a command in a virtual machine with a stock kernel: `python -m tests.vm -- COMMAND …`."""

import argparse
import sys
from pathlib import Path

from flightpath.command_line import end_like_ctrl_c, exit_code_of
from tests.vm import kernels
from tests.vm.machine import VirtualMachine


def main() -> int:
    """Returns the command's exit code, or that of an error."""
    parser = argparse.ArgumentParser(prog="python -m tests.vm", description=__doc__)
    parser.add_argument("--kernel", metavar="VERSION", help="as `uname -r` prints it (default: the newest unpacked)")
    parser.add_argument("--results", type=Path, metavar="DIR", help="a folder in which the command's files are kept")
    parser.add_argument("--time-limit", type=float, default=600, metavar="SECONDS", help="(default 600)")
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="after `--`")
    options = parser.parse_args()
    end_like_ctrl_c()
    return exit_code_of(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    if options.results:
        options.results.mkdir(parents=True, exist_ok=True)
    machine = VirtualMachine(kernels.find(options.kernel), results=options.results)
    print(f"in a VM with Linux {machine.kernel.version}: {' '.join(options.command)}", file=sys.stderr)
    return machine.run(options.command, time_limit_s=options.time_limit)


sys.exit(main())
