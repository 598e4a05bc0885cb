"""The vocabulary of metrics: one name and one unit for each quantity, in every scenario and probe.

Stored runs may have other names: for `show` and `compare`, a metric is only a name and a unit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TypeVar

from results.records import Measurement

_Value = TypeVar("_Value")


class Better(StrEnum):
    """Direction in which a metric improves."""

    HIGHER = "higher"
    LOWER = "lower"


@dataclass(frozen=True)
class MetricKind:
    """A metric, or a family of metrics with `*` in the name.

    One that is `of_machine` depends on the machine rather than on the network. It is not measured in virtual time, in
    which computing takes no time.
    """

    name: str
    unit: str
    words: str
    better: Better | None = None
    of_machine: bool = False


_LATENCY = "mean, p50, p95, p99 or max"

METRICS = (
    # Bulk transfers
    MetricKind("goodput", "bit/s", "payload per second", Better.HIGHER),
    MetricKind("goodput_*", "bit/s", "payload per second after a failure", Better.HIGHER),
    MetricKind("download", "s", "time of a download", Better.LOWER),
    MetricKind("utilisation", "%", "goodput of all flows, of what the link can carry", Better.HIGHER),
    MetricKind("share", "%", "goodput of the first flow, of what all flows carry"),
    MetricKind("share_of_sum", "%", "goodput, of what all paths together can carry", Better.HIGHER),
    MetricKind("share_path*", "%", "bytes on a path, of those on all paths"),
    MetricKind("busiest_share", "%", "bytes on the busiest path, of those on all paths"),
    MetricKind("paths_used", "1", "paths that carried at least 2 % of the bytes"),
    MetricKind("rate_ratio", "1", "goodput of the first flow, over that of the second"),
    MetricKind("queue_delay_*", "ms", "wait of packets in the bottleneck's queue: mean, p50 or p99", Better.LOWER),
    MetricKind("marked", "%", "packets that the bottleneck marked (ECN), of those that arrived"),
    MetricKind("dropped", "%", "packets that the bottleneck dropped", Better.LOWER),
    MetricKind("fairness", "1", "Jain's index of the flows' goodputs", Better.HIGHER),
    MetricKind("convergence", "s", "time until the flows share the link fairly", Better.LOWER),
    MetricKind("retransmissions", "1", "segments that TCP sent again", Better.LOWER),
    MetricKind("retransmitted_share", "%", "segments that TCP sent again, of all segments sent", Better.LOWER),
    MetricKind("lost", "%", "UDP datagrams that did not arrive, or pings without an answer", Better.LOWER),
    MetricKind("jitter", "ms", "variation of the time that UDP datagrams take", Better.LOWER),
    MetricKind("rtt", "ms", "mean round trip, as TCP or ping measures it", Better.LOWER),
    MetricKind("rtt_min", "ms", "shortest round trip, as TCP or ping measures it", Better.LOWER),
    MetricKind("rtt_growth", "ms", "mean round trip above the links' delay", Better.LOWER),
    MetricKind("rtt_inflation", "1", "mean round trip over the shortest", Better.LOWER),
    MetricKind("connect", "ms", "time to open a TCP connection", Better.LOWER),
    MetricKind("first_byte", "ms", "time from opening a connection to its first byte", Better.LOWER),
    MetricKind("silence_*", "ms", "longest time without data on a connection after a failure", Better.LOWER),
    # Requests to a service
    MetricKind("students", "1", "students who take part"),
    MetricKind("requests", "1", "requests made"),
    MetricKind("request_size", "B", "what a request moves to the client over all paths, with all headers"),
    MetricKind("path_capacity", "1/s", "requests that the first path can carry, by their size"),
    MetricKind("requests_per_s", "1/s", "correct answers per second", Better.HIGHER),
    MetricKind("run_time", "s", "from the first intended request to the last response", Better.LOWER),
    MetricKind("ramp", "s", "time over which students arrive"),
    MetricKind("schedule", "s", "run time if no response is late"),
    MetricKind("run_time_over_schedule", "1", "run time over the schedule", Better.LOWER),
    MetricKind("errors", "1", "requests that failed", Better.LOWER),
    MetricKind("errors_*", "1", "requests that failed in one way", Better.LOWER),
    MetricKind("error_rate", "%", "requests that failed, of all requests", Better.LOWER),
    MetricKind("lost_writes", "1", "acknowledged answers that the database does not hold exactly once", Better.LOWER),
    MetricKind("latency_service_*", "ms", f"response time from sending the request: {_LATENCY}", Better.LOWER),
    MetricKind("latency_intended_*", "ms", f"response time from the intended moment: {_LATENCY}", Better.LOWER),
    MetricKind("on_time", "%", "answers that came before their deadlines", Better.HIGHER),
    MetricKind("jmeter_lateness_*", "ms", f"how late JMeter itself sent a request: {_LATENCY}", Better.LOWER, True),
    MetricKind("connect_p95", "ms", "time to open a connection, 95th percentile", Better.LOWER),
    MetricKind("received", "B", "bytes of responses"),
    MetricKind("sent", "B", "bytes of requests"),
    MetricKind("throughput_*_mean", "bit/s", "mean throughput on the wire between two hosts", Better.HIGHER),
    # Processor time
    MetricKind("idle_cpu", "%", "idle processor time of the whole machine", Better.HIGHER, of_machine=True),
    MetricKind("cpu_client", "%", "client, in per cent of a core", Better.LOWER, of_machine=True),
    MetricKind("cpu_sender", "%", "sender, in per cent of a core", Better.LOWER, of_machine=True),
    MetricKind("cpu_receiver", "%", "receiver, in per cent of a core", Better.LOWER, of_machine=True),
    MetricKind("cpu_tunnel", "%", "both ends of the tunnel, in per cent of a core", Better.LOWER, of_machine=True),
    MetricKind("cpu_links", "%", "link emulators, in per cent of a core", Better.LOWER, of_machine=True),
    MetricKind("cpu_total", "%", "sender, receiver and links, in per cent of a core", Better.LOWER, of_machine=True),
    MetricKind("cpu_per_gbps", "%", "the same per Gbit/s", Better.LOWER, of_machine=True),
    MetricKind(
        "modelled_cpu_*", "%", "sender's or receiver's end of the tunnel in the model of a processor, of a core"
    ),
    MetricKind("cpu_*", "%", "a program, in per cent of a core", Better.LOWER, of_machine=True),
    MetricKind("cpu_jmeter", "s", "processor time of JMeter", Better.LOWER, of_machine=True),
    MetricKind("cpu_nginx", "s", "processor time of the web server", Better.LOWER, of_machine=True),
    MetricKind("cpu_application", "s", "processor time of the examination system", Better.LOWER, of_machine=True),
    MetricKind("cpu_postgresql", "s", "processor time of the database", Better.LOWER, of_machine=True),
)

PREFIXES = {"ftp_": "of the download by FTP", "rival_": "of the second flow", "udp_": "of UDP"}
"""Prefixes for a metric of something else: `ftp_goodput` is the `goodput` of the download by FTP."""


def metric_kind(name: str) -> MetricKind | None:
    """Returns the entry of a metric; None if the vocabulary lacks it."""
    for prefix in PREFIXES:
        name = name.removeprefix(prefix)
    kinds = [kind for kind in METRICS if fnmatchcase(name, kind.name)]
    return max(kinds, key=lambda kind: kind.name == name, default=None)


def of_network(measured: Measurement) -> Measurement:
    """Returns a measurement without the metrics and series of the machine."""
    return replace(measured, metrics=_of_network(measured.metrics), series=_of_network(measured.series))


def _of_network(by_name: Mapping[str, _Value]) -> dict[str, _Value]:
    return {name: value for name, value in by_name.items() if not is_of_machine(name)}


def is_of_machine(name: str) -> bool:
    return (kind := metric_kind(name)) is not None and kind.of_machine
