"""Judges the machine's processor time: without it a busy machine's own limits would pass for the network's.

Thresholds, and why:

- Idle time. An emulated network is made of processor time: where none is left, queues form in the scheduler instead of
  in the links, and latency and throughput are the machine's. One second without idle time is noise; a quarter of all
  seconds is a limit. Below 10 % on average a burst has nowhere to go, so the cell is degraded before it is unusable.
- Steal. Time that the hypervisor took from this machine is time in which no packet moved: 5 % shifts a mean visibly.
"""

import statistics
from collections.abc import Sequence

from results.records import Verdict
from scenarios.fidelity.findings import Finding

IDLE_EXHAUSTED_PERCENT = 2.0
IDLE_EXHAUSTED_SHARE = 0.25
IDLE_LOW_MEAN_PERCENT = 10.0
STEAL_MEAN_PERCENT = 5.0


def judge_processor(idle_percent: Sequence[float], steal_percent: Sequence[float]) -> list[Finding]:
    """Findings on the machine's processor time, per second of the load."""
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
