"""Processor time of the whole machine, from /proc/stat."""

import os
from collections.abc import Mapping
from pathlib import Path

from probes.counters.sampling import CounterLog
from results.records import Series

_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def read_counters() -> Mapping[str, float]:
    """Seconds of all cores since boot: `cpu_idle` (including waiting for disks), `cpu_steal` and `cpu_total`."""
    words = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    ticks = dict(zip(_FIELDS, map(int, words[1 : 1 + len(_FIELDS)]), strict=True))
    per_second = os.sysconf("SC_CLK_TCK")
    return {
        "cpu_idle": (ticks["idle"] + ticks["iowait"]) / per_second,
        "cpu_steal": ticks["steal"] / per_second,
        "cpu_total": sum(ticks.values()) / per_second,
    }


def share(log: CounterLog, counter: str, *, start_s: float, end_s: float = float("inf")) -> Series:
    """Returns a counter (`cpu_idle` or `cpu_steal`) in % of all processor time, for each sampling interval."""
    part = log.rates(counter, "%", start_s=start_s, end_s=end_s)
    whole = log.rates("cpu_total", "%", start_s=start_s, end_s=end_s)
    values = tuple(100 * a / b if b else 0.0 for a, b in zip(part.values, whole.values, strict=True))
    return Series("%", part.times_s, values)
