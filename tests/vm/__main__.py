"""`python -m tests.vm -- COMMAND …`: runs a command under a stock kernel, for what this machine's own kernel lacks."""

import argparse
import signal
import sys
from pathlib import Path

from flightpath.errors import FlightpathError
from tests.vm import kernels
from tests.vm.machine import VirtualMachine


def main() -> int:
    """The command line; returns the command's exit code, or that of what went wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.vm", description=__doc__)
    parser.add_argument("--kernel", metavar="VERSION", help="as `uname -r` says it (default: the newest unpacked)")
    parser.add_argument("--results", type=Path, metavar="DIR", help="a folder in which the command's files stay")
    parser.add_argument("--time-limit", type=float, default=600, metavar="SECONDS", help="(default 600)")
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="after `--`")
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)  # the VM must not outlive us
    try:
        if options.results:
            options.results.mkdir(parents=True, exist_ok=True)
        machine = VirtualMachine(kernels.find(options.kernel), results=options.results)
        print(f"in a VM with Linux {machine.kernel.version}: {' '.join(options.command)}", file=sys.stderr)
        return machine.run(options.command, time_limit_s=options.time_limit)
    except FlightpathError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130


sys.exit(main())
