"""The process of a network, from its user's side: start, calls, end."""

import contextlib
import socket
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from flightpath.commands import how_ended
from flightpath.errors import FlightpathError, MeasurementFailed, UsageError
from flightpath.launcher import python_module
from python_api.calls import STOP, Answer, Call, Setup
from python_api.processes import environment

_ENDING_LIMIT_S = 15.0


class NetworkProcess:
    """A process that has started a network and answers calls: `python_api.network_process`.

    Calls of several threads wait for each other. Ctrl-C during a call ends the process: its answer would come later.

    Attributes:
        addresses: addresses of each host, without their prefix lengths.
        is_running: whether it answers calls.

    Raises:
        FlightpathError: the network cannot be started, for the reason that the error says.
    """

    def __init__(self, setup: Setup) -> None:
        ours, theirs = socket.socketpair()
        self._lock = threading.Lock()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        with theirs:
            self._process = subprocess.Popen(
                python_module("python_api.network_process", str(theirs.fileno())),
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                env=environment(),
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._connection = Connection(ours.detach())
        self.is_running = True
        self.addresses: Mapping[str, Sequence[str]] = self._answer_to(setup)

    @property
    def pid(self) -> int:
        """PID of the process."""
        return self._process.pid

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Calls a method of `python_api.served.ServedNetwork`, and returns its result or raises its error.

        Raises:
            MeasurementFailed: the process has ended; with the end of its output.
        """
        with self._lock:
            return self._answer_to(Call(name, arguments), fatal=(KeyboardInterrupt,))

    def stop(self) -> None:
        """Ends the network, and then the process; without its help if that takes long."""
        with contextlib.suppress(FlightpathError):
            self.call(STOP, {})
        self._end()

    def _answer_to(
        self, message: Setup | Call, fatal: tuple[type[BaseException], ...] = (KeyboardInterrupt, Exception)
    ) -> Any:
        """Sends a message and returns the answer; ends the process at fatal errors."""
        try:
            self._send(message)
            answer: Answer = self._connection.recv()
            if answer.error is not None:
                raise answer.error
            return answer.value
        except (EOFError, OSError):
            self._raise_ended()
        except fatal:
            self._end()
            raise

    def _send(self, message: Setup | Call) -> None:
        try:
            self._connection.send(message)
        except OSError:
            raise
        except Exception as error:  # pickle says so in several ways
            raise UsageError(f"the network has parts that cannot be sent to another process: {error}") from error

    def _raise_ended(self) -> NoReturn:
        if not self.is_running:  # another thread was interrupted
            raise MeasurementFailed("the network has ended during the call")
        self._await_end()
        self._log.seek(0)
        log = self._log.read().decode(errors="replace").strip()[-2000:]
        how = how_ended(self._process.returncode)
        self._end()
        raise MeasurementFailed(f"the network's process {how}: {log or 'it printed nothing'}")

    def _end(self) -> None:
        """Closes the connection, by which the process ends and all of the network with it."""
        if not self.is_running:
            return
        self.is_running = False
        self._connection.close()
        self._await_end()
        self._log.close()

    def _await_end(self) -> None:
        try:
            self._process.wait(_ENDING_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
