"""A machine that has too much to do."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

from tests.support.killed import killed_at_end


@contextlib.contextmanager
def busy_machine(loops: int = 2 * (os.cpu_count() or 1)) -> Iterator[None]:
    """Two busy loops for each processor, so that none is ever idle."""
    spin = [sys.executable, "-c", "while True: pass"]
    with contextlib.ExitStack() as stack:
        for _ in range(loops):
            stack.enter_context(killed_at_end(subprocess.Popen(spin, stdin=subprocess.DEVNULL)))
        yield


@contextlib.contextmanager
def busy_processor() -> Iterator[None]:
    """Leaves this process, and what it starts, one processor, which a busy loop has too."""
    usable = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(usable)})
    try:
        with busy_machine(loops=1):
            yield
    finally:
        os.sched_setaffinity(0, usable)
