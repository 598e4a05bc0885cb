"""Metrics of steering for Prometheus."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from flightpath.overrides import override

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_LATENCIES_S = (0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0)
_MOVES_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0)


class Metrics(Collector):
    """The metrics of one controller; `collect` returns, at each scrape, those that are counted elsewhere."""

    def __init__(self, collect: Callable[[], Iterable[Metric]]) -> None:
        self._collect = collect
        self._registry = CollectorRegistry()
        self._registry.register(self)
        shared = {"namespace": "flightpath", "registry": self._registry}
        self.packet_ins = Counter("packet_ins", "Frames that switches sent, by kind", ["kind"], **shared)
        self.set_up_s = Histogram(
            "set_up_seconds", "From a SYN's arrival at the controller to its release", buckets=_LATENCIES_S, **shared
        )
        self.move_s = Histogram(
            "move_seconds", "From a link's change to the last moved rule", buckets=_MOVES_S, **shared
        )
        self.reroutes = Counter("reroutes", "Changes of links that moved flows, by cause", ["cause"], **shared)
        self.moved_flows = Counter("moved_flows", "Flows that got another path", **shared)

    @override
    def collect(self) -> Iterable[Metric]:
        return self._collect()

    def text(self) -> bytes:
        """All metrics in Prometheus's text format."""
        return generate_latest(self._registry)


def _family(
    kind: type[GaugeMetricFamily | CounterMetricFamily],
    name: str,
    description: str,
    values: float | Mapping[str, float],
    label: str = "",
) -> Metric:
    """A value, or several by the value of a label."""
    if not label:
        return kind(f"flightpath_{name}", description, value=values)
    metric = kind(f"flightpath_{name}", description, labels=[label])
    for key, value in values.items():
        metric.add_metric([key], value)
    return metric


gauge, counter = partial(_family, GaugeMetricFamily), partial(_family, CounterMetricFamily)
