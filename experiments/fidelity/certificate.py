"""The certificate of a cell: the verdict on its testbed, the reasons, and the facts behind them.

Links, paths and the processor time have judges of their own; those of the connections and the time of day are here.

- Time of day. JMeter and ping measure by it, and JMeter paces its load by it. Its distance from CLOCK_MONOTONIC changes
  only if somebody sets it: 10 ms are more than it takes to read both clocks, even on a busy machine.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from experiments.fidelity.calibration import judge_calibration
from experiments.fidelity.findings import Finding
from experiments.fidelity.links import DropCauses, judge_lateness, judge_links
from flightpath.clock import Clock
from flightpath.units import format_duration
from results.records import Certificate, Series, Verdict
from topologies.calibration.processor import shortcomings
from topologies.calibration.records import Calibration

TIME_OF_DAY_SET_S = 0.01


def certify(
    *,
    facts: Mapping[str, Any],
    idle: Series,
    steal: Series,
    links: Mapping[str, Any],
    calibration: Calibration,
    expected_drops: DropCauses,
    congestion_control: Mapping[str, Mapping[str, int]],
    expected_congestion_control: str | None,
    epoch_offsets_s: Sequence[float] = (),
    findings: Sequence[Finding] = (),
    measured_time_ms: float = 0.0,
) -> Certificate:
    """Judges a testbed.

    Args:
        facts: further facts to keep, such as the testbed's emulator and datapath; `clock` is one of them.
        idle, steal: processor time per second during the load, in %; not judged on a virtual clock.
        links: `probes.counters.links.summary` after the load.
        calibration: what each link and path measured before the load.
        expected_drops: for which causes each link may drop packets.
        congestion_control: per host, how many connections used which algorithm during the load.
        expected_congestion_control: the algorithm for all connections; None if any may be used.
        epoch_offsets_s: `flightpath.clock.epoch_offset_s()`, from the calibration to the end of the load.
        findings: further ones, on what was measured.
        measured_time_ms: the time that the experiment is about, of which paths may add a share.
    """
    is_real = facts.get("clock", Clock.REAL) == Clock.REAL
    findings = [
        *findings,
        *_judge_time_of_day(epoch_offsets_s),
        *(_judge_processor(idle.values, steal.values) if is_real else ()),
        *judge_calibration(calibration, measured_time_ms),
        *judge_links(links, expected_drops),
        *_judge_connections(congestion_control, expected_congestion_control),
    ]
    processor = {"idle_cpu_percent": list(idle.values), "steal_percent": list(steal.values)}
    all_facts = {
        **facts,
        **(processor if is_real else {}),
        "links_before_load": [
            {**vars(link), "not_judged": list(link.not_judged), "unchecked": list(link.unchecked)}
            for link in calibration.links
        ],
        "paths_before_load": [vars(path) for path in calibration.paths],
        "links_during_load": links,
        "congestion_control": {host: dict(counts) for host, counts in congestion_control.items()},
    }
    verdict = Verdict.worst([finding.verdict for finding in findings])
    return Certificate(verdict, tuple(finding.reason for finding in findings), all_facts)


def too_slow(certificate: Certificate) -> str | None:
    """Returns why a cell is unusable for want of processor time; None if it is not, or for other reasons only."""
    found = certificate.found
    if found.get("clock", Clock.REAL) != Clock.REAL:
        return None
    findings = [
        *_judge_processor(found.get("idle_cpu_percent", ()), found.get("steal_percent", ())),
        *judge_lateness(found.get("links_during_load", {})),
    ]
    return next((finding.reason for finding in findings if finding.verdict is Verdict.UNUSABLE), None)


def _judge_time_of_day(offsets_s: Sequence[float]) -> Iterator[Finding]:
    moved_s = max((offset_s - offsets_s[0] for offset_s in offsets_s), key=abs, default=0.0)
    if abs(moved_s) > TIME_OF_DAY_SET_S:
        how = f"{'forward' if moved_s > 0 else 'back'} by {format_duration(round(abs(moved_s), 3))}"
        why = f"the machine's time of day was set {how} during the measurement: what was paced or timed by it is wrong"
        yield Finding(Verdict.UNUSABLE, why)


def _judge_processor(idle_percent: Sequence[float], steal_percent: Sequence[float]) -> Iterator[Finding]:
    for verdict, reason in shortcomings(idle_percent, steal_percent):
        yield Finding(Verdict(verdict), reason)


def _judge_connections(in_use: Mapping[str, Mapping[str, int]], expected: str | None) -> Iterator[Finding]:
    """Checks for another congestion control than the one that was set: a kernel falls back silently."""
    if expected is None:
        return
    if not any(in_use.values()):
        why = f"the congestion control of the connections ({expected}) was not recorded"
        yield Finding(Verdict.DEGRADED, why)
    for host, counts in in_use.items():
        if others := {name: count for name, count in counts.items() if name != expected}:
            used = f"{sum(others.values())} connections used {', '.join(others)}"
            yield Finding(Verdict.DEGRADED, f"host {host}: {used} instead of {expected}")
