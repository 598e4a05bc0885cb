"""The command `flightpath mn-run`: runs a script for Mininet without changes."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from flightpath.command_line import run_command
from flightpath.errors import UsageError
from flightpath.launcher import require_mininet
from flightpath.parsers import Parser
from flightpath.project import PROJECT

_DESCRIPTION = """\
Runs a Python script for Mininet without changes, in a sandbox: however it ends, nothing is left on the machine, and
`mn -c` is never needed. In place of Mininet's classes it gets

  TCLink                     our links, exact at any rate: bw, delay, jitter, loss, max_queue_size, and all other
                             keys of `flightpath mn` (queue='1bdp', corruption='0.1%'); use_htb has no effect
  OVSSwitch, UserSwitch      a private Open vSwitch, on the kernel's datapath if it has one
  OVSBridge, LinuxBridge     Open vSwitch as a bridge that learns by itself
  Controller, OVSController  a switch that learns addresses, as Mininet's own
  Ryu                        os-ken, which continues Ryu, with the application that the script names
  CLI                        Mininet's, with `link_set`, `link_stats`, `at` and more (`help`)

With `--clock virtual [--seed N]`, before the script, it runs in virtual time, where a slow or busy machine gives the
same figures; with a seed they are the same each time, to the last digit. It then needs no root, and what it writes is
kept in the current folder only. At a terminal virtual time passes no faster than real time.

Nothing outside the sandbox can be reached: there is no NAT to the internet, and the script itself must start a
RemoteController. Hosts get as much processor time as they ask for (CPULimitedHost warns).
"""

_EPILOG = """\
examples:
  flightpath mn-run mynet.py                  the script, as `sudo python3 mynet.py` would run it
  flightpath mn-run mynet.py --hosts 4        with arguments for the script
  flightpath mn-run --clock virtual --seed 1 mynet.py
  flightpath mn-run /usr/share/doc/mininet/examples/simpleperf.py

exit codes: the script's own; 2 and 3, with one sentence, if an option is invalid or the machine lacks something
"""

_START = """\
import sys
sys.path.insert(0, {project!r})
from topologies.mininet.scripts.running import main
sys.exit(main())
"""


def main(arguments: Sequence[str] | None = None, prog: str = "flightpath mn-run") -> int:
    parser = Parser(prog=prog, description=_DESCRIPTION, epilog=_EPILOG)
    words = "congestion control of all hosts (default cubic, whatever this machine's own is)"
    parser.add_argument("--congestion-control", metavar="NAME", help=words)
    for option in ("--clock", "--seed"):  # taken before they reach this; their misspellings do
        parser.add_argument(option, help=argparse.SUPPRESS)
    parser.add_argument("script", type=Path, help="Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT", help="for the script")
    parser.set_defaults(run_command=_run)
    return run_command(parser, arguments)


def _run(options: argparse.Namespace) -> int:
    if not options.script.is_file():
        raise UsageError(f"there is no script {str(options.script)!r}", "give the path of a Python file")
    require_mininet()
    # Not earlier: shell completion need not load them.
    from topologies.mininet import congestion_control
    from topologies.sandbox import sandbox

    words = [str(options.script), *options.arguments]
    folder, requested = options.script.resolve().parent, options.congestion_control
    congestion_control.provide(requested)

    def start() -> int:
        congestion_control.choose(requested)
        # A new Python, so that threads, exit handlers and signals work as in any script.
        os.execv(sys.executable, [sys.executable, "-P", "-c", _START.format(project=str(PROJECT)), *words])

    return sandbox.run_inside(start, keep=[folder])


if __name__ == "__main__":
    sys.exit(main(prog="python -m topologies.mininet.scripts.program"))
