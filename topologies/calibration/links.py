"""Measures each link by itself before a run: without it a link that is not what it was told to be would go unseen.

A link is measured with test frames from one end to the other, both by the kernel's clock of this machine, so that no
host, switch or connection is between. Delay: small frames, paced so that none waits for another. Rate: a train of
full frames (super-frames where the link takes them, as a connection would send), fed so that some always wait. Of the
train only those frames count that waited behind another in the link: while none waits, the sender is measured.

What a machine does to a measurement is noise that passes, a wrong specification is none and stays; so what is off is
measured again, up to four times in all, and the best counts.
"""

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from flightpath.errors import MeasurementFailed
from flightpath.units import format_bandwidth
from topologies.calibration.records import JITTERS, LinkCalibration
from topologies.calibration.traffic import PROBE_BYTES, SHORT_QUEUE_S, LinkTraffic, OneWay
from topologies.calibration.trains import FAST_BPS, Train, line_rate, train_for
from topologies.links.changes import Direction
from topologies.links.emulated_link import EmulatedLink
from topologies.links.fields import Effect
from topologies.links.spec import LinkSpec

ATTEMPTS = 4
AGAIN_DELAY_MS, AGAIN_RATE_SHARE = 0.2, 0.005
"""What is off by more is measured again. Half of what `scenarios.fidelity` objects to."""

BUSY_LATENESS_MS = 1.0
"""If the link's own packets left so late meanwhile (99th percentile), the machine was measured, not the link."""

_PROBING_S, _PROBE_PAUSE_S, _PROBES_LEAST, _PROBES_MOST = 0.05, 0.0005, 10, 100
_JITTER_PROBING_S, _JITTER_PAUSE_MOST_S = 0.25, 0.05
_MEDIAN_ERRORS = 6.25
"""Five standard errors of a median (1.25 standard deviations over the square root of their number)."""
_WARM_UP_PROBES = 3
_RATE_UNCERTAINTY_MOST = 0.1
_CLOCK_STEP_NS = 100_000
_Found = TypeVar("_Found")


def calibrate(link: EmulatedLink) -> list[LinkCalibration]:
    """Both directions of a link, in less than 0.3 s and a few round trips if it is what it should be.

    Raises:
        MeasurementFailed: nothing passes, or the emulator has ended.
    """
    with LinkTraffic(link) as traffic:
        return _Bench(link, traffic).measure()


