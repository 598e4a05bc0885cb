"""Execution of a script in its own Python, inside the sandbox."""

import shlex
import signal
import sys
import traceback
from pathlib import Path
from types import ModuleType

from mininet.net import Mininet

from flightpath.command_line import INTERRUPTED, exit_code_of
from flightpath.errors import FlightpathError
from flightpath.launcher import python_module
from topologies.mininet import congestion_control
from topologies.mininet.certificates import print_certificate
from topologies.mininet.network import OPENVSWITCH
from topologies.mininet.runner import own_part
from topologies.mininet.scripts.stand_ins import stand_in
from topologies.sandbox import sandbox

_SSHD_FOLDER = Path("/run/sshd")
"""Folder that sshd needs; a sandbox's /run is empty."""

_REFERENCE_CONTROLLER = """\
#!/bin/sh
# The command of OpenFlow's reference controller, which distributions no longer have.
for word; do case $word in ptcp:*) port=${{word#ptcp:}};; esac; done
exec {command} --listen "0.0.0.0:${{port:-6633}}"
"""


def main() -> int:
    """Runs the script named on the command line as Python would, and returns the exit code."""
    del sys.argv[0]
    script = Path(sys.argv[0])
    signal.signal(signal.SIGTERM, _end_once)
    return exit_code_of(lambda: _run(script))


def _end_once(number: int, _frame: object) -> None:
    signal.signal(number, signal.SIG_IGN)
    sys.exit(INTERRUPTED)


def _run(script: Path) -> int:
    _prepare()
    program = ModuleType("__main__")
    program.__file__ = str(script)
    sys.modules["__main__"] = program
    sys.path[:1] = [str(script.resolve().parent), *sys.path[:1]]
    try:
        exec(compile(script.read_bytes(), str(script), "exec"), vars(program))
    except FlightpathError as error:
        print(f"{_place(error, script)}: ", end="", file=sys.stderr)
        raise
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        traceback.print_exception(type(error), error, own_part(error, str(script)))
        return 1
    finally:
        print_certificate()
    return 0


def _prepare() -> None:
    sandbox.prepare_network()
    _SSHD_FOLDER.mkdir(mode=0o755, exist_ok=True)
    OPENVSWITCH.start()
    text = _REFERENCE_CONTROLLER.format(command=shlex.join(python_module("controllers.applications")))
    congestion_control.offer_program("controller", text)
    Mininet.inited = True  # otherwise Mininet would raise limits of the whole machine, outside the sandbox
    stand_in()
    OPENVSWITCH.wait_ready()


def _place(error: BaseException, script: Path) -> str:
    """Returns the line of the script that raised an error."""
    lines = [it.lineno for it in traceback.extract_tb(error.__traceback__) if it.filename == str(script)]
    return f"{script}:{lines[-1]}" if lines else str(script)
