"""Channels to the process of a network, which runs on this machine or in a virtual-time kernel.

In a guest, the channel is its shared folder: messages are files `call-N` and `answer-N`. After each answer the guest
stops its clock, and with it itself, until the next call.
"""

import contextlib
import os
import pickle
import socket
import subprocess
import tempfile
from abc import ABC, abstractmethod
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from execution.guests.guest import POLL_S
from execution.uml import kernel
from execution.uml.clock_controller import HOLD
from execution.uml.uml import UserModeLinux
from flightpath.commands import how_ended
from flightpath.errors import MeasurementFailed
from flightpath.launcher import ensure_home, python_module
from flightpath.overrides import override

_MODULE = "python_api.network_process"
_ENDING_LIMIT_S = 15.0
_FOR_TERMINALS = ("FORCE_COLOR", "CLICOLOR_FORCE")
"""Variables with which a notebook's kernel requests terminal output: a progress bar would become many lines."""


def environment() -> dict[str, str]:
    """Returns the environment of our processes that a user's own process starts, such as the kernel of a notebook."""
    return {name: value for name, value in os.environ.items() if name not in _FOR_TERMINALS}


class Channel(ABC):
    """A channel to the process of a network.

    Attributes:
        pid: the process; whatever kills it ends the network.
    """

    pid: int

    @abstractmethod
    def send(self, message: object) -> None:
        """Sends a message that pickle can take; raises OSError if the process has ended."""

    @abstractmethod
    def receive(self) -> Any:
        """Waits for an answer; raises EOFError or OSError if the process has ended."""

    @abstractmethod
    def why_ended(self) -> str:
        """Waits for the end of the process, and returns how it ended, with the end of its output."""

    @abstractmethod
    def close(self) -> None:
        """Ends the process, and all of the network with it."""


class ProcessChannel(Channel):
    """A process of this machine, at the other end of a pair of sockets."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        with theirs:
            self._process = subprocess.Popen(
                python_module(_MODULE, str(theirs.fileno())),
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                env=environment(),
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self.pid, self._connection = self._process.pid, Connection(ours.detach())

    @override
    def send(self, message: object) -> None:
        self._connection.send(message)

    @override
    def receive(self) -> Any:
        return self._connection.recv()

    @override
    def why_ended(self) -> str:
        self._await_end()
        self._log.seek(0)
        log = self._log.read().decode(errors="replace").strip()[-2000:]
        return f"{how_ended(self._process.returncode)}: {log or 'it printed nothing'}"

    @override
    def close(self) -> None:
        self._connection.close()
        self._await_end()
        self._log.close()

    def _await_end(self) -> None:
        try:
            self._process.wait(_ENDING_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class GuestChannel(Channel):
    """A process in a virtual-time kernel, whose clock stands still between an answer and the next call.

    Args:
        seed: seed of all random numbers.
    """

    def __init__(self, seed: int) -> None:
        ensure_home()
        self._guest = UserModeLinux(kernel.find(), seed=seed, holds=True).guest(python_module(_MODULE, "-"))
        self._calls, self._problem, self._ending = 0, "", contextlib.ExitStack()

    @override
    def send(self, message: object) -> None:
        write_message(self._guest.shared / f"call-{self._calls}", message)
        if self._calls:
            self._guest.clock.release()
        else:
            self._ending.enter_context(self._guest)
            self.pid = self._guest.pid
        self._calls += 1

    @override
    def receive(self) -> Any:
        while not self._guest.clock.is_held.wait(POLL_S):
            try:
                if self._guest.exit_code() is not None:
                    break
            except MeasurementFailed as error:
                self._problem = str(error)
                raise EOFError from error
        return read_message(self._guest.shared / f"answer-{self._calls - 1}")

    @override
    def why_ended(self) -> str:
        return f"has ended: {self._problem or self._guest.console()}"

    @override
    def close(self) -> None:
        self._ending.close()


class HostChannel:
    """The far side of a GuestChannel, in the guest.

    Args:
        folder: the shared folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._calls = folder, 0

    def recv(self) -> Any:
        """Returns the next call, which is there: the clock stood still until it came."""
        message = read_message(self._folder / f"call-{self._calls}")
        self._calls += 1
        return message

    def send(self, message: object) -> None:
        """Sends an answer, and stops the clock until the next call."""
        write_message(self._folder / f"answer-{self._calls - 1}", message)
        HOLD.write_text("1")


def write_message(file: Path, message: object) -> None:
    """Writes a message so that it is whole as soon as it is there."""
    part = file.with_suffix(".part")
    part.write_bytes(pickle.dumps(message))
    part.rename(file)


def read_message(file: Path) -> Any:
    """Reads a message; raises FileNotFoundError, an OSError, if there is none."""
    return pickle.loads(file.read_bytes())
