"""Shares of the processor time of the whole machine."""

from probes.counters.sampling import CounterLog
from results.records import Series


def share(log: CounterLog, counter: str, *, start_s: float, end_s: float = float("inf")) -> Series:
    """Returns a counter (`cpu_idle` or `cpu_steal`) in % of all processor time, for each sampling interval."""
    part = log.rates(counter, "%", start_s=start_s, end_s=end_s)
    whole = log.rates("cpu_total", "%", start_s=start_s, end_s=end_s)
    values = tuple(100 * a / b if b else 0.0 for a, b in zip(part.values, whole.values, strict=True))
    return Series("%", part.times_s, values)
