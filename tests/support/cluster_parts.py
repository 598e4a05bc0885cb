"""The parts of a cluster on this machine's loopback, as users start them."""

import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from execution.cluster.key import make_key
from flightpath.commands import end
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from results.store.store import Store

SCHEDULER_FILE = "scheduler.json"
_COMMAND = [sys.executable, "-m", "execution.cluster"]
_ADDRESS = re.compile(r"^tls://\S+$", re.MULTILINE)
"""On a line of its own: if the port of its page is taken, by another cluster, Dask says so first."""


class Parts:
    """A scheduler and the workers that were started, which end with a stack; the address is the scheduler's."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self.key, self.address = folder / "key.pem", ""
        self.workers: list[subprocess.Popen] = []
        self._folder, self._stack = folder, stack
        make_key(self.key)

    def start_scheduler(self) -> None:
        """Starts a scheduler; another one than the first has the same port."""
        port = self.address.rpartition(":")[2] or "0"
        log = self._folder / "scheduler.log"
        file = str(self._folder / SCHEDULER_FILE)
        self.scheduler = self._start(["scheduler", "--host", "127.0.0.1", "--port", port, "--file", file], log)
        wait_until(lambda: _ADDRESS.search(log.read_text()) is not None, "the scheduler", 60)
        self.address = _ADDRESS.search(log.read_text())[0]

    def start_worker(self) -> None:
        """Starts a worker for one cell at a time."""
        log = self._folder / f"worker{len(self.workers)}.log"
        self.workers.append(self._start(["worker", self.address, "--jobs", "1"], log))
        wait_until(lambda: "measures for" in log.read_text(), "the worker", 180)

    def options(self) -> list[str]:
        return ["--cluster", self.address, "--key", str(self.key)]

    def _start(self, words: list[str], log: Path) -> subprocess.Popen:
        with log.open("wb") as opened:
            argv = [*_COMMAND, *words, "--key", str(self.key)]
            process = subprocess.Popen(argv, cwd=PROJECT, stdin=subprocess.DEVNULL, stdout=opened, stderr=opened)
        self._stack.callback(end, process, grace_s=20)
        return process


@contextlib.contextmanager
def cluster(folder: Path, workers: int) -> Iterator[Parts]:
    with contextlib.ExitStack() as stack:
        parts = Parts(folder, stack)
        parts.start_scheduler()
        for _ in range(workers):
            parts.start_worker()
        yield parts


def metrics(folder: Path) -> dict[str, dict[str, float]]:
    """Measurements of the latest run in a store, by cell."""
    return {
        result.cell.label: {name: metric.value for name, metric in result.measurement.metrics.items()}
        for result in Store.open(folder, create=False).cells("latest", series=False)
    }
