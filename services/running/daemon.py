"""One long-running program of a service: without it each service would start, watch and stop its own, differently."""

import contextlib
import os
import signal
import subprocess
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from flightpath.errors import MeasurementFailed, StartFailed
from flightpath.hosts import Host, run_in
from flightpath.processes import Process, family

_POLL_S = 0.01
_KILLED_WITHIN_S = 5
_LOG_TAIL_BYTES = 2000


class Daemon:
    """A program that runs in a host until it is stopped; its output goes to a log file.

    Args:
        host: where it runs.
        name: for messages, for example `nginx`.
        argv: the command; it must stay in the foreground and keep its PID.
        log: file that takes its stdout and stderr.
        env: variables added to this process's environment.
        cwd: folder to run in.
        stop_signal: what makes it end in good order.
        hint: what to do when it does not start.
    """

    def __init__(
        self,
        host: Host,
        name: str,
        argv: Sequence[str],
        log: Path,
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stop_signal: signal.Signals = signal.SIGTERM,
        hint: str = "",
    ) -> None:
        self.name = f"{name} on {host.name}"
        self._host, self._argv, self._log = host, list(argv), log
        self._env, self._cwd = {**os.environ, **(env or {})}, cwd or log.parent
        self._stop_signal, self._hint = stop_signal, hint
        self._process: subprocess.Popen | None = None

    def start(self, answers: Callable[[], bool], *, timeout_s: float = 15) -> Self:
        """Starts the program and returns as soon as it answers; one that does not is stopped again.

        Args:
            answers: asks it something; called again and again until it returns True.
            timeout_s: how long it may take.

        Raises:
            StartFailed: it ended or did not answer; with its exit code and the end of its log.
        """
        with self._log.open("wb") as log:
            self._process = self._host.popen(
                self._argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._env, cwd=self._cwd
            )
        try:
            self._wait_until(answers, timeout_s)
        except MeasurementFailed as error:
            self.stop()
            raise StartFailed(error.args[0], error.hint) from error
        except BaseException:
            self.stop()
            raise
        return self

    @property
    def pid(self) -> int:
        """The PID of the program, or -1 before it was started."""
        return self._process.pid if self._process else -1

    def check(self) -> None:
        """Does nothing while the program runs.

        Raises:
            MeasurementFailed: it has ended; with its exit code and the end of its log.
        """
        code = self._process.poll() if self._process else None
        if code is not None:
            raise MeasurementFailed(
                f"{self.name} ended {_in_words(code)}; its log ends:\n{self._log_tail()}", self._hint
            )

    def stop(self, *, timeout_s: float = 5) -> None:
        """Ends the program and everything that it started: asked first, killed after `timeout_s` seconds."""
        if self._process is None:
            return
        members = family(self.pid)
        if self._process.poll() is None:
            self._process.send_signal(self._stop_signal)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout_s)
        _kill({*members, *family(self.pid)})
        self._process.wait()

    def cpu_seconds(self) -> float:
        """CPU time, user and system, that the program and its workers have used since they started."""
        return sum(process.cpu_seconds for process in family(self.pid)) if self._process else 0.0

    def _wait_until(self, answers: Callable[[], bool], timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not answers():
            self.check()
            if time.monotonic() > deadline:
                said = f"{self.name} does not answer after {timeout_s:g} s; its log ends:\n{self._log_tail()}"
                raise MeasurementFailed(said, self._hint)
            time.sleep(_POLL_S)
        self.check()

    def _log_tail(self) -> str:
        return self._log.read_bytes()[-_LOG_TAIL_BYTES:].decode(errors="replace").strip() or "(empty)"


class DaemonService:
    """A service that is one daemon: what all of them share. A context manager; `__enter__` is each service's own."""

    _daemon: Daemon | None = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops it."""
        if self._daemon:
            self._daemon.stop()

    def check(self) -> None:
        """Raises MeasurementFailed if it has ended."""
        if self._daemon:
            self._daemon.check()

    def cpu_seconds(self) -> float:
        """CPU time of the daemon and its workers since the start, in seconds."""
        return self._daemon.cpu_seconds() if self._daemon else 0.0


class ListeningService(DaemonService):
    """A service that is one daemon on one TCP port, as a context manager; ready means that it listens.

    Args:
        host: where it listens, on all addresses.
        folder: for its log.
        port: to listen on; the service's usual one by default.
        mptcp: let its sockets speak MPTCP with clients that ask for it.
        on_listening: called with the host once it listens, for example to set the congestion control of listeners.
    """

    name: str
    """For messages."""
    log_name: str
    """What its log's name begins with."""
    usual_port: int

    def __init__(
        self,
        host: Host,
        folder: Path,
        *,
        port: int | None = None,
        mptcp: bool = False,
        on_listening: Callable[[Host], object] = lambda host: None,
    ) -> None:
        self._host, self._folder, self._mptcp, self._on_listening = host, folder, mptcp, on_listening
        self._port = self.usual_port if port is None else port

    def __enter__(self) -> Self:
        """Starts it; returns when it listens.

        Raises:
            StartFailed: it ended, or does not listen.
        """
        log = self._folder / f"{self.log_name}-{self._host.name}-{self._port}.log"
        self._daemon = Daemon(self._host, self.name, self._argv(), log).start(self._is_listening)
        self._on_listening(self._host)
        return self

    @abstractmethod
    def _argv(self) -> list[str]:
        """The command that is to listen; makes the files that it needs."""

    def _is_listening(self) -> bool:
        return bool(run_in(self._host, ["ss", "-Htln", f"sport = :{self._port}"]).strip())


def _kill(processes: Iterable[Process]) -> None:
    """Kills those that still run and returns once they are gone: what they held, such as a port, is free then."""
    left = [process for process in processes if process.is_alive()]
    for process in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    deadline = time.monotonic() + _KILLED_WITHIN_S
    while any(process.is_alive() for process in left) and time.monotonic() < deadline:
        time.sleep(_POLL_S)


def _in_words(code: int) -> str:
    return f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
