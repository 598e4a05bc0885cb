"""The command `flightpath machines`: kernels for measurements, and commands in them."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from execution.uml import kernel
from flightpath.command_line import run_command, sigterm_as_interrupt
from flightpath.parsers import Parser
from flightpath.progress import LiveLine, minutes_and_seconds

_UML_KERNEL = """\
Builds the virtual-time kernel: a User-Mode Linux (x86-64) that runs experiments on a virtual clock, without root.

Its source is the newest suitable package linux-source-X.Y that this machine's own package mirrors offer; on Debian also
in the backports and in the next suite. Nothing is installed. The kernel is kept in ~/.cache/flightpath/uml (or
$FLIGHTPATH_CACHE/uml); if there is one with the present configuration, nothing is built. A build takes about twenty
minutes of processor time; the next one continues it if it is interrupted.
"""

_VM_KERNEL = "Downloads the distribution's kernel package and unpacks it in build/kernels. Nothing is installed."
_VM = """\
Runs a command in a VM (QEMU, with KVM if it works) that boots a stock kernel. What it writes vanishes with the VM,
except in the folder of --results. Standard input is read to its end first.
"""

_ESTIMATED_FROM = 0.12
"""Fraction of a build from which its duration is estimated: by then it compiles."""


def main(arguments: Sequence[str] | None = None, prog: str = "flightpath machines") -> int:
    """Runs a command and returns its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["run"]:  # its name in version 0.1.0
        from execution import virtual

        print("note: `flightpath machines run` is `flightpath virtual` now", file=sys.stderr)
        return virtual.main(words[1:])
    parser = Parser(prog=prog, description="Kernels on which experiments run.")
    commands = parser.add_subparsers(metavar="COMMAND")
    build = commands.add_parser(
        "uml-kernel",
        aliases=["lab-kernel"],  # its name in version 0.1.0
        help="build the kernel for experiments in virtual time",
        description=_UML_KERNEL,
    )
    build.add_argument("--source", type=Path, metavar="FILE", help="use this source (linux-X.Y.Z.tar.xz) instead")
    build.add_argument("--jobs", type=int, metavar="N", help="parallel compilers (default: one per processor)")
    build.set_defaults(run_command=_build)
    fetch = commands.add_parser("vm-kernel", help="unpack the distribution's kernel for VMs", description=_VM_KERNEL)
    fetch.set_defaults(run_command=_fetch)
    vm = commands.add_parser("vm", help="run a command in a VM with a stock kernel", description=_VM)
    vm.add_argument("--kernel", metavar="VERSION", help="as `uname -r` prints it (default: the newest unpacked)")
    vm.add_argument("--time-limit", type=float, default=600, metavar="SECONDS", help="time limit (default 600)")
    vm.add_argument("--results", type=Path, metavar="DIR", help="a folder in which files of the command are kept")
    vm.add_argument("command", nargs="+", metavar="COMMAND", help="after `--`")
    vm.set_defaults(run_command=_run_in_vm)
    return run_command(parser, words)


def _build(options: argparse.Namespace) -> None:
    began_s = time.monotonic()
    with LiveLine() as line:

        def progress(fraction: float, doing: str) -> None:
            left = "some minutes"
            if fraction > _ESTIMATED_FROM:
                left = minutes_and_seconds((time.monotonic() - began_s) * (1 / fraction - 1))
            line.show(f"virtual-time kernel: {fraction:4.0%} {doing}, {left} left")

        built = kernel.build(progress, source=options.source, jobs=options.jobs)
    print(f"virtual-time kernel: Linux {built.version} in {built.image}", file=sys.stderr)


def _fetch(_options: argparse.Namespace) -> None:
    from execution.vm import kernels

    print(kernels.fetch().version, file=sys.stderr)


def _run_in_vm(options: argparse.Namespace) -> int:
    from execution.vm import kernels
    from execution.vm.virtual_machine import VirtualMachine

    if options.results:
        options.results.mkdir(parents=True, exist_ok=True)
    sigterm_as_interrupt()
    machine = VirtualMachine(kernels.find(options.kernel), results=options.results)
    print(f"in a VM with Linux {machine.kernel.version}: {' '.join(options.command)}", file=sys.stderr)
    return machine.run(options.command, time_limit_s=options.time_limit)


if __name__ == "__main__":
    sys.exit(main())
