"""A program whose parent is a process that a test can kill: it must end with it."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from flightpath.processes import Process
from flightpath.waiting import wait_until
from tests.support.killed import killed_at_end

_PARENT = """
import subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
child.wait()
"""


@contextmanager
def orphaned(argv: Sequence[str], popen: Callable[..., subprocess.Popen] = subprocess.Popen) -> Iterator[int]:
    """Starts a program, gives its id once it has printed a line, and kills its parent after the block: it ends too."""
    command = [sys.executable, "-c", _PARENT, *map(str, argv)]
    with killed_at_end(popen(command, stdout=subprocess.PIPE, text=True)) as parent:
        program = Process.read(int(parent.stdout.readline()))
        yield program.pid
    wait_until(lambda: not program.is_alive(), "the end of the program", 30)
