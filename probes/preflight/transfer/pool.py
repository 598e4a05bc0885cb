"""The stream processes of one iteration: started together, watched, and ended whatever happens."""

import contextlib
import multiprocessing
import os
import resource
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Self

from flightpath.commands import how_ended
from flightpath.errors import FlightpathError, MeasurementFailed, MissingCapability
from flightpath.launcher import safe_path
from probes.preflight.ssh.socket_folder import FOLDER_OF_SOCKETS, folder_of_sockets
from probes.preflight.transfer import worker
from probes.preflight.transfer.worker import Job, StreamReport

_CONNECTING_AT_ONCE = 8
"""Maximum number of connections that log in at a time; sshd drops some at random from ten (MaxStartups 10:30:100)."""

_ENDED_WITHIN_S = 2
_FILES_OF_STREAM, _OTHER_FILES = 3, 40
"""Files that this process has open for each stream, and besides."""


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Sets variables during a block only: other programs that this process starts must not have them."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]
        os.environ.update(before)


def _allow_open_files(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and count > hard:
        raise MissingCapability(
            f"so many streams need {count} open files, and this user may open {hard}",
            f"measure with fewer streams (-P), or as root: ulimit -Hn {count}",
        )
    if soft != resource.RLIM_INFINITY and count > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


class WorkerPool:
    """A process for each job. As a context manager, it ends them all at the end of the block.

    The processes are forked from a server process that has loaded everything and has no threads, so 64 of them start
    within a second. They inherit nothing but one end of a pipe, by which each notices when this process ends.
    """

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = list(jobs)
        self._pipes: list[Connection] = []
        self._processes: list[BaseProcess] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
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
        """Starts the processes, a few at a time, and waits until all are ready to transfer."""
        _allow_open_files(_FILES_OF_STREAM * len(self._jobs) + _OTHER_FILES)
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([worker.__name__])
        with _environment({**safe_path(), FOLDER_OF_SOCKETS: folder_of_sockets()}):
            forkserver.ensure_running()
            resource_tracker.ensure_running()
        connecting: set[int] = set()
        ready = 0
        while ready < len(self._jobs):
            while len(self._processes) < len(self._jobs) and len(connecting) < _CONNECTING_AT_ONCE:
                connecting.add(len(self._processes))
                self._start(context, self._jobs[len(self._processes)])
            for index, _ready in self._messages(connecting):
                connecting.discard(index)
                ready += 1

    def transfer(self, on_progress: Callable[[int], None]) -> list[StreamReport]:
        """Lets all processes transfer at the same time; returns the reports of all streams, in order.

        `on_progress` gets the bytes moved so far, at least once a second.
        """
        for pipe in self._pipes:
            with contextlib.suppress(OSError):  # if the process has died, reading from the pipe reports it
                pipe.send(None)
        totals = [0] * len(self._jobs)
        running = set(range(len(self._jobs)))
        reports: list[StreamReport] = []
        while running:
            for index, message in self._messages(running):
                if isinstance(message, int):
                    totals[index] = message
                else:
                    running.discard(index)
                    reports += message
            on_progress(sum(totals))
        return sorted(reports, key=lambda report: report.number)

    def _start(self, context: Any, job: Job) -> None:
        ours, theirs = context.Pipe()
        process = context.Process(target=worker.work, args=(theirs, job), daemon=True)
        self._pipes.append(ours)
        try:
            process.start()
        except (EOFError, ConnectionError) as error:
            raise MeasurementFailed(
                "the process that starts the streams has ended", "this iteration was not recorded"
            ) from error
        finally:
            theirs.close()
        self._processes.append(process)

    def _messages(self, indices: set[int]) -> list[tuple[int, Any]]:
        """Returns the next messages of these processes, by index; raises a message that is an error."""
        ready = wait([self._pipes[index] for index in indices], timeout=1)
        messages = []
        for index in indices:
            if self._pipes[index] not in ready:
                continue
            try:
                message = self._pipes[index].recv()
            except (EOFError, ConnectionResetError):
                raise self._death(index) from None
            if isinstance(message, FlightpathError):
                raise message
            messages.append((index, message))
        return messages

    def _death(self, index: int) -> MeasurementFailed:
        process = self._processes[index]
        process.join(_ENDED_WITHIN_S)
        code = process.exitcode
        how = "ended" if code is None else how_ended(code)
        return MeasurementFailed(
            f"the process of stream {self._jobs[index].parts[0].number} {how}", "this iteration was not recorded"
        )
