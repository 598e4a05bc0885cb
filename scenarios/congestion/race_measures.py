"""What a race between flows comes to in figures: fairness, and how long it takes until it is fair."""

from collections.abc import Sequence

from probes.transfers.tcp_flow import FlowTrace
from results.records import Series

WINDOW_S, STEP_S = 0.5, 0.1
"""Throughput is averaged over a window, which moves by a step: longer than round trips, shorter than a race."""

FAIR, STAYS_S = 0.9, 1.0
"""Flows have converged when Jain's index is at least so high and stays so for so long."""


def jain(shares: Sequence[float]) -> float:
    """Jain's fairness index: 1 if all have the same, 1/n if one has everything (Jain, Chiu, Hawe, DEC-TR-301, 1984).

    Raises:
        ValueError: nobody has anything.
    """
    if not any(shares):
        raise ValueError("fairness of nothing")
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))


def throughput(trace: FlowTrace, begin_s: float, seconds: float) -> Series:
    """Acknowledged payload in bit/s over moving windows; each value stands at the middle of its window.

    Args:
        trace: of one flow.
        begin_s: what times count from, on CLOCK_MONOTONIC.
        seconds: how long from there.
    """
    times = [at_s - begin_s for at_s in trace.times_s]
    acked = trace.columns["acked_bytes"]
    count = max(0, int((seconds - WINDOW_S) / STEP_S) + 1)
    starts = [step * STEP_S for step in range(count)]
    values = [(_at(times, acked, start + WINDOW_S) - _at(times, acked, start)) * 8 / WINDOW_S for start in starts]
    return Series("bit/s", tuple(start + WINDOW_S / 2 for start in starts), tuple(values))


def goodput_bps(trace: FlowTrace, begin_s: float, from_s: float, to_s: float) -> float:
    """Acknowledged payload per second between two moments, also before the flow began; arguments as `throughput`."""
    times, acked = [at_s - begin_s for at_s in trace.times_s], trace.columns["acked_bytes"]
    return (_at(times, acked, to_s) - _at(times, acked, from_s)) * 8 / (to_s - from_s)


def converged_after_s(flows: Sequence[Series], since_s: float) -> float | None:
    """How long after `since_s` the flows' throughputs became fair, and stayed so for a while; None: they did not.

    Args:
        flows: of equal times, in one unit.
        since_s: when the last of them began.
    """
    times = flows[0].times_s
    fair = [any(values) and jain(values) >= FAIR for values in zip(*(flow.values for flow in flows), strict=True)]
    steps = round(STAYS_S / STEP_S)
    for i, at_s in enumerate(times):
        if at_s >= since_s and len(fair) - i >= steps and all(fair[i : i + steps]):
            return at_s - since_s
    return None


def _at(times: Sequence[float], counts: Sequence[int], at_s: float) -> float:
    """A counter between two looks at it, on the straight line; before the first look 0 was acknowledged."""
    low, high = 0, len(times)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if times[middle] <= at_s else (low, middle)
    if low == 0:
        return 0.0
    if low == len(times):
        return float(counts[-1])
    share = (at_s - times[low - 1]) / (times[low] - times[low - 1])
    return counts[low - 1] + share * (counts[low] - counts[low - 1])
