"""The judge: says whether the testbed did what it was told while a cell was measured.

Thresholds, and why:

- Idle processor time. An emulated network is made of processor time: where none is left, queues form in the
  scheduler instead of in the links, and latency and throughput are the machine's. One second without idle time is
  noise; a quarter of all seconds is a limit. Below 10 % on average a burst has nowhere to go, so the cell is
  degraded before it is unusable.
- Steal. Time that the hypervisor took from this machine is time in which no packet moved: 5 % shifts a mean visibly.
- Lateness of the links. A packet that leaves a link later than due sees a longer link: 1 ms at the 99th percentile is
  well above any scheduling noise of a machine that keeps up (measured: 0.1 to 0.3 ms) and below what would move a
  service time that is counted in tens of milliseconds. 10 ms is a different network.
- Round-trip time before the run. The relays, the switch and four hosts' stacks add under 1 ms on an idle machine.
"""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from results.records import Certificate, Series, Verdict
from topologies.testbed import PathCalibration

IDLE_EXHAUSTED_PERCENT = 2.0
IDLE_EXHAUSTED_SHARE = 0.25
IDLE_LOW_MEAN_PERCENT = 10.0
STEAL_MEAN_PERCENT = 5.0
LATE_P99_DEGRADED_US = 1_000.0
LATE_P99_UNUSABLE_US = 10_000.0
RTT_EXCESS_MS = 1.0
RTT_EXCESS_SHARE = 0.05

Finding = tuple[Verdict, str]


def certify(
    *,
    found: Mapping[str, Any],
    idle: Series,
    steal: Series,
    links: Mapping[str, Any],
    calibration: Sequence[PathCalibration],
    congestion_control: Mapping[str, Mapping[str, int]],
    asked_congestion_control: str,
) -> Certificate:
    """The certificate of a cell.

    Args:
        found: the testbed as it was.
        idle, steal: processor time per second during the load, in %.
        links: `probes.links.summary` after it.
        calibration: each path before it.
        congestion_control: per host, how many connections used which algorithm during it.
        asked_congestion_control: the algorithm that all of them should have used.
    """
    findings = [
        *judge_processor(idle.values, steal.values),
        *judge_links(links),
        *judge_paths(calibration),
        *judge_congestion_control(congestion_control, asked_congestion_control),
    ]
    facts = {
        **found,
        "idle_cpu_percent": list(idle.values),
        "steal_percent": list(steal.values),
        "links_during_load": links,
        "paths_before_load": [vars(path) for path in calibration],
        "congestion_control": {host: dict(counts) for host, counts in congestion_control.items()},
    }
    return Certificate(Verdict.worst([verdict for verdict, _ in findings]), tuple(why for _, why in findings), facts)


def judge_processor(idle_percent: Sequence[float], steal_percent: Sequence[float]) -> list[Finding]:
    """Findings on the machine's processor time."""
    if not idle_percent:
        return [(Verdict.UNUSABLE, "the processor time was not recorded")]
    findings = []
    exhausted = sum(value < IDLE_EXHAUSTED_PERCENT for value in idle_percent) / len(idle_percent)
    mean = statistics.fmean(idle_percent)
    if exhausted > IDLE_EXHAUSTED_SHARE:
        why = f"the machine had no idle processor time in {exhausted:.0%} of the seconds"
        findings.append((Verdict.UNUSABLE, f"{why}: the machine was measured, not the network"))
    elif mean < IDLE_LOW_MEAN_PERCENT:
        findings.append(
            (Verdict.DEGRADED, f"the machine was only {mean:.0f} % idle: bursts had to wait for a processor")
        )
    steal = statistics.fmean(steal_percent) if steal_percent else 0.0
    if steal > STEAL_MEAN_PERCENT:
        findings.append((Verdict.DEGRADED, f"the hypervisor took {steal:.0f} % of the processor time"))
    return findings


def judge_links(links: Mapping[str, Any]) -> list[Finding]:
    """Findings on what the link emulators say of themselves."""
    findings = []
    for name, directions in links.items():
        late_us = max(counters["lateness_us"]["p99"] for counters in directions.values())
        if late_us > LATE_P99_DEGRADED_US:
            verdict = Verdict.UNUSABLE if late_us > LATE_P99_UNUSABLE_US else Verdict.DEGRADED
            findings.append((verdict, f"link {name}: 1 % of the packets left {late_us / 1e3:.1f} ms late or more"))
        broken = sum(counters["drops"][cause] for counters in directions.values() for cause in ("malformed", "device"))
        if broken:
            findings.append((Verdict.DEGRADED, f"link {name}: {broken} packets were lost by the emulator itself"))
    return findings


def judge_paths(calibration: Sequence[PathCalibration]) -> list[Finding]:
    """Findings on the round-trip times before the load."""
    findings = []
    for path in calibration:
        allowed = path.expected_rtt_ms + max(RTT_EXCESS_MS, RTT_EXCESS_SHARE * path.expected_rtt_ms)
        if not path.expected_rtt_ms <= path.rtt_ms <= allowed:
            told = f"{path.rtt_ms:.2f} ms instead of {path.expected_rtt_ms:.2f} ms"
            findings.append((Verdict.DEGRADED, f"{path.source}-{path.target} on plane {path.port}: round trip {told}"))
    return findings


def judge_congestion_control(in_use: Mapping[str, Mapping[str, int]], asked: str) -> list[Finding]:
    """Findings on the congestion control that the connections really used."""
    wrong = {host: {name: n for name, n in counts.items() if name != asked} for host, counts in in_use.items()}
    return [
        (Verdict.DEGRADED, f"{host}: {sum(counts.values())} connections used {', '.join(counts)} instead of {asked}")
        for host, counts in wrong.items()
        if counts
    ]
