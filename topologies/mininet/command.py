"""What makes Mininet's `mn` a Flightpath testbed: without it `mn` would use, and on errors clean, the machine itself.

`mn` is started as ever; loading `topologies/mn.py` moves it into a sandbox, where it begins anew. Its errors are told
in a sentence and its exit code is not 0; it does not clean up then (which would end other programs' networks): the
kernel takes the sandbox away.
"""

import os
import signal
import sys
import time
import traceback
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from types import FrameType, ModuleType
from typing import Any

from mininet.log import debug, info
from mininet.util import splitArgs

from flightpath.errors import FlightpathError
from topologies.links.emulators import EMULATORS, choose_emulator
from topologies.mininet.network import spec_from_settings
from topologies.sandbox import sandbox

_ONE_PRESS_S = 0.3


def move_into_sandbox() -> None:
    """If Mininet's `mn` runs, starts it anew in a sandbox, waits and ends with its exit code; else does nothing."""
    command = sys.modules["__main__"]
    if not hasattr(command, "MininetRunner") or command.__name__ != "__main__":
        return
    program = os.path.realpath(sys.argv[0])
    try:
        code = sandbox.run_inside(lambda: _run(program))
    except FlightpathError as error:
        print(f"error: {error}", file=sys.stderr)
        code = error.exit_code
    sys.exit(code)


def nothing_to_clean() -> None:
    """In place of Mininet's clean-up, which ends whatever looks like a network of Mininet's on the machine."""
    info("*** Nothing to clean up: the kernel takes a sandbox away with its last process\n")


def check_link_option(options: Any) -> None:
    """Mininet's hook `validate`: refuses a wrong `--link` before anything is started.

    Raises:
        UsageError: names the field, the value and the accepted forms.
        MissingCapability: this machine cannot make such links.
    """
    name, _positional, settings = splitArgs(options.link)
    emulator = "auto" if name == "default" else name
    if emulator in EMULATORS:
        choose_emulator(emulator)
        spec_from_settings(settings)


def _run(program: str) -> int:
    """The whole of `mn`, in the sandbox."""
    _interrupt_once_a_press()
    command = _load(program)
    sys.modules["__main__"] = command
    try:
        command.MininetRunner()
    except FlightpathError:
        raise
    except Exception as error:
        debug(traceback.format_exc())
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _load(program: str) -> ModuleType:
    loader = SourceFileLoader("mn", program)
    module = module_from_spec(spec_from_loader("mn", loader))
    loader.exec_module(module)
    return module


def _interrupt_once_a_press() -> None:
    """Ctrl-C reaches this process from the terminal and from each process above it: the echoes must not count."""
    last_s = float("-inf")

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        nonlocal last_s
        before_s, last_s = last_s, time.monotonic()
        if last_s - before_s > _ONE_PRESS_S:
            raise KeyboardInterrupt

    def end(_number: int, _frame: FrameType | None) -> None:
        sys.exit(sandbox.INTERRUPTED)

    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, end)
