"""Networks in which students' work is tried, with the certificate of each measurement."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from mininet.topo import Topo

from experiments import fidelity
from labs.framework.lab import Measured
from results.recording.blocks import append_description
from results.records import Certificate, Series
from topologies.capture.recorder import Recorder
from topologies.links.events import LinkEvent
from topologies.testbed.testbed import Testbed

RECORDING: ContextVar[Path | None] = ContextVar("RECORDING", default=None)
"""File into which `trial` records the packets; None: it records nothing."""

_MAX_RECORDED_BYTES = 50_000_000
"""Size of a recording, of more packets than a page shows."""


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
        with watch, _recording(testbed):
            watch.start_events()
            network = Trial(testbed, watch)
            yield network
        network.certificate = watch.certificate()


@contextmanager
def _recording(testbed: Testbed) -> Iterator[None]:
    """Records the packets, if `RECORDING` names a file; what is there after an error can be read, too."""
    if (file := RECORDING.get()) is None:
        yield
        return
    recorder = Recorder(testbed.net, file, _MAX_RECORDED_BYTES)
    try:
        with recorder:
            yield
    finally:
        if recorder.description:
            append_description(file, recorder.description)
