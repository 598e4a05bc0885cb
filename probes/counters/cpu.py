"""The machine's processor time: a testbed on a busy machine measures the machine."""

import os
from collections.abc import Mapping
from pathlib import Path

from probes.counters.sampling import CounterLog
from results.records import Series

_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def read_counters() -> Mapping[str, float]:
    """Processor time since boot, in s over all cores: `cpu_idle` (with waiting for disks), `cpu_steal`, `cpu_total`."""
    words = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    ticks = dict(zip(_FIELDS, map(int, words[1 : 1 + len(_FIELDS)]), strict=True))
    per_second = os.sysconf("SC_CLK_TCK")
    return {
        "cpu_idle": (ticks["idle"] + ticks["iowait"]) / per_second,
        "cpu_steal": ticks["steal"] / per_second,
        "cpu_total": sum(ticks.values()) / per_second,
    }


def share(log: CounterLog, counter: str, *, start_s: float, end_s: float = float("inf")) -> Series:
    """`cpu_idle` or `cpu_steal` in % of the processor time of each second."""
    part = log.rates(counter, "%", start_s=start_s, end_s=end_s)
    whole = log.rates("cpu_total", "%", start_s=start_s, end_s=end_s)
    values = tuple(100 * a / b if b else 0.0 for a, b in zip(part.values, whole.values, strict=True))
    return Series("%", part.times_s, values)
