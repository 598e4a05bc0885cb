"""Processes that end with a block, whatever happens in it."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def killed_at_end(process: subprocess.Popen) -> Iterator[subprocess.Popen]:
    """Kills a process at the end of the block, waits for it and closes its pipes."""
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
            pipe.close()
