"""The shape of a probe: a frozen specification with a method `run`."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Protocol

from flightpath.hosts import Host
from results.records import Measurement


class Observation(Protocol):
    """What a probe saw in detail, for users who need more than its metrics."""

    @abstractmethod
    def measurement(self) -> Measurement:
        """Returns the metrics and series."""


class Probe(Protocol):
    """A measurement from a host to an address.

    A probe is a frozen dataclass: its fields say what to do, and are checked when it is made. A class that inherits
    from this one is found by the tests, which check its shape.
    """

    @abstractmethod
    def run(self, host: Host, address: str, *, watch: Callable[..., None] = ...) -> Measurement | Observation:
        """Measures.

        Args:
            host, address: where the probe runs, and what it connects to.
            watch: called a few times a second; what it raises ends the measurement. Some probes pass their progress.

        Raises:
            MeasurementFailed: it failed, or took too long; with the last words of the program behind the probe.
        """
