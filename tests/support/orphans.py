"""A program whose parent is a process that a test can kill: it must end with it."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from flightpath.waiting import wait_until

_PARENT = """
import subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
child.wait()
"""


@contextmanager
def orphaned(argv: Sequence[str], popen: Callable[..., subprocess.Popen] = subprocess.Popen) -> Iterator[int]:
    """Starts a program, and gives its id once it has printed a line; kills its parent after the block.

    Returns when the program has ended too.
    """
    parent = popen([sys.executable, "-c", _PARENT, *map(str, argv)], stdout=subprocess.PIPE, text=True)
    try:
        process = Path("/proc", parent.stdout.readline().strip())
        assert (process / "exe").exists()
        yield int(process.name)
    finally:
        parent.kill()
        parent.communicate()
    wait_until(lambda: not process.exists() or ") Z " in (process / "stat").read_text(), "the end of the program", 30)
