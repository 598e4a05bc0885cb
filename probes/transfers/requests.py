"""Requests over one TCP connection, one after the other or at an interval, and how long each answer takes."""

import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate

from flightpath.errors import MeasurementFailed
from flightpath.hosts import Host, await_end, running
from probes.probe import Probe
from probes.transfers.programs import request_client
from results.records import Measurement, Metric, Series
from services.reply import RequestPattern

_PERCENTILES = (50, 95, 99)


@dataclass(frozen=True)
class Requests(Probe):
    """Requests to a `services.reply.ReplyServer`.

    Attributes:
        silence_s: time without a byte after which the requests have failed.
    """

    pattern: RequestPattern
    mptcp: bool = False
    port: int = 5302
    limit_s: float = 300.0
    silence_s: float = 60.0

    def run(self, host: Host, address: str, *, watch: Callable[[], None] = lambda: None) -> Measurement:
        """Makes the requests; see `Probe.run`.

        Returns:
            Metrics `goodput` (bit/s, from the connection's begin to the last byte) and `connect` (ms), and those of
            `response_times`.
        """
        name = f"requests from {host.name} to {address}"
        settings = {**asdict(self.pattern), "address": address, "port": self.port, "mptcp": self.mptcp}
        words = json.dumps({**settings, "silence_s": self.silence_s})
        with running(host, [sys.executable, "-I", "-S", request_client.__file__, words]) as process:
            stdout, stderr = await_end(process, self.limit_s, watch, f"{name}: no end after {self.limit_s:g} s")
        if process.returncode != 0:
            raise MeasurementFailed(f"{name}: {stderr.strip()[-500:]}")
        report = json.loads(stdout)
        metrics = {
            "goodput": Metric(8 * self.pattern.total_bytes / report["seconds"], "bit/s"),
            "connect": Metric(report["connect_ms"], "ms"),
        }
        return Measurement(metrics).merged(response_times(report["times_ms"], self.pattern))


def response_times(times_ms: Sequence[float], pattern: RequestPattern) -> Measurement:
    """Returns metrics and a series of how long the answers took, in the order of the requests.

    Metrics: mean, percentiles (nearest rank) and maximum, as `latency_service_*` from sending a request, or as
    `latency_intended_*` from the moment at which it was due if they come at an interval. Series `latency` (ms).

    Raises:
        MeasurementFailed: there is not one time for each request.
    """
    if len(times_ms) != pattern.count:
        raise MeasurementFailed(f"{len(times_ms)} answers came to {pattern.count} requests")
    ordered = sorted(times_ms)
    values = {f"p{share}": ordered[math.ceil(share / 100 * len(ordered)) - 1] for share in _PERCENTILES}
    values |= {"mean": sum(times_ms) / len(times_ms), "max": ordered[-1]}
    name = "latency_intended" if pattern.interval_s else "latency_service"
    paced_s = [number * pattern.interval_s for number in range(pattern.count)]
    begins_s = paced_s if pattern.interval_s else [0.0, *accumulate(ms / 1e3 for ms in times_ms[:-1])]
    metrics = {f"{name}_{which}": Metric(value, "ms") for which, value in values.items()}
    return Measurement(metrics, {"latency": Series("ms", tuple(begins_s), tuple(times_ms))})