class _Bench:
    """The measurements of one link."""

    def __init__(self, link: EmulatedLink, traffic: LinkTraffic) -> None:
        self._link, self._traffic, self._ends = link, traffic, traffic.ways

    def measure(self) -> list[LinkCalibration]:
        # The first frame of a kind is slower: switches ask, timestamps are turned on.
        self._traffic.probe(_WARM_UP_PROBES, _PROBE_PAUSE_S)
        found = _best(self._delays, lambda found: max(map(_delay_excess_ms, found)), AGAIN_DELAY_MS)
        return [self._with_rate(end, each) for end, each in zip(self._ends, found, strict=True)]

    def _delays(self) -> list[LinkCalibration]:
        pause_s = max(_pause_s(end.spec) for end in self._ends)
        probing_s = _JITTER_PROBING_S if any(end.spec.jitter_s for end in self._ends) else _PROBING_S
        count = max(_PROBES_LEAST, min(_PROBES_MOST, round(probing_s / pause_s)))
        self._link.reset()
        measured = self._traffic.probe(count, pause_s)
        stats = self._link.stats()["directions"]
        return [
            self._delay(end, delays, pause_s, count, stats[end.way])
            for end, delays in zip(self._ends, measured, strict=True)
        ]

    def _delay(
        self, end: OneWay, delays_ms: list[float], pause_s: float, count: int, stats: dict[str, Any]
    ) -> LinkCalibration:
        spec = end.spec
        if not delays_ms and not _may_lose_all(spec, count):
            raise MeasurementFailed(f"link {self._link.name}: none of {count} packets passed from {_way(end.way)}")
        found = LinkCalibration(
            self._link.name,
            end.way,
            statistics.median(delays_ms) if delays_ms else None,
            _percentile(delays_ms, 0.99) if delays_ms else None,
            spec.delay_s * 1e3,
            delay_uncertainty_ms=_median_uncertainty_s(spec, pause_s, count) * 1e3,
            asked=str(spec),
            max_frame_bytes=stats["spec"].get("max_frame_bytes"),
            method=f"{count} frames of {PROBE_BYTES} bytes",
            not_judged=tuple(_not_judged(spec)),
        )
        if not delays_ms:
            return replace(found, unchecked=("delay: no packet passed, as this specification may bring about",))
        late_ms = _lateness_ms(stats, found)
        # Lateness makes no packet early, and of a median not more than most packets have.
        explained = late_ms > BUSY_LATENESS_MS and 0 < found.delay_error_ms <= found.delay_uncertainty_ms + late_ms
        if explained and _delay_excess_ms(found) > AGAIN_DELAY_MS:
            return replace(found, unchecked=(f"delay: {_too_busy(late_ms)}",))
        return found

    def _with_rate(self, end: OneWay, delay: LinkCalibration) -> LinkCalibration:
        rate_bps = end.spec.bandwidth_bps
        if rate_bps is None or delay.delay_ms is None:
            return delay
        train = train_for(end.spec, rate_bps, delay.max_frame_bytes)
        duration_s = train.seconds(rate_bps)
        uncertainty = JITTERS * end.spec.jitter_s / duration_s
        known = replace(
            delay, expected_rate_bps=float(rate_bps), rate_uncertainty=uncertainty, method=f"{delay.method}; {train}"
        )
        if uncertainty > _RATE_UNCERTAINTY_MOST:
            why = f"rate: jitter moves a transfer of {duration_s * 1e3:.0f} ms by up to {uncertainty:.0%}"
            return replace(known, not_judged=(*known.not_judged, why))
        found = _best(lambda: self._rate(end, train, known), _rate_excess, AGAIN_RATE_SHARE)
        if found.unchecked != known.unchecked and end.spec.queue_bytes * 8 / rate_bps < SHORT_QUEUE_S:
            why = f"rate: through a queue of {end.spec.queue} no transfer keeps this link busy"
            return replace(found, unchecked=known.unchecked, not_judged=(*known.not_judged, why))
        return found

    def _rate(self, end: OneWay, train: Train, known: LinkCalibration) -> LinkCalibration:
        self._link.reset()
        before = self._link.stats()["directions"][end.way]
        clock_ns = _clock_offset_ns()
        arrivals = self._traffic.run_train(end, train, known.expected_rate_bps)
        after = self._link.stats()["directions"][end.way]
        found = line_rate(arrivals, known.delay_ms * 1e6)
        late_ms = _lateness_ms(after, known)
        if found is None or abs(_clock_offset_ns() - clock_ns) > _CLOCK_STEP_NS:
            return _unchecked(known, "rate: the train did not arrive" if found is None else "rate: the clock was set")
        if _refused(after) > _refused(before) and end.spec.effect is Effect.LOSES:
            return _unchecked(known, "rate: packets were lost in the queue besides those lost by chance")
        if found.waited_bps is None:
            # However fast the sender was, a line cannot deliver faster than it is.
            if found.overall_bps > known.expected_rate_bps * (1 + AGAIN_RATE_SHARE):
                return replace(known, rate_bps=found.overall_bps)
            return _unchecked(known, "rate: the machine could not send fast enough to keep the link busy")
        measured = replace(known, rate_bps=found.waited_bps)
        if _rate_excess(measured) <= AGAIN_RATE_SHARE:
            return measured
        # A train that catches up looks faster, but by no more than it was late.
        faster_ms = measured.rate_error * train.seconds(known.expected_rate_bps) * 1e3
        if late_ms > BUSY_LATENESS_MS and faster_ms <= 2 * late_ms:
            return _unchecked(known, f"rate: {_too_busy(late_ms)}")
        if measured.rate_error < 0 and _is_fast_and_in_force(end.spec, after):
            passed = format_bandwidth(found.waited_bps)
            return _unchecked(known, f"rate: the machine carried only {passed} over a link that is set right")
        return measured


