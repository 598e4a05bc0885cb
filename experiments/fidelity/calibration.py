"""Judges what the links and paths measured before the load against their specifications.

Thresholds:

- Rate of a link. A link keeps its rate within 0.5 %, and the calibration is exact to about 0.1 %, so 1 % is not noise.
  3 % is more than the confidence interval of a throughput is wide: it is another link.
- Delay of a link, one way. On an idle machine a packet leaves within 0.1 ms of its time, and the calibration takes a
  median, so 0.3 ms is not noise. 1 ms in each direction is a round trip that could have been specified.
- 99th percentile of the delay. Without load nothing waits. If it is 5 ms above the specified delay, the machine stops
  for milliseconds at a time, which will affect what is measured.
- Round trip of a path. Switches and the stacks of two hosts add less than 1 ms on an idle machine. The limit is 1 ms,
  or 5 % of a long path, or 5 % of the time that the experiment is about: 1 ms matters to a page that takes 9 ms, and
  not to one that takes 300. It may be shorter by the noise of a delay.
- Jitter is allowed on top of these. What a specification leaves open (the rate of a trace) is not judged. What the
  machine was too slow to check may be right or wrong, so it degrades the cell but does not make it unusable.
"""

from collections.abc import Iterator, Sequence

from experiments.fidelity.findings import Fault, Finding, direction_name, summarise
from flightpath.units import format_bandwidth
from results.records import Verdict
from topologies.calibration.records import (
    DELAY_NOISE_MS,
    RATE_NOISE_SHARE,
    Calibration,
    LinkCalibration,
    PathCalibration,
)

RATE_DEGRADED_SHARE, RATE_UNUSABLE_SHARE = RATE_NOISE_SHARE, 0.03
DELAY_DEGRADED_MS, DELAY_UNUSABLE_MS = DELAY_NOISE_MS, 1.0
DELAY_P99_DEGRADED_MS = 5.0
RTT_EXCESS_MS = 1.0
RTT_EXCESS_SHARE = 0.05


def judge_calibration(calibration: Calibration, measured_time_ms: float = 0.0) -> list[Finding]:
    """Findings on all links and paths before the load; `measured_time_ms` is the time that the experiment is about."""
    return [*judge_links_before(calibration.links), *summarise(_path_faults(calibration.paths, measured_time_ms))]


def judge_links_before(links: Sequence[LinkCalibration]) -> list[Finding]:
    """Findings on each direction of each link."""
    if not links:
        return [Finding(Verdict.DEGRADED, "the links were not calibrated before the load")]
    return summarise(fault for link in links for fault in _faults(link))


def _faults(link: LinkCalibration) -> Iterator[Fault]:
    name = direction_name(link.link, link.direction)
    excluded = {why.partition(":")[0] for why in (*link.not_judged, *link.unchecked)}
    if link.rate_error is not None and "rate" not in excluded:
        assert link.rate_bps is not None and link.expected_rate_bps is not None, "an error is of both"
        off = abs(link.rate_error) - link.rate_uncertainty
        if verdict := _verdict(off, RATE_DEGRADED_SHARE, RATE_UNUSABLE_SHARE):
            rate, expected = format_bandwidth(link.rate_bps), format_bandwidth(link.expected_rate_bps)
            yield Fault("rate", verdict, name, f"rate {rate} instead of {expected} before the load", off)
    if link.delay_error_ms is not None and "delay" not in excluded:
        assert link.delay_p99_ms is not None, "delays were measured"
        off = abs(link.delay_error_ms) - link.delay_uncertainty_ms
        p99_limit_ms = link.expected_delay_ms + link.delay_uncertainty_ms + DELAY_P99_DEGRADED_MS
        if verdict := _verdict(off, DELAY_DEGRADED_MS, DELAY_UNUSABLE_MS):
            delays = f"{link.delay_ms:.2f} ms instead of {link.expected_delay_ms:.2f} ms"
            yield Fault("delay", verdict, name, f"delay {delays} before the load", off)
        elif link.delay_p99_ms > p99_limit_ms:
            delays = f"{link.delay_p99_ms:.1f} ms at the 99th percentile (limit {p99_limit_ms:.1f} ms)"
            yield Fault("delay p99", Verdict.DEGRADED, name, f"delay {delays} before the load", link.delay_p99_ms)
    for why in link.unchecked:
        yield Fault("unchecked", Verdict.DEGRADED, name, f"not checked before the load ({why})")


def _verdict(off: float, degraded: float, unusable: float) -> Verdict | None:
    return Verdict.UNUSABLE if off > unusable else Verdict.DEGRADED if off > degraded else None


def _path_faults(paths: Sequence[PathCalibration], measured_time_ms: float) -> Iterator[Fault]:
    for path in paths:
        allowed_ms = max(RTT_EXCESS_MS, RTT_EXCESS_SHARE * max(path.expected_rtt_ms, measured_time_ms))
        excess_ms, uncertain_ms = path.rtt_ms - path.expected_rtt_ms, path.rtt_uncertainty_ms
        if path.is_judged and not -DELAY_NOISE_MS - uncertain_ms <= excess_ms <= allowed_ms + uncertain_ms:
            name = f"path {path.source}-{path.target} (interface {path.port})"
            rtts = f"{path.rtt_ms:.2f} ms instead of {path.expected_rtt_ms:.2f} ms"
            yield Fault("path", Verdict.DEGRADED, name, f"round trip {rtts} before the load", abs(excess_ms))
