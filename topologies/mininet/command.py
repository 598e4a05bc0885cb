"""Mininet's `mn` as a sandboxed command: restarted in a sandbox, without clean-up, with errors in one sentence.

When `mn` loads `topologies/mn.py`, it is restarted inside a sandbox; as a program, that file starts it there. Errors
are printed in one sentence, with an exit code other than 0. Mininet's clean-up is replaced, because it would end the
networks of other programs; the kernel removes the sandbox.
"""

import os
import signal
import sys
import traceback
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

from mininet.log import debug, info
from mininet.util import splitArgs

from flightpath.command_line import INTERRUPTED, exit_code_of
from flightpath.commands import require
from flightpath.errors import FlightpathError, UsageError
from topologies.links.emulators import EMULATORS, choose_emulator
from topologies.mininet.network import spec_from_settings
from topologies.sandbox import sandbox


def start_mn(custom: Path) -> int:
    """Runs `mn` with a custom file and this program's arguments in a sandbox, and returns its exit code."""
    sys.argv = ["mn", "--custom", str(custom), *sys.argv[1:]]
    return _in_sandbox(require("mn"))


def move_into_sandbox() -> None:
    """Restarts `mn` in a sandbox, waits, and ends with its exit code; does nothing in other programs."""
    command = sys.modules["__main__"]
    if not hasattr(command, "MininetRunner") or command.__name__ != "__main__":
        return
    sys.exit(_in_sandbox(os.path.realpath(sys.argv[0])))


def nothing_to_clean() -> None:
    """Replaces Mininet's clean-up, which ends all processes on the machine that look like Mininet's."""
    info("*** Nothing to clean up: the kernel removes a sandbox with its last process\n")


def check_link_option(options: Any) -> None:
    """Refuses a wrong or unsupported `--link` before anything starts, as Mininet's hook `validate`."""
    name, _positional, settings = splitArgs(options.link)
    emulator = "auto" if name == "default" else name
    if emulator in EMULATORS:
        choose_emulator(emulator)
        spec_from_settings(settings)


def _in_sandbox(program: str) -> int:
    return exit_code_of(lambda: sandbox.run_inside(lambda: _run_mn(program)))


def _run_mn(program: str) -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Ctrl-C ends a command, not the network
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(INTERRUPTED))
    loader = SourceFileLoader("mn", program)
    spec = spec_from_loader("mn", loader)
    assert spec is not None, "only a loader without a method `exec_module` has none"
    command = module_from_spec(spec)
    loader.exec_module(command)
    sys.modules["__main__"] = command
    _refuse_missing_files(command.MininetRunner)
    try:
        command.MininetRunner()
    except FlightpathError:
        raise
    except Exception as error:
        debug(traceback.format_exc())
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _refuse_missing_files(runner: type[Any]) -> None:
    """Makes `--custom` report a missing file; as in Mininet, its value is one file, or several with commas."""
    custom = runner.custom

    def checked(self: Any, option: Any, word: str, value: str, parser: Any) -> None:
        for name in [value] if Path(value).is_file() else value.split(","):
            if not Path(name).is_file():
                raise UsageError(f"--custom: there is no file {name!r}", f"paths are relative to {Path.cwd()}")
        custom(self, option, word, value, parser)

    runner.custom = checked
