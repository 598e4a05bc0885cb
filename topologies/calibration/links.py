"""Calibration of links before a run: each direction's delay and rate, measured without hosts, switches and connections.

Test frames go from one end of a link to the other, and this machine's clock times both ends. Delay: small frames, with
pauses so that none queues behind another. Rate: a train of full frames (GSO packets if the link accepts them, as of a
connection), sent so that the link's queue is never empty. Only frames that queued behind another one count, because
otherwise the sender is measured.

Noise of the machine is temporary, a wrong specification is not. So a deviation is measured again, up to four times in
total, and the best measurement counts.
"""

import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from flightpath.errors import MeasurementFailed
from flightpath.units import format_bandwidth
from topologies.calibration.frame_socket import FrameSocket
from topologies.calibration.records import JITTERS, LinkCalibration
from topologies.calibration.traffic import PROBE_BYTES, SHORT_QUEUE_S, LinkTraffic, OneWay
from topologies.calibration.trains import FAST_BPS, Train, line_rate, train_for
from topologies.links.emulated_link import EmulatedLink
from topologies.links.fields import Effect
from topologies.links.spec import LinkSpec

ATTEMPTS = 4
AGAIN_DELAY_MS, AGAIN_RATE_SHARE = 0.2, 0.005
"""Errors above which a measurement is repeated: half of the limits of `experiments.fidelity`."""

BUSY_LATENESS_MS = 1.0
"""Lateness of the link's packets (99th percentile) above which the machine was measured, not the link."""

_PROBING_S, _PROBE_PAUSE_S, _MIN_PROBES, _MAX_PROBES = 0.05, 0.0005, 10, 100
_JITTER_PROBING_S, _MAX_JITTER_PAUSE_S = 0.25, 0.05
_MEDIAN_ERRORS = 6.25
"""Five standard errors of a median (1.25 standard deviations over the square root of the number of samples)."""

_WARM_UP_PROBES = 3
_MAX_RATE_UNCERTAINTY = 0.1
_CLOCK_STEP_NS = 100_000
_Result = TypeVar("_Result")


def calibrate(link: EmulatedLink) -> list[LinkCalibration]:
    """Measures both directions of a link; takes less than 0.3 s and a few round trips if they are right."""
    with FrameSocket(link.intf1) as a, FrameSocket(link.intf2) as b:
        return _LinkMeasurement(link, LinkTraffic(link, a, b)).measure()


class _LinkMeasurement:
    def __init__(self, link: EmulatedLink, traffic: LinkTraffic) -> None:
        self._link, self._traffic, self._ways = link, traffic, traffic.ways

    def measure(self) -> list[LinkCalibration]:
        # The first frame of a kind is slow: switches ask their controller, and the kernel turns timestamps on.
        self._traffic.probe(_WARM_UP_PROBES, _PROBE_PAUSE_S)
        delays = _best(self._delays, lambda delays: max(map(_delay_excess_ms, delays)), AGAIN_DELAY_MS)
        return [self._with_rate(way, delay) for way, delay in zip(self._ways, delays, strict=True)]

    def _delays(self) -> list[LinkCalibration]:
        pause_s = max(_pause_s(way.spec) for way in self._ways)
        probing_s = _JITTER_PROBING_S if any(way.spec.jitter_s for way in self._ways) else _PROBING_S
        count = max(_MIN_PROBES, min(_MAX_PROBES, round(probing_s / pause_s)))
        self._link.reset()
        delays_ms, stats = self._traffic.probe(count, pause_s), self._link.stats()["directions"]
        return [self._delay(way, delays_ms[way.direction], stats[way.direction], pause_s, count) for way in self._ways]

    def _delay(
        self, way: OneWay, delays_ms: list[float], stats: dict[str, Any], pause_s: float, count: int
    ) -> LinkCalibration:
        spec = way.spec
        may_lose_all = spec.trace is not None or spec.burst_loss is not None or spec.loss**count > 1e-6
        if not delays_ms and not may_lose_all:
            direction = way.direction.replace("_", " ")
            raise MeasurementFailed(f"link {self._link.name}: none of {count} packets passed from {direction}")
        delay = LinkCalibration(
            self._link.name,
            way.direction,
            delay_ms=None,
            delay_p99_ms=None,
            expected_delay_ms=spec.delay_s * 1e3,
            delay_uncertainty_ms=_median_uncertainty_s(spec, pause_s, count) * 1e3,
            asked=str(spec),
            max_frame_bytes=stats["spec"].get("max_frame_bytes"),
            method=f"{count} frames of {PROBE_BYTES} bytes",
            not_judged=tuple(_not_judged(spec)),
        )
        if not delays_ms:
            return _unchecked(delay, "delay: no packet passed, which this specification makes possible")
        median_ms, p99_ms = statistics.median(delays_ms), sorted(delays_ms)[math.ceil(0.99 * len(delays_ms)) - 1]
        delay = replace(delay, delay_ms=median_ms, delay_p99_ms=p99_ms)
        late_ms, error_ms = _lateness_ms(stats, delay), median_ms - delay.expected_delay_ms
        # Lateness makes no packet early, and shifts the median by no more than its 99th percentile.
        is_explained = late_ms > BUSY_LATENESS_MS and 0 < error_ms <= delay.delay_uncertainty_ms + late_ms
        if is_explained and _delay_excess_ms(delay) > AGAIN_DELAY_MS:
            return _unchecked(delay, f"delay: {_too_busy(late_ms)}")
        return delay

    def _with_rate(self, way: OneWay, delay: LinkCalibration) -> LinkCalibration:
        rate_bps = way.spec.bandwidth_bps
        if rate_bps is None or delay.delay_ms is None:
            return delay
        train = train_for(way.spec, rate_bps, delay.max_frame_bytes)
        duration_s = train.seconds(rate_bps)
        uncertainty = JITTERS * way.spec.jitter_s / duration_s
        expected = replace(
            delay, expected_rate_bps=float(rate_bps), rate_uncertainty=uncertainty, method=f"{delay.method}; {train}"
        )
        if uncertainty > _MAX_RATE_UNCERTAINTY:
            reason = f"rate: jitter moves a transfer of {duration_s * 1e3:.0f} ms by up to {uncertainty:.0%}"
            return replace(expected, not_judged=(*expected.not_judged, reason))
        small_frame_ns = delay.delay_ms * 1e6
        rate = _best(lambda: self._rate(way, train, expected, rate_bps, small_frame_ns), _rate_excess, AGAIN_RATE_SHARE)
        if rate.unchecked != expected.unchecked and way.spec.queue_bytes * 8 / rate_bps < SHORT_QUEUE_S:
            reason = f"rate: through a queue of {way.spec.queue} no transfer keeps this link busy"
            return replace(rate, unchecked=expected.unchecked, not_judged=(*expected.not_judged, reason))
        return rate

    def _rate(
        self, way: OneWay, train: Train, expected: LinkCalibration, rate_bps: float, small_frame_ns: float
    ) -> LinkCalibration:
        self._link.reset()
        before, clock_ns = self._stats(way), _clock_offset_ns()
        arrivals = self._traffic.run_train(way, train, rate_bps)
        after = self._stats(way)
        line = line_rate(arrivals, small_frame_ns)
        if line is None:
            return _unchecked(expected, "rate: the train did not arrive")
        if abs(_clock_offset_ns() - clock_ns) > _CLOCK_STEP_NS:
            return _unchecked(expected, "rate: the clock was set")
        if _queue_drops(after) > _queue_drops(before) and way.spec.effect is Effect.LOSES:
            return _unchecked(expected, "rate: packets were lost in the queue besides those lost by chance")
        if line.waited_bps is None:
            # A link cannot deliver faster than its rate, whatever the sender does.
            if line.overall_bps > rate_bps * (1 + AGAIN_RATE_SHARE):
                return replace(expected, rate_bps=line.overall_bps)
            return _unchecked(expected, "rate: the machine could not send fast enough to keep the link busy")
        rate, late_ms = replace(expected, rate_bps=line.waited_bps), _lateness_ms(after, expected)
        if _rate_excess(rate) <= AGAIN_RATE_SHARE:
            return rate
        # A train that catches up appears faster, but by no more than its lateness.
        error = line.waited_bps / rate_bps - 1
        faster_ms = error * train.seconds(rate_bps) * 1e3
        if late_ms > BUSY_LATENESS_MS and faster_ms <= 2 * late_ms:
            return _unchecked(expected, f"rate: {_too_busy(late_ms)}")
        # If a fast link is set to this rate but passes less, the machine is the limit, not the setting.
        is_in_force = rate_bps >= FAST_BPS and after["spec"].get("rate_bps") == rate_bps
        if error < 0 and is_in_force:
            passed = format_bandwidth(line.waited_bps)
            return _unchecked(expected, f"rate: the machine carried only {passed} over a link that is set right")
        return rate

    def _stats(self, way: OneWay) -> dict[str, Any]:
        return self._link.stats()["directions"][way.direction]


