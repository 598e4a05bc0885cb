"""Measures of a race between flows: throughput over time, fairness, and convergence."""

from collections.abc import Sequence

import numpy as np

from probes.transfers.tcp_flow import FlowTrace
from results.records import Series

WINDOW_S, STEP_S = 0.5, 0.1
"""Length and step of the moving window for throughput: longer than round trips, shorter than a race."""

FAIR, STAYS_S = 0.9, 1.0
"""Convergence of flows: Jain's index reaches `FAIR`, and stays above it for `STAYS_S`."""


def jain(shares: Sequence[float]) -> float:
    """Returns Jain's fairness index: 1 if all are equal, 1/n if one has all (Jain, Chiu, Hawe, DEC-TR-301, 1984).

    Raises:
        ValueError: all shares are 0.
    """
    if not any(shares):
        raise ValueError("fairness of nothing")
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))


def throughput(trace: FlowTrace, begin_s: float, seconds: float) -> Series:
    """Returns the acknowledged payload in bit/s over moving windows, each value at the middle of its window.

    It lasts some seconds from `begin_s`, a moment on CLOCK_MONOTONIC.
    """
    starts = np.arange(max(0, int((seconds - WINDOW_S) / STEP_S) + 1)) * STEP_S
    values = (_acked(trace, begin_s, starts + WINDOW_S) - _acked(trace, begin_s, starts)) * 8 / WINDOW_S
    return Series("bit/s", tuple((starts + WINDOW_S / 2).tolist()), tuple(values.tolist()))


def goodput_bps(trace: FlowTrace, begin_s: float, from_s: float, to_s: float) -> float:
    """Returns the acknowledged payload in bit/s between two times after `begin_s`, even if the flow began later."""
    before, after = _acked(trace, begin_s, np.array([from_s, to_s]))
    return float(after - before) * 8 / (to_s - from_s)


def converged_after_s(flows: Sequence[Series], since_s: float) -> float | None:
    """Returns the time from `since_s` until the flows' throughputs became fair and stayed so; None if they did not."""
    times = flows[0].times_s
    fair = [any(values) and jain(values) >= FAIR for values in zip(*(flow.values for flow in flows), strict=True)]
    steps = round(STAYS_S / STEP_S)
    for i, at_s in enumerate(times):
        if at_s >= since_s and len(fair) - i >= steps and all(fair[i : i + steps]):
            return at_s - since_s
    return None


def _acked(trace: FlowTrace, begin_s: float, at_s: np.ndarray) -> np.ndarray:
    """Returns the acknowledged bytes at some times, interpolated between samples; 0 before the first."""
    return np.interp(at_s, np.array(trace.times_s) - begin_s, trace.columns["acked_bytes"], left=0.0)
