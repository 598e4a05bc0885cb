"""Round trips by ping(8)."""

import math
import re
import statistics
from collections.abc import Callable
from dataclasses import dataclass

from flightpath.errors import MeasurementFailed, UsageError
from flightpath.hosts import Host, await_end, running
from probes.probe import Probe
from results.records import Measurement, Metric, Series

_ANSWER_LIMIT_S = 5.0
_ANSWER = re.compile(r"^\[([0-9.]+)\] .*icmp_seq=\d+ .*time=([0-9.]+) ms", re.MULTILINE)
_MAX_ANSWER_LIMIT_S = 2000.0
"""Limit for an answer that ping(8) still takes, rounded down."""

_LATENESS = 1.25
"""Longest time for all requests, of the time that their intervals are: a kernel counts these in ticks, rounded up."""


@dataclass(frozen=True)
class Ping(Probe):
    """Echo requests, one after the other.

    Attributes:
        interval_s: time between two pings; ping waits in a busy loop for less than 10 ms. Over a round trip of more
            than half an hour, for which ping(8) does not wait, each request is sent after the answer to the last one.
        round_trip_s: that of the path, without queues; limits are longer by it.
    """

    count: int = 5
    interval_s: float = 0.2
    round_trip_s: float = 0.0

    def __post_init__(self) -> None:
        if self.count < 1:
            raise UsageError(f"count: {self.count} is less than 1")
        if not self.interval_s >= 0.002:
            raise UsageError(f"interval_s: {self.interval_s:g} s is less than ping's shortest, 0.002 s")

    def run(self, host: Host, address: str, *, watch: Callable[[], None] = lambda: None) -> Measurement:
        """Pings; see `Probe.run`.

        Returns:
            Metrics `rtt` and `rtt_min` (ms, of the requests that were answered) and `lost` (%); series `rtt` (ms), at
            the times of the answers from the first one on.
        """
        command = f"ping from {host.name} to {address}"
        answer_limit_s = _ANSWER_LIMIT_S + self.round_trip_s
        interval_s, answer_limit = self.interval_s, ["-W", f"{answer_limit_s:g}"]
        if answer_limit_s > _MAX_ANSWER_LIMIT_S:
            interval_s = max(interval_s, math.ceil(answer_limit_s))
            answer_limit = ["-w", str(math.ceil((self.count + 1) * interval_s))]
        limit_s = _LATENESS * self.count * interval_s + 2 * answer_limit_s
        argv = ["ping", "-n", "-D", "-c", str(self.count), "-i", f"{interval_s:.12g}", *answer_limit]
        with running(host, [*argv, address]) as process:
            stdout, stderr = await_end(
                process, limit_s, watch, f"{command}: no end after {limit_s:g} s", self.round_trip_s
            )
        answers = [(float(at), float(rtt)) for at, rtt in _ANSWER.findall(stdout)]
        if not answers:
            raise MeasurementFailed(f"{command}: {stderr.strip() or f'none of {self.count} requests was answered'}")
        rtts = tuple(rtt for _, rtt in answers)
        metrics = {
            "rtt": Metric(statistics.mean(rtts), "ms"),
            "rtt_min": Metric(min(rtts), "ms"),
            "lost": Metric(100 * (1 - len(answers) / self.count), "%"),
        }
        times = tuple(at - answers[0][0] for at, _ in answers)
        return Measurement(metrics, {"rtt": Series("ms", times, rtts)})
