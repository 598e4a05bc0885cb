"""The command `flightpath mn`: Mininet's `mn` in a sandbox, with our networks, links, switches and controllers."""

import signal
import sys
import traceback
from collections.abc import Sequence
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

from mininet.log import debug

from flightpath.command_line import INTERRUPTED, exit_code_of, sigterm_as_interrupt
from flightpath.commands import require
from flightpath.completion import is_completing
from flightpath.errors import FlightpathError
from topologies.mininet import congestion_control
from topologies.mininet.certificates import print_certificate
from topologies.mininet.options import congestion_control_in
from topologies.mininet.runner import runner_for
from topologies.sandbox import sandbox


def main(arguments: Sequence[str], prog: str = "flightpath mn") -> int:
    """Runs `mn` with these arguments in a sandbox, and returns the exit code; its help needs no sandbox."""
    return exit_code_of(lambda: _start(arguments))


def _start(arguments: Sequence[str]) -> int:
    if is_completing():
        return 0
    if {"-h", "--help"} & set(arguments):
        sys.argv = ["mn", "--help"]
        return _run_mn()
    sigterm_as_interrupt()
    sys.argv = ["mn", *arguments]
    requested = congestion_control_in(arguments)
    congestion_control.provide(requested)
    return sandbox.run_inside(lambda: _run_inside(requested))


def _run_inside(requested: str | None) -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Ctrl-C ends a command, not the network
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(INTERRUPTED))
    congestion_control.choose(requested)
    try:
        return _run_mn()
    finally:
        print_certificate()


def _run_mn() -> int:
    loader = SourceFileLoader("mn", require("mn"))
    spec = spec_from_loader("mn", loader)
    assert spec is not None, "only a loader without a method `exec_module` has none"
    command = module_from_spec(spec)
    loader.exec_module(command)
    sys.modules["__main__"] = command
    try:
        runner_for(command)()
    except FlightpathError:
        raise
    except Exception as error:
        debug(traceback.format_exc())
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0