def _best(measure: Callable[[], _Result], error: Callable[[_Result], float], good: float) -> _Result:
    """Measures up to ATTEMPTS times, until the error is small enough; returns the best measurement."""
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


def _delay_excess_ms(measured: LinkCalibration) -> float:
    """Returns the error of the delay beyond its uncertainty."""
    if any(reason.startswith("delay") for reason in measured.not_judged):
        return 0.0
    error_ms = measured.delay_error_ms
    return math.inf if error_ms is None else max(0.0, abs(error_ms) - measured.delay_uncertainty_ms)


def _rate_excess(measured: LinkCalibration) -> float:
    error = measured.rate_error
    return math.inf if error is None else max(0.0, abs(error) - measured.rate_uncertainty)


def _unchecked(measured: LinkCalibration, reason: str) -> LinkCalibration:
    return replace(measured, unchecked=(*measured.unchecked, reason))


def _too_busy(late_ms: float) -> str:
    return f"the machine was busy: packets left the link up to {late_ms:.1f} ms late"


def _lateness_ms(stats: dict[str, Any], measured: LinkCalibration) -> float:
    """Returns how late packets left, or arrived if the emulator does not know it and jitter does not explain it."""
    if stats.get("lateness_ns") is not None:
        return stats["lateness_ns"]["p99"] / 1e6
    if measured.delay_uncertainty_ms or measured.delay_ms is None or measured.delay_p99_ms is None:
        return 0.0
    return measured.delay_p99_ms - measured.delay_ms


def _queue_drops(stats: dict[str, Any]) -> int:
    return sum(stats["drops"].get(cause) or 0 for cause in ("queue", "aqm"))


def _pause_s(spec: LinkSpec) -> float:
    """Returns the time between probes so that none queues behind another, or waits for its jitter."""
    jitter_s = min(JITTERS * spec.jitter_s, _MAX_JITTER_PAUSE_S)
    return max(_PROBE_PAUSE_S, 2 * spec.serialisation_s(PROBE_BYTES), jitter_s)


def _median_uncertainty_s(spec: LinkSpec, pause_s: float, count: int) -> float:
    is_held_up = not spec.reordering and pause_s < JITTERS * spec.jitter_s
    return spec.jitter_s * (JITTERS if is_held_up else _MEDIAN_ERRORS / math.sqrt(count))


def _clock_offset_ns() -> int:
    return time.time_ns() - time.monotonic_ns()
