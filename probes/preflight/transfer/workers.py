"""The stream processes of one iteration, seen from the probe: started together, watched, and never left behind."""

import contextlib
import multiprocessing
import signal
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, Self

from flightpath.errors import FlightpathError, MeasurementFailed
from probes.preflight.transfer import stream
from probes.preflight.transfer.stream import Job, Moved, Progress, Ready

_CONNECTING_AT_ONCE = 8
"""sshd drops connections at random once ten have not logged in yet (MaxStartups 10:30:100)."""

_ENDED_WITHIN_S = 2


class StreamProcesses:
    """One process for each job, from connecting to the result. A context manager: leaving it ends them all.

    They are forked from a server process that has loaded everything and runs no threads, so 64 of them start within a
    second; none inherits anything from this process but its end of a pipe, and so each notices when this one is gone.
    """

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = list(jobs)
        self._pipes: list[Connection] = []
        self._processes: list[BaseProcess] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pipe in self._pipes:
            pipe.close()
        deadline = time.monotonic() + (_ENDED_WITHIN_S if kind is None else 0)
        for process in self._processes:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
            process.join()
            process.close()

    def connect(self) -> None:
        """Starts them, a few at a time, and returns when all are ready to transfer.

        Raises:
            FlightpathError: what the first that failed said.
        """
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([stream.__name__])
        connecting: set[int] = set()
        ready = 0
        while ready < len(self._jobs):
            while len(self._processes) < len(self._jobs) and len(connecting) < _CONNECTING_AT_ONCE:
                connecting.add(len(self._processes))
                self._start(context, self._jobs[len(self._processes)])
            for index, message in self._messages(connecting):
                if isinstance(message, Ready):
                    connecting.discard(index)
                    ready += 1

    def transfer(self, tell: Callable[[int], None]) -> list[Moved]:
        """Lets all transfer at the same time and returns what became of their streams, in order.

        Args:
            tell: gets the bytes that have come so far, now and then.

        Raises:
            FlightpathError: what the first that failed said.
        """
        for pipe in self._pipes:
            with contextlib.suppress(OSError):  # if it has died, its reading end tells how
                pipe.send(None)
        totals = [0] * len(self._jobs)
        going = set(range(len(self._jobs)))
        moved: list[Moved] = []
        while going:
            for index, message in self._messages(going):
                if isinstance(message, Progress):
                    totals[index] = message.total
                else:
                    going.discard(index)
                    moved += message
            tell(sum(totals))
        return sorted(moved, key=lambda each: each.number)

    def _start(self, context: Any, job: Job) -> None:
        ours, theirs = context.Pipe()
        process = context.Process(target=stream.work, args=(theirs, job), daemon=True)
        self._pipes.append(ours)
        try:
            process.start()
        finally:
            theirs.close()
        self._processes.append(process)

    def _messages(self, of: set[int]) -> list[tuple[int, Any]]:
        """What the processes say next; an error is raised."""
        pipes = {self._pipes[index]: index for index in of}
        said = []
        for pipe in wait(list(pipes), timeout=1):
            index = pipes[pipe]
            try:
                message = pipe.recv()
            except (EOFError, ConnectionResetError):
                raise self._died(index) from None
            if isinstance(message, FlightpathError):
                raise message
            said.append((index, message))
        return said

    def _died(self, index: int) -> MeasurementFailed:
        process = self._processes[index]
        process.join(_ENDED_WITHIN_S)
        code = process.exitcode
        how = "" if code is None else f" by {signal.Signals(-code).name}" if code < 0 else f" with exit code {code}"
        return MeasurementFailed(
            f"the process of stream {self._jobs[index].parts[0].number} ended{how}", "this iteration was not recorded"
        )