def _best(measure: Callable[[], _Found], error: Callable[[_Found], float], good: float) -> _Found:
    """The best of up to ATTEMPTS measurements, the first that is good enough."""
    best = measure()
    for _ in range(ATTEMPTS - 1):
        if error(best) <= good:
            break
        best = min(best, measure(), key=error)
    return best


def _not_judged(spec: LinkSpec) -> Iterator[str]:
    if spec.trace is not None:
        yield "rate: a trace has its rate on average over its whole length only"
        yield "delay: packets wait for the trace's next opportunity"
    elif spec.bandwidth_bps is None:
        yield "rate: not limited"


def _delay_excess_ms(found: LinkCalibration) -> float:
    """By how much a delay is off, beyond what the specification explains."""
    if any(why.startswith("delay") for why in found.not_judged):
        return 0.0
    error_ms = found.delay_error_ms
    return math.inf if error_ms is None else max(0.0, abs(error_ms) - found.delay_uncertainty_ms)


def _rate_excess(found: LinkCalibration) -> float:
    error = found.rate_error
    return math.inf if error is None else max(0.0, abs(error) - found.rate_uncertainty)


def _unchecked(known: LinkCalibration, why: str) -> LinkCalibration:
    return replace(known, unchecked=(*known.unchecked, why))


def _is_fast_and_in_force(spec: LinkSpec, stats: dict[str, Any]) -> bool:
    """Whether a link that passes too little needs more than this machine has, rather than another setting."""
    return spec.bandwidth_bps >= FAST_BPS and stats["spec"].get("rate_bps") == spec.bandwidth_bps


def _too_busy(late_ms: float) -> str:
    return f"the machine was busy: packets left the link up to {late_ms:.1f} ms late"


def _lateness_ms(stats: dict[str, Any], delay: LinkCalibration) -> float:
    """How late packets left; of an emulator that cannot tell, how late they came, unless jitter may have done that."""
    if stats.get("lateness_ns") is not None:
        return stats["lateness_ns"]["p99"] / 1e6
    return 0.0 if delay.delay_uncertainty_ms else delay.delay_p99_ms - delay.delay_ms


def _refused(stats: dict[str, Any]) -> int:
    return sum(stats["drops"].get(cause) or 0 for cause in ("queue", "aqm"))


def _may_lose_all(spec: LinkSpec, count: int) -> bool:
    return spec.trace is not None or spec.burst_loss is not None or spec.loss**count > 1e-6


def _pause_s(spec: LinkSpec) -> float:
    """Between probes: none waits for another on the line, nor is held up by its jitter."""
    return max(
        _PROBE_PAUSE_S, 2 * spec.serialisation_s(PROBE_BYTES), min(JITTERS * spec.jitter_s, _JITTER_PAUSE_MOST_S)
    )


def _median_uncertainty_s(spec: LinkSpec, pause_s: float, count: int) -> float:
    held_up = not spec.reordering and pause_s < JITTERS * spec.jitter_s
    return spec.jitter_s * (JITTERS if held_up else _MEDIAN_ERRORS / math.sqrt(count))


def _percentile(values: Sequence[float], share: float) -> float:
    """Of few values the highest."""
    return sorted(values)[min(len(values) - 1, math.ceil(share * len(values)) - 1)]


def _clock_offset_ns() -> int:
    return time.time_ns() - time.monotonic_ns()


def _way(direction: Direction) -> str:
    return direction.replace("_", " ")
