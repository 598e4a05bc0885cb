"""Messages between a Network and its process: calls, answers and errors, over a pair of sockets."""

import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flightpath.errors import FlightpathError

if TYPE_CHECKING:
    from mininet.topo import Topo


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


STOP = "stop"
"""Name of the call that ends the network."""
