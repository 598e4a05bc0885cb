"""Processor time of the whole machine, and whether it was enough for an emulated network.

Thresholds:

- Idle time. An emulated network runs on processor time: where none is left, packets queue in the scheduler instead of
  in the links, and latency and throughput are those of the machine. One second without idle time is noise, a quarter
  of all seconds is a limit. Below 10 % on average a burst has to wait, so the result is degraded.
- Steal. No packet moves while the hypervisor runs something else: 5 % shifts a mean visibly.
"""

import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

IDLE_EXHAUSTED_PERCENT = 2.0
IDLE_EXHAUSTED_SHARE = 0.25
IDLE_LOW_MEAN_PERCENT = 10.0
STEAL_MEAN_PERCENT = 5.0

Shortcoming = tuple[Literal["degraded", "unusable"], str]
"""A verdict on a measurement, and the reason in words."""

_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def read_counters() -> Mapping[str, float]:
    """Reads the seconds of all cores since boot: `cpu_idle` (with waiting for disks), `cpu_steal` and `cpu_total`."""
    words = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    ticks = dict(zip(_FIELDS, map(int, words[1 : 1 + len(_FIELDS)]), strict=True))
    per_second = os.sysconf("SC_CLK_TCK")
    return {
        "cpu_idle": (ticks["idle"] + ticks["iowait"]) / per_second,
        "cpu_steal": ticks["steal"] / per_second,
        "cpu_total": sum(ticks.values()) / per_second,
    }


def shortcomings(idle_percent: Sequence[float], steal_percent: Sequence[float]) -> Iterator[Shortcoming]:
    """Judges the processor time of each second of a load."""
    if not idle_percent:
        yield "unusable", "the processor time was not recorded"
        return
    exhausted = sum(value < IDLE_EXHAUSTED_PERCENT for value in idle_percent) / len(idle_percent)
    mean = statistics.fmean(idle_percent)
    if exhausted > IDLE_EXHAUSTED_SHARE:
        why = f"the machine had no idle processor time in {exhausted:.0%} of the seconds"
        yield "unusable", f"{why}: the machine was measured, not the network"
    elif mean < IDLE_LOW_MEAN_PERCENT:
        yield "degraded", f"the machine had only {mean:.0f} % idle processor time, so that bursts had to wait"
    steal = statistics.fmean(steal_percent) if steal_percent else 0.0
    if steal > STEAL_MEAN_PERCENT:
        yield "degraded", f"the hypervisor took {steal:.0f} % of the processor time"
