"""Networks in which students' work is tried, with the certificate of what was measured."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from mininet.topo import Topo

from experiments import fidelity
from labs.framework.lab import Measured
from results.records import Certificate, Series
from topologies.links.events import LinkEvent
from topologies.testbed.testbed import Testbed


@dataclass
class Trial:
    """A network that was started, and what is measured in it.

    Attributes:
        certificate: known when the block of `trial` has ended.
    """

    testbed: Testbed
    watch: fidelity.Watch
    certificate: Certificate | None = None
    series: dict[str, Series] = field(default_factory=dict)

    def measured(self, values: Mapping[str, float]) -> Measured:
        """The result of the experiment, with its certificate."""
        return Measured(values, self.certificate.verdict, self.certificate.reasons, self.series)


@contextmanager
def trial(topology: Topo, *, events: Sequence[LinkEvent] = (), **options: object) -> Iterator[Trial]:
    """Starts a network, watches it, and certifies it when the block ends; `options` are those of Testbed.

    The times of the events count from the beginning of the block.

    Raises:
        FlightpathError: the network cannot be started, or a part of it has ended.
    """
    with Testbed(topology, **options) as testbed:
        watch = fidelity.Watch(testbed, events=events)
        with watch:
            watch.start_events()
            found = Trial(testbed, watch)
            yield found
        found.certificate = watch.certificate()
