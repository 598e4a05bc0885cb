"""The shape of a probe: a frozen specification with a method `run`."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Protocol

from flightpath.hosts import Host
from results.records import Measurement


class Observation(Protocol):
    """Detailed result of a probe, for users who need more than its metrics."""

    @abstractmethod
    def measurement(self) -> Measurement:
        """Returns the metrics and series."""


class Probe(Protocol):
    """A measurement from a host to an address.

    A probe is a frozen dataclass: its fields say what to do, and are checked when it is made. Tests find the
    classes that inherit from this one, and check their shape.
    """

    @abstractmethod
    def run(self, host: Host, address: str, *, watch: Callable[..., None] = ...) -> Measurement | Observation:
        """Runs the measurement.

        Args:
            host, address: host in which the probe runs, and address to which it connects.
            watch: callback a few times a second, some probes pass their progress; an exception ends the measurement.

        Raises:
            MeasurementFailed: it failed, or took too long; with the last words of the program behind the probe.
        """
