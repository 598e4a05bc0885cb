"""What every measurement needs around it, in one place, so that the next scenario cannot forget a part of it."""

import dataclasses
import statistics
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

import congestion
from flightpath.errors import FlightpathError, MeasurementFailed
from probes.counters import cpu
from probes.counters import links as link_counters
from probes.counters.sampling import CounterLog, Sampler
from results.records import Certificate, Metric, Series
from scenarios.fidelity.certificate import certify
from scenarios.fidelity.links import asked_drops
from topologies.calibration.records import Calibration
from topologies.hosts import congestion_control
from topologies.links.emulated_link import EmulatedLink
from topologies.links.events import LinkEvent
from topologies.testbed.testbed import Testbed


class Watch:
    """Watches a testbed while something is measured on it, as a context manager around the load.

    On entering it calibrates all links and paths, which must be quiet then. Inside it reads processor time and every
    link's bytes once a second (`log`), and looks whether all parts are alive. On leaving it fails if one was not: a
    part that died is the cause, whatever the load said of it. Afterwards it certifies.

        with Watch(testbed, congestion_control="cubic") as watch:
            ...  # the load; call watch.check() now and then to learn at once of what died
            watch.note_congestion_control()
        return CellResult(cell, measurement, watch.certificate())

    Args:
        testbed: started.
        congestion_control: that all connections should use; None if any will do.
        links: a name for each link, for `log` and certificate; by default its interfaces.
        events: what was asked to happen to links meanwhile.
        checks: what raises if a service or another part has ended.
        sampled: is handed `log` when it begins.
    """

    def __init__(
        self,
        testbed: Testbed,
        *,
        congestion_control: str | None = None,
        links: Mapping[str, EmulatedLink] | None = None,
        events: Sequence[LinkEvent] = (),
        checks: Sequence[Callable[[], None]] = (),
        sampled: Callable[[CounterLog], None] = lambda _log: None,
    ) -> None:
        self._testbed = testbed
        self._asked_congestion_control = congestion_control
        self._links = dict(links) if links is not None else {link.name: link for link in testbed.links}
        if unnamed := [link.name for link in testbed.links if link not in self._links.values()]:
            raise ValueError(f"links without a name would go unwatched: {', '.join(unnamed)}")
        self._asked_drops = asked_drops(self._links, events)
        self._checks = (testbed.check, *checks)
        self._sampled = sampled
        self._algorithms: dict[str, Counter[str]] = {}
        self._start_s, self._end_s = 0.0, float("inf")
        self._sampler = Sampler(self._read)
        self._calibration: Calibration
        self._found: Mapping[str, Any]
        self._before: Mapping[str, Any]
        self._summary: Mapping[str, Any] | None = None

    def __enter__(self) -> "Watch":
        # As it was asked for: events change the links' specifications.
        self._found = self._testbed.description()
        self._calibration = self._named(self._testbed.calibrate())
        self._before, self._since_s = link_counters.snapshot(self._links), time.monotonic()
        self._sampler.__enter__()
        self._sampled(self.log)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._sampler.__exit__(kind, error, trace)
        if error is None:
            self.check()
            elapsed_s = time.monotonic() - self._since_s
            self._summary = link_counters.summary(self._before, link_counters.snapshot(self._links), elapsed_s)
        elif isinstance(error, Exception):
            self._raise_cause(error)

    @property
    def log(self) -> CounterLog:
        """Processor time and each link's bytes (`NAME.a_to_b`, `NAME.b_to_a`), read once a second."""
        return self._sampler.log

    @property
    def links(self) -> Mapping[str, EmulatedLink]:
        """All links by name."""
        return self._links

    @property
    def idle_cpu(self) -> Series:
        """Idle processor time per second of the load, in %."""
        return cpu.share(self.log, "cpu_idle", start_s=self._start_s or self.log.times_s[0], end_s=self._end_s)

    @property
    def mean_idle_cpu(self) -> Metric:
        """The mean of `idle_cpu`; 0 if the load was too short for a value."""
        idle = self.idle_cpu.values
        return Metric(statistics.fmean(idle) if idle else 0.0, "%")

    @property
    def steal(self) -> Series:
        """Processor time per second of the load that the hypervisor took, in %."""
        return cpu.share(self.log, "cpu_steal", start_s=self._start_s or self.log.times_s[0], end_s=self._end_s)

    @property
    def algorithms(self) -> Mapping[str, Mapping[str, int]]:
        """Per host, how many connections used which congestion control when it was noted."""
        return self._algorithms

    def check(self) -> None:
        """Raises MeasurementFailed if a part of the testbed or of what is measured has ended."""
        self._sampler.check()
        for check in self._checks:
            check()

    def note_congestion_control(self) -> None:
        """Notes what the connections of all hosts use, once they are there."""
        self._algorithms = {host.name: congestion_control.in_use(host) for host in self._testbed.net.hosts}

    def load_was(self, start_s: float, end_s: float) -> None:
        """Narrows what is judged of the processor to the load itself; by default it is all of the time inside.

        Args:
            start_s, end_s: seconds since the epoch.
        """
        self._start_s, self._end_s = start_s, end_s

    def certificate(self) -> Certificate:
        """The verdict, with its facts; once the context has been left without an error."""
        if self._summary is None:
            raise ValueError("a certificate needs a load that was watched to its end")
        return certify(
            found={**self._found, "congestion_control_origin": self._origins()},
            idle=self.idle_cpu,
            steal=self.steal,
            links=self._summary,
            calibration=self._calibration,
            asked_drops=self._asked_drops,
            congestion_control=self._algorithms,
            asked_congestion_control=self._asked_congestion_control,
        )

    def _origins(self) -> dict[str, str | None]:
        """Per algorithm that connections used, whether it is the kernel's, a module's or a BPF program's."""
        used = {name for counts in self._algorithms.values() for name in counts}
        return {name: congestion.origin(name) for name in sorted(used)}

    def _read(self) -> Mapping[str, float]:
        for check in self._checks:
            check()
        return {**cpu.read_counters(), **link_counters.read_counters(self._links)}

    def _named(self, calibration: Calibration) -> Calibration:
        names = {link.name: name for name, link in self._links.items()}
        links = tuple(dataclasses.replace(found, link=names[found.link]) for found in calibration.links)
        return dataclasses.replace(calibration, links=links)

    def _raise_cause(self, error: Exception) -> None:
        """If a part has died, that is the error; what the load said of it comes second."""
        try:
            self.check()
        except FlightpathError as cause:
            if str(cause) == str(error):
                return
            raise MeasurementFailed(str(cause), f"seen first: {error}") from error
