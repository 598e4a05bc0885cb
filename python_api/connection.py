"""The process of a network, from its user's side (start, calls, end), and the messages that both sides send."""

import contextlib
import threading
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from flightpath.errors import FlightpathError, MeasurementFailed, UsageError
from python_api.channels import Channel

if TYPE_CHECKING:
    from mininet.topo import Topo

STOP = "stop"
"""Name of the call that ends the network."""


@dataclass(frozen=True)
class Setup:
    """The first message: the network to start; see `topologies.testbed.testbed.Testbed` for the fields."""

    topology: "Topo"
    emulator: str
    datapath: str
    policy: str | None


@dataclass(frozen=True)
class Call:
    """A call of a method of `python_api.served.ServedNetwork`."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """Result of a call, or the error that it raised."""

    value: Any = None
    error: FlightpathError | None = None

    @classmethod
    def failed(cls, error: Exception) -> "Answer":
        """Returns the answer for an error; an internal error includes its traceback."""
        if isinstance(error, FlightpathError):
            return cls(error=error)
        return cls(error=FlightpathError(f"internal error: {''.join(traceback.format_exception(error)).strip()}"))


class NetworkProcess:
    """A process that has started a network and answers calls: `python_api.network_process`.

    Calls of several threads wait for each other. Ctrl-C during a call ends the process: its answer would come later.

    Args:
        setup: the network.
        channel: the process.

    Attributes:
        addresses: addresses of each host, without their prefix lengths.
        is_running: whether it answers calls.

    Raises:
        FlightpathError: the network cannot be started, for the reason that the error says.
    """

    def __init__(self, setup: Setup, channel: Channel) -> None:
        self._lock, self._channel, self.is_running = threading.Lock(), channel, True
        self.addresses: Mapping[str, Sequence[str]] = self._answer_to(setup)

    @property
    def pid(self) -> int:
        """PID of the process."""
        return self._channel.pid

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
            answer: Answer = self._channel.receive()
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
            self._channel.send(message)
        except OSError:
            raise
        except Exception as error:  # pickle says so in several ways
            raise UsageError(f"the network has parts that cannot be sent to another process: {error}") from error

    def _raise_ended(self) -> NoReturn:
        if not self.is_running:  # another thread was interrupted
            raise MeasurementFailed("the network has ended during the call")
        why = self._channel.why_ended()
        self._end()
        raise MeasurementFailed(f"the network's process {why}")

    def _end(self) -> None:
        if self.is_running:
            self.is_running = False
            self._channel.close()
