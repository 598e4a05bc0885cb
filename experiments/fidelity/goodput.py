"""Judges the measured throughput: against what the links can carry, and for stalls.

Thresholds:

- Limit. No more payload than the links' rate without headers can have crossed them. A link may be off by 1 % before its
  calibration degrades the cell, so more than 1 % above the limit is not the network's: it is bytes that crossed before
  the measured time, or another fault of the measurement.
- Stall. A transfer with data to send that stands still for a second has lost its clock: its retransmissions wait for
  timeouts, which double. MPTCP's wait for a timer too: what comes over one subflow beyond the window that was announced
  over another is dropped although TCP has acknowledged it (`NoDSSInWindow`), and the sender repeats one piece at each
  timeout of the connection. Such a trickle is a thousandth of what the paths carry. The last of several streams, alone
  on the slowest path, has a few per cent of what all had together: 1 % of the fastest interval is between the two.
"""

import itertools
from collections.abc import Iterator, Mapping

from experiments.fidelity.findings import Finding
from results.records import Measurement, Series, Verdict
from topologies.calibration.records import RATE_NOISE_SHARE

STALL_S, STALL_SHARE = 1.0, 0.01
_CAUSES: Mapping[str, str] = {
    "TcpExt.TCPTimeouts": "{count} retransmission timeouts of {host}",
    "MPTcpExt.NoDSSInWindow": "{host} dropped {count} packets outside MPTCP's window",
    "MPTcpExt.MPTCPRetrans": "{count} retransmissions by MPTCP's timer of {host}",
}
"""Likely causes of a stall, by the counter of a host that increased."""


def judge_goodput(
    measured: Measurement, limits_bps: Mapping[str, float], counters: Mapping[str, Mapping[str, int]]
) -> list[Finding]:
    """Returns findings on metrics and series in bit/s of a transfer that goes as fast as it can.

    Args:
        limits_bps: the maximum payload rate for each metric; a series of the same name is looked at for stalls.
        counters: how much each host's counters increased (`probes.counters.tcp`).
    """
    return [*_above(measured, limits_bps), *_stalled(measured, limits_bps, counters)]


def _above(measured: Measurement, limits_bps: Mapping[str, float]) -> Iterator[Finding]:
    for name, limit_bps in limits_bps.items():
        metric = measured.metrics.get(name)
        if metric is not None and metric.value > limit_bps * (1 + RATE_NOISE_SHARE):
            rates = f"{metric.value / 1e6:.1f} Mbit/s is more than the links carry ({limit_bps / 1e6:.1f} Mbit/s)"
            yield Finding(Verdict.UNUSABLE, f"{name} of {rates}: bytes from before the measured time were counted")


def _stalled(
    measured: Measurement, limits_bps: Mapping[str, float], counters: Mapping[str, Mapping[str, int]]
) -> Iterator[Finding]:
    why = ", ".join(
        words.format(count=of_host[name], host=host)
        for name, words in _CAUSES.items()
        for host, of_host in counters.items()
        if of_host.get(name)
    )
    for name in limits_bps:
        begin_s, length_s = _longest_stall(measured.series.get(name, Series("bit/s", (), ())))
        if length_s >= STALL_S:
            stall = f"{name} stood still for {length_s:.1f} s from {begin_s:.1f} s on"
            yield Finding(Verdict.DEGRADED, f"{stall} ({why or 'no retransmission timeout'})")


def _longest_stall(series: Series) -> tuple[float, float]:
    """Returns begin and length of the longest time with next to nothing, before the last interval with more."""
    slow = [value < STALL_SHARE * max(series.values) for value in series.values]
    longest, begin = (0.0, 0.0), None
    for here, (at_s, next_s) in zip(slow, itertools.pairwise(series.times_s), strict=False):
        begin = (at_s if begin is None else begin) if here else None
        if begin is not None and next_s - begin > longest[1]:
            longest = (begin, next_s - begin)
    return longest
