"""Judges the machine's processor time during the load.

Thresholds:

- Idle time. An emulated network runs on processor time: where none is left, packets queue in the scheduler instead of
  in the links, and latency and throughput are those of the machine. One second without idle time is noise, a quarter
  of all seconds is a limit. Below 10 % on average a burst has to wait, so the cell is degraded.
- Steal. No packet moves while the hypervisor runs something else: 5 % shifts a mean visibly.
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
    """Findings on the processor time in each second of the load."""
    if not idle_percent:
        return [Finding(Verdict.UNUSABLE, "the processor time was not recorded")]
    findings = []
    exhausted = sum(value < IDLE_EXHAUSTED_PERCENT for value in idle_percent) / len(idle_percent)
    mean = statistics.fmean(idle_percent)
    if exhausted > IDLE_EXHAUSTED_SHARE:
        why = f"the machine had no idle processor time in {exhausted:.0%} of the seconds"
        findings.append(Finding(Verdict.UNUSABLE, f"{why}: the machine was measured, not the network"))
    elif mean < IDLE_LOW_MEAN_PERCENT:
        why = f"the machine had only {mean:.0f} % idle processor time, so that bursts had to wait"
        findings.append(Finding(Verdict.DEGRADED, why))
    steal = statistics.fmean(steal_percent) if steal_percent else 0.0
    if steal > STEAL_MEAN_PERCENT:
        findings.append(Finding(Verdict.DEGRADED, f"the hypervisor took {steal:.0f} % of the processor time"))
    return findings
