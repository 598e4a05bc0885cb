"""Judges the links as they were found before the load: without it a link with a wrong setting would make a figure.

Thresholds, and why:

- Rate of a link. A link is built to keep its rate within 0.5 %, and the calibration itself is exact to about 0.1 %; so
  1 % is not noise. 3 % is more than the confidence interval of a throughput is wide: it is another link.
- Delay of a link, one way. On an idle machine a packet leaves within 0.1 ms of its time, and the calibration takes a
  median, so 0.3 ms is not noise; 1 ms in each direction is a round trip that somebody could have asked for.
- 99th percentile of the delay. Without load nothing waits: 5 ms more than the median should be means that the machine
  stops for milliseconds at a time, and what was measured contains that.
- Round trip of a path, through switches and the stacks of two hosts, which add under 1 ms on an idle machine: 1 ms, or
  5 % where a path is long.
- What jitter explains is allowed on top. What a specification leaves open (a trace's rate) is not judged, and what the
  machine was too slow to check is said: that a link is right is then unknown, so the cell is degraded, not convicted.
"""

from collections.abc import Iterator, Sequence

from flightpath.units import format_bandwidth
from results.records import Verdict
from scenarios.fidelity.findings import Finding, direction_name, told
from topologies.calibration.records import Calibration, LinkCalibration, PathCalibration

RATE_DEGRADED_SHARE, RATE_UNUSABLE_SHARE = 0.01, 0.03
DELAY_DEGRADED_MS, DELAY_UNUSABLE_MS = 0.3, 1.0
DELAY_P99_DEGRADED_MS = 5.0
RTT_EXCESS_MS = 1.0
RTT_EXCESS_SHARE = 0.05


def judge_calibration(calibration: Calibration) -> list[Finding]:
    """Findings on all links and paths before the load."""
    return [*judge_links_before(calibration.links), *judge_paths(calibration.paths)]


def judge_links_before(links: Sequence[LinkCalibration]) -> list[Finding]:
    """Findings on each link by itself."""
    if not links:
        return [(Verdict.DEGRADED, "the links were not calibrated before the load")]
    found: dict[tuple[Verdict, str], list[str]] = {}
    for link in links:
        for verdict, what, case in _faults(link):
            found.setdefault((verdict, what), []).append(case)
    return [finding for (verdict, what), cases in found.items() for finding in told(verdict, what, cases)]


def judge_paths(paths: Sequence[PathCalibration]) -> list[Finding]:
    """Findings on the round-trip times before the load."""
    return told(
        Verdict.DEGRADED, "another round trip than asked for", [_path_case(path) for path in paths if _is_off(path)]
    )


def _faults(link: LinkCalibration) -> Iterator[tuple[Verdict, str, str]]:
    """Verdict, what is wrong in general, and with this link."""
    name = direction_name(link.link, link.direction)
    unjudged = {why.partition(":")[0] for why in (*link.not_judged, *link.unchecked)}
    if link.rate_error is not None and "rate" not in unjudged:
        off = abs(link.rate_error) - link.rate_uncertainty
        if verdict := _weighed(off, RATE_DEGRADED_SHARE, RATE_UNUSABLE_SHARE):
            found, asked = format_bandwidth(link.rate_bps), format_bandwidth(link.expected_rate_bps)
            yield verdict, "rate before the load is not as asked", f"{name} {found} instead of {asked}"
    if link.delay_error_ms is not None and "delay" not in unjudged:
        off = abs(link.delay_error_ms) - link.delay_uncertainty_ms
        if verdict := _weighed(off, DELAY_DEGRADED_MS, DELAY_UNUSABLE_MS):
            told_ms = f"{link.delay_ms:.2f} ms instead of {link.expected_delay_ms:.2f} ms"
            yield verdict, "delay before the load is not as asked", f"{name} {told_ms}"
        elif link.delay_p99_ms - link.expected_delay_ms - link.delay_uncertainty_ms > DELAY_P99_DEGRADED_MS:
            yield Verdict.DEGRADED, "1 % of the packets were slow before the load", f"{name} {link.delay_p99_ms:.1f} ms"
    for why in link.unchecked:
        yield Verdict.DEGRADED, "could not be checked before the load", f"{name} {why}"


def _weighed(off: float, degraded: float, unusable: float) -> Verdict | None:
    return Verdict.UNUSABLE if off > unusable else Verdict.DEGRADED if off > degraded else None


def _is_off(path: PathCalibration) -> bool:
    allowed_ms = max(RTT_EXCESS_MS, RTT_EXCESS_SHARE * path.expected_rtt_ms) + path.rtt_uncertainty_ms
    too_short = path.rtt_ms < path.expected_rtt_ms - path.rtt_uncertainty_ms
    return path.is_judged and (too_short or path.rtt_ms > path.expected_rtt_ms + allowed_ms)


def _path_case(path: PathCalibration) -> str:
    where = f"{path.source}-{path.target} on interface {path.port}"
    return f"{where} {path.rtt_ms:.2f} ms instead of {path.expected_rtt_ms:.2f} ms"
