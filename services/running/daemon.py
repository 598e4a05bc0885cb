"""Daemons in a host, and the services that consist of one: start, readiness, health checks, stop."""

import contextlib
import os
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from flightpath.commands import how_ended, over_mptcp
from flightpath.errors import MeasurementFailed, StartFailed
from flightpath.hosts import Host, run_in
from flightpath.processes import Process, family
from flightpath.waiting import timeout_scale
from services.running.privileges import Privileges

_Host = TypeVar("_Host", bound=Host)
_POLL_S = 0.01
_KILL_LIMIT_S = 5
_LOG_TAIL_BYTES = 2000


@dataclass(eq=False)
class Daemon:
    """A program that runs in a host until it is stopped; its output goes to a log file.

    Attributes:
        daemon_name: name in messages, for example `nginx`.
        argv: command; it must stay in the foreground and keep its PID.
        log: file for its stdout and stderr.
        env: variables to add to this process's environment.
        stop_signal: signal that ends it cleanly.
        hint: advice if it does not start.
    """

    host: Host
    daemon_name: str
    argv: Sequence[str]
    log: Path
    env: Mapping[str, str] = field(default_factory=dict)
    stop_signal: signal.Signals = signal.SIGTERM
    hint: str = ""
    _process: subprocess.Popen[Any] | None = field(default=None, init=False)

    def start(self, is_ready: Callable[[], bool], *, timeout_s: float = 15) -> Self:
        """Starts the program and returns when it is ready; if that fails, stops it again.

        `is_ready` is called until it returns True, for `timeout_s`, multiplied by `timeout_scale()`.

        Raises:
            StartFailed: it ended, or is not ready in time; with its exit code and the end of its log.
        """
        env = {**os.environ, **self.env}
        with self.log.open("wb") as log:
            self._process = self.host.popen(
                list(self.argv), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env, cwd=self.log.parent
            )
        try:
            self._wait_until(is_ready, timeout_s * timeout_scale())
        except BaseException as error:
            self.stop()
            if isinstance(error, MeasurementFailed):
                raise StartFailed(error.args[0], error.hint) from error
            raise
        return self

    @property
    def pid(self) -> int:
        """The program's PID; -1 before it was started."""
        return self._process.pid if self._process else -1

    def check(self) -> None:
        """Raises MeasurementFailed if the program has ended, with its exit code and the end of its log."""
        code = self._process.poll() if self._process else None
        if code is not None:
            raise self._failure(how_ended(code))

    def stop(self, *, timeout_s: float = 5) -> None:
        """Ends the program and everything that it started; kills what still runs after `timeout_s` seconds."""
        if self._process is None:
            return
        members = family(self.pid)
        if self._process.poll() is None:
            self._process.send_signal(self.stop_signal)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout_s)
        kill_all({*members, *family(self.pid)})
        self._process.wait()

    def cpu_seconds(self) -> float:
        """Returns the user and system time of the program and its workers since their start, in seconds."""
        return sum(process.cpu_seconds for process in family(self.pid)) if self._process else 0.0

    def _wait_until(self, is_ready: Callable[[], bool], timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not is_ready():
            self.check()
            if time.monotonic() > deadline:
                raise self._failure(f"is not ready after {timeout_s:g} s")
            time.sleep(_POLL_S)
        self.check()

    def _failure(self, what: str) -> MeasurementFailed:
        log = self.log.read_bytes()[-_LOG_TAIL_BYTES:].decode(errors="replace").strip() or "(empty)"
        return MeasurementFailed(f"{self.daemon_name} on {self.host.name} {what}; its log ends:\n{log}", self.hint)


class DaemonService(Daemon, ABC):
    """A service that is one daemon in a host, as a context manager; inside it, the service is ready for clients.

    A subclass defines the command; if listening is not enough, a readiness check; and if needed, preparation and
    clean-up.

    Args:
        host: host in which it runs.
        folder: folder for its configuration, data and log.
        port: port on which it listens, on all addresses; the service's usual one by default.
        mptcp: whether its TCP sockets are MPTCP sockets, which speak plain TCP too.
        on_listening: callback with the host when it is ready, for example to set the listeners' congestion control.
        privileges: privileges of the daemon; by default those of this process.
    """

    log_name: str
    """Name of the log in the folder; may contain `{host}` and `{port}`."""
    usual_port = 0
    hint = "its port may be taken, or its address may not be one of this host"

    def __init__(
        self,
        host: _Host,
        folder: Path,
        *,
        port: int | None = None,
        mptcp: bool = False,
        on_listening: Callable[[_Host], object] = lambda host: None,
        privileges: Privileges | None = None,
    ) -> None:
        self.host, self.folder, self.port = host, Path(folder), self.usual_port if port is None else port
        self._mptcp, self._on_listening = mptcp, partial(on_listening, host)
        self._privileges = privileges or Privileges.unchanged()

    def __enter__(self) -> Self:
        """Starts the daemon, and returns when it is ready.

        Raises:
            MissingCapability: a program is not installed.
            StartFailed: it did not start, or is not ready in time; with the end of its log.
        """
        try:
            self._prepare()
            self.argv, self.env = self._argv(), self._environment()
            self.log = self.folder / self.log_name.format(host=self.host.name, port=self.port)
            self.start(self._is_ready)
            self._on_listening()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._clean_up()

    @abstractmethod
    def _argv(self) -> list[str]:
        """Returns the command, see `Daemon`; `_wrapped` adds the prefixes for privileges and MPTCP."""

    def _is_ready(self) -> bool:
        """Returns whether the daemon serves clients: by default, whether anything listens on its port."""
        return bool(run_in(self.host, ["ss", "-Htln", f"sport = :{self.port}"]).strip())

    def _prepare(self) -> None:
        """Makes folders and files before the start."""

    def _clean_up(self) -> None:
        """Removes data after the end, and after a start that failed."""

    def _environment(self) -> Mapping[str, str]:
        """Returns variables to add to the daemon's environment."""
        return {}

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text)
        self._privileges.give(path)

    def _wrapped(self, *command: str, private_ipc: bool = False) -> list[str]:
        """Returns a command with the prefixes that drop privileges and enable MPTCP; see `Privileges.prefix`."""
        return [*self._privileges.prefix(private_ipc=private_ipc), *over_mptcp(self._mptcp), *command]


def kill_all(processes: Iterable[Process]) -> None:
    """Kills processes that still run, and waits until they are gone and their ports free."""
    alive = [process for process in processes if process.is_alive()]
    for process in alive:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    deadline = time.monotonic() + _KILL_LIMIT_S
    while any(process.is_alive() for process in alive) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
