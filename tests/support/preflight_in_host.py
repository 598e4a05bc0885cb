"""`preflight` in an emulated host, over one link to an sshd."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from flightpath.hosts import Host
from flightpath.project import PROJECT
from services.sshd import Sshd
from topologies.links.spec import LinkSpec
from topologies.multipath_pair import MultipathPair
from topologies.sandbox.sandbox import TEMPORARY
from topologies.testbed.testbed import Testbed

RATE_BPS, RTT_MS = 50_000_000, 20
MEMORY = TEMPORARY / "memory"

# Runs every command in one process: most of what a short measurement takes is to load the program.
_COMMANDS = """
import contextlib, io, json, sys
from probes.preflight.__main__ import main
for line in sys.stdin:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = main(json.loads(line))
    print(json.dumps([code, printed.getvalue()]), flush=True)
"""

Preflight = Callable[..., tuple[int, str]]
"""Runs a command with one memory for all; gets its words, returns its exit code and what it printed."""


@contextmanager
def preflight_in(host: Host) -> Iterator[Preflight]:
    """The command in a host, as often as one likes."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": PROJECT}
    with host.popen([sys.executable, "-c", _COMMANDS], **pipes) as process:  # it ends with its stdin

        def preflight(*words: str) -> tuple[int, str]:
            process.stdin.write(json.dumps([*words, "--results", str(MEMORY)]) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
            assert answer, f"{words} raised what is printed above"
            return tuple(json.loads(answer))

        yield preflight


@contextmanager
def preflight_over_a_link() -> Iterator[tuple[Testbed, Sshd, Preflight]]:
    """In a sandbox: a link with an sshd at its other end (`dtn`), and the command at this end."""
    link = LinkSpec(bandwidth_bps=RATE_BPS, delay_s=RTT_MS / 2000)
    with Testbed(MultipathPair(paths=1, links=link, congestion_control="cubic")) as testbed:
        client, server = testbed.net.hosts
        with Sshd(server, server.address(), TEMPORARY / "sshd") as sshd, preflight_in(client) as preflight:
            yield testbed, sshd, preflight
