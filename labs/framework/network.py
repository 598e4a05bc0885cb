"""Networks in which students' work is tried, with the certificate of each measurement."""

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
    """A running network and its measurements.

    Attributes:
        certificate: fidelity certificate; None until the block of `trial` has ended.
    """

    testbed: Testbed
    watch: fidelity.Watch
    certificate: Certificate | None = None
    series: dict[str, Series] = field(default_factory=dict)

    def measured(self, values: Mapping[str, float]) -> Measured:
        """Returns the result of the experiment, with its certificate; called after the block of `trial`."""
        assert self.certificate is not None, "the network is certified when the block of `trial` ends"
        return Measured(values, self.certificate.verdict, self.certificate.reasons, self.series)


@contextmanager
def trial(topology: Topo, *, events: Sequence[LinkEvent] = ()) -> Iterator[Trial]:
    """Starts a network, watches it, and certifies it when the block ends.

    The times of the events count from the beginning of the block.
    """
    with Testbed(topology) as testbed:
        watch = fidelity.Watch(testbed, events=events)
        with watch:
            watch.start_events()
            network = Trial(testbed, watch)
            yield network
        network.certificate = watch.certificate()
