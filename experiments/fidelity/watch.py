"""Watching a testbed during a measurement: calibration before the load, samples during it, a certificate after it."""

import contextlib
import dataclasses
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

import congestion
from experiments.fidelity.certificate import certify
from experiments.fidelity.findings import Finding
from experiments.fidelity.goodput import judge_goodput
from experiments.fidelity.links import expected_drops
from flightpath.clock import Clock, clock_here, epoch_offset_s
from flightpath.errors import FlightpathError, MeasurementFailed
from probes.counters import links as link_counters
from probes.counters import tcp
from probes.counters.sampling import CounterLog, Sampler, WatchedLink
from results.records import Certificate, Measurement, Metric, Series, Verdict
from topologies.calibration import processor
from topologies.hosts import congestion_control
from topologies.links.emulated_link import EmulatedLink
from topologies.links.events import LinkEvent, schedule
from topologies.links.observing import EventObserver
from topologies.testbed.testbed import Testbed

LOAD_BEGAN = "load_began_ns"
"""Fact of a cell in virtual time: when its load began, from which events and series count, since its kernel's start."""

_RECORD_PERIOD_S, _RECORD_SHARE = 0.2, 0.1
"""Time until connections are looked for again, and the share of the time since the first look that it is later."""


class Watch:
    """A context manager around the load on a testbed.

    On entering it calibrates all links and paths, which must carry nothing else meanwhile. Inside it samples processor
    time and the bytes on every link once a second (`log`), and checks that all parts are alive. On leaving it raises an
    error if a part has ended, as the cause of any other error. After that it certifies.

        with Watch(testbed, congestion_control="cubic") as watch:
            ...  # the load; watch.check() raises as soon as a part has ended
            watch.record_congestion_control()
        return CellResult(cell, measurement, watch.certificate())

    Args:
        congestion_control: the algorithm for all connections; None if any may be used.
        links: a name for each link, for `log` and certificate; its interfaces by default.
        events: what `start_events` schedules.
        caused_events: what the load itself may do to links; also these explain drops.
        checks: each raises if a service or another part has ended.
        on_sampling: gets `log` when sampling begins.

    Raises:
        ValueError: `links` leaves out a link.
    """

    def __init__(
        self,
        testbed: Testbed,
        *,
        congestion_control: str | None = None,
        links: Mapping[str, EmulatedLink] | None = None,
        events: Sequence[LinkEvent] = (),
        caused_events: Sequence[LinkEvent] = (),
        checks: Sequence[Callable[[], None]] = (),
        on_sampling: Callable[[CounterLog], None] = lambda _log: None,
    ) -> None:
        self._testbed = testbed
        self._expected_congestion_control = congestion_control
        self._links = dict(links) if links is not None else {link.name: link for link in testbed.links}
        if unnamed := [link.name for link in testbed.links if link not in self._links.values()]:
            raise ValueError(f"links without a name: {', '.join(unnamed)}")
        self._events = events
        self._observer = EventObserver()
        self._expected_drops = expected_drops(self._links, [*events, *caused_events])
        self._checks = (testbed.check, *checks)
        self._on_sampling = on_sampling
        self._algorithms: dict[str, Counter[str]] = {}
        self._start_s, self._end_s = 0.0, float("inf")
        self._sampler = Sampler(self._read)
        self._summary: Mapping[str, Any] | None = None
        self._load_began_ns: int | None = None

    def __enter__(self) -> Self:
        self._epoch_offset_s = epoch_offset_s()
        self._facts = self._testbed.description()  # now, because events change the links' specifications
        names, measured = {link.name: name for name, link in self._links.items()}, self._testbed.calibrate()
        links = tuple(dataclasses.replace(link, link=names[link.link]) for link in measured.links)
        self._calibration = dataclasses.replace(measured, links=links)
        self._tcp_before = tcp.snapshot(self._testbed.net.hosts)
        self._before, self._since_s = link_counters.snapshot(self._links), time.monotonic()
        self._sampler.__enter__()
        self.log.links.update(
            {
                name: WatchedLink(link.name, (link.a_to_b.bandwidth_bps, link.b_to_a.bandwidth_bps))
                for name, link in self._links.items()
            }
        )
        self._on_sampling(self.log)
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._sampler.__exit__(kind, error, trace)
        self._observer.stop()
        if error is None:
            self.check()
            self._load_s = elapsed_s = time.monotonic() - self._since_s
            self._summary = link_counters.summary(self._before, link_counters.snapshot(self._links), elapsed_s)
            self._tcp_counters = {
                name: tcp.increases(self._tcp_before[name], of_host)
                for name, of_host in tcp.snapshot(self._testbed.net.hosts).items()
            }
        elif isinstance(error, Exception):
            self._raise_cause(error)

    @property
    def log(self) -> CounterLog:
        """Processor time and the bytes on each link (`NAME.a_to_b`, `NAME.b_to_a`), once a second."""
        return self._sampler.log

    @property
    def idle_cpu(self) -> Series:
        """Idle processor time per second of the load, in %."""
        return self._share("cpu_idle")

    @property
    def mean_idle_cpu(self) -> Metric:
        """The mean of `idle_cpu`; 0 if the load was too short for a sample."""
        idle = self.idle_cpu.values
        return Metric(statistics.fmean(idle) if idle else 0.0, "%")

    @property
    def algorithms(self) -> Mapping[str, Mapping[str, int]]:
        """Per host, how many connections used which congestion control when that was recorded last."""
        return self._algorithms

    def check(self) -> None:
        """Raises MeasurementFailed if a part of the testbed or of what is measured has ended."""
        self._sampler.check()
        for check in self._checks:
            check()

    def start_events(self, began_ns: int | None = None) -> None:
        """Schedules the events; their times count from `began_ns` on CLOCK_MONOTONIC, by default from now."""
        began_ns = time.monotonic_ns() if began_ns is None else began_ns
        self._load_began_ns = began_ns
        self._observer.follow(schedule(self._events, self._testbed.links, began_ns), began_ns)

    def record_congestion_control(self) -> None:
        """Records the algorithms of all connections that are open now."""
        self._algorithms = {host.name: congestion_control.in_use(host) for host in self._testbed.net.hosts}

    @contextlib.contextmanager
    def recording_congestion_control(self, host: str) -> Iterator[None]:
        """Records the algorithms as soon as a host has a connection, while the block waits for a probe."""
        ended = threading.Event()

        def record() -> None:
            pause_s, began = _RECORD_PERIOD_S, time.monotonic()
            while not self._algorithms.get(host) and not ended.wait(pause_s):
                self.record_congestion_control()
                pause_s = max(pause_s, (time.monotonic() - began) * _RECORD_SHARE)

        thread = threading.Thread(target=record, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def set_load_interval(self, start_s: float, end_s: float) -> None:
        """Restricts processor time to the load, which has ended; by default it is the block's. Both CLOCK_MONOTONIC."""
        self._start_s, self._end_s = start_s, end_s
        self._sampler.sample()

    def certificate(
        self,
        reasons_unusable: Sequence[str] = (),
        measured_time_ms: float = 0.0,
        *,
        measured: Measurement | None = None,
        goodput_limits_bps: Mapping[str, float] = {},
    ) -> Certificate:
        """Returns the certificate.

        Args:
            reasons_unusable: why the measurement is unusable whatever the testbed did.
            measured, goodput_limits_bps: see `judge_goodput`.
            measured_time_ms: the time that the experiment is about; see `Scenario.measured_time_ms`.

        Raises:
            ValueError: the block has not been left, or was left with an error.
        """
        if self._summary is None:
            raise ValueError("a certificate needs a load that was watched to its end")
        used, seen_s = {name for counts in self._algorithms.values() for name in counts}, self._observer.seen_s
        missing = [f"event {str(event)!r} did not happen" for event, at_s in seen_s.items() if at_s is None]
        return certify(
            facts={
                **self._facts,
                "load_s": self._load_s,
                **({LOAD_BEGAN: self._load_began_ns} if clock_here() is Clock.VIRTUAL else {}),
                "tcp_counters": self._tcp_counters,
                "congestion_control_origin": {name: congestion.origin(name) for name in sorted(used)},
                "events": [{"event": str(event), "happened_at_s": seen_s.get(event)} for event in self._events],
            },
            idle=self.idle_cpu,
            steal=self._share("cpu_steal"),
            links=self._summary,
            calibration=self._calibration,
            expected_drops=self._expected_drops,
            congestion_control=self._algorithms,
            expected_congestion_control=self._expected_congestion_control,
            epoch_offsets_s=(self._epoch_offset_s, *self.log.epoch_offsets_s),
            findings=[
                *(Finding(Verdict.UNUSABLE, reason) for reason in [*reasons_unusable, *missing]),
                *judge_goodput(measured or Measurement(), goodput_limits_bps, self._tcp_counters),
            ],
            measured_time_ms=measured_time_ms,
        )

    def _share(self, counter: str) -> Series:
        return self.log.processor_share(counter, start_s=self._start_s or self.log.times_s[0], end_s=self._end_s)

    def _read(self) -> Mapping[str, float]:
        for check in self._checks:
            check()
        return {**processor.read_counters(), **link_counters.read_counters(self._links)}

    def _raise_cause(self, error: Exception) -> None:
        """Raises the error of a part that has ended, because any other error follows from it."""
        try:
            self.check()
        except FlightpathError as cause:
            if str(cause) == str(error):
                return
            raise MeasurementFailed(str(cause), f"first noticed as: {error}") from error
