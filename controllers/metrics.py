"""Metrics of steering for Prometheus."""

from collections.abc import Mapping
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_NAMESPACE = "flightpath"

_LATENCIES_S = (0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0)
_MOVES_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0)


class Metrics:
    """The metrics of one controller; `registry` also takes collectors of numbers that are counted elsewhere."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.packet_ins = self._counter("packet_ins", "Frames that switches sent, by kind", "kind")
        self.set_up_s = self._histogram(
            "set_up_seconds", "From a SYN's arrival at the controller to its release", _LATENCIES_S
        )
        self.move_s = self._histogram("move_seconds", "From a link's change to the last moved rule", _MOVES_S)
        self.reroutes = self._counter("reroutes", "Changes of links that moved flows, by cause", "cause")
        self.moved_flows = self._counter("moved_flows", "Flows that got another path")

    def text(self) -> bytes:
        return generate_latest(self.registry)

    def _counter(self, name: str, description: str, *labels: str) -> Counter:
        return Counter(name, description, labels, namespace=_NAMESPACE, registry=self.registry)

    def _histogram(self, name: str, description: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(name, description, buckets=buckets, namespace=_NAMESPACE, registry=self.registry)


def _family(
    kind: type[GaugeMetricFamily | CounterMetricFamily],
    name: str,
    description: str,
    values: float | Mapping[str, float],
    label: str = "",
) -> Metric:
    """Returns a value, or several by the value of a label."""
    if not isinstance(values, Mapping):
        return kind(f"{_NAMESPACE}_{name}", description, value=values)
    metric = kind(f"{_NAMESPACE}_{name}", description, labels=[label])
    for key, value in values.items():
        metric.add_metric([key], value)
    return metric


gauge, counter = partial(_family, GaugeMetricFamily), partial(_family, CounterMetricFamily)
