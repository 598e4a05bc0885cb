"""What steering does, in numbers for Prometheus: without it a controller that is overloaded would look idle."""

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_LATENCIES_S = (0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0)
_MOVES_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0)

Reading = tuple[str, str, str, float, dict[str, str]]
"""Kind (`counter` or `gauge`), name without its prefix, help, value, labels."""


class Metrics:
    """The metrics of one controller.

    Args:
        read: asked at each scrape for what others count.

    Attributes:
        packet_ins: frames that switches sent, by what they are.
        set_up_s: from a SYN's arrival at the controller to its release, rules in place.
        move_s: from the verdict on a link to the last switch's confirmation of the new paths.
        reroutes: moves of flows, by cause.
        moved_flows: flows that got another path.
    """

    def __init__(self, read: Callable[[], Iterator[Reading]]) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Readings(read))
        shared = {"namespace": "flightpath", "registry": self._registry}
        self.packet_ins = Counter("packet_ins", "Frames that switches sent, by kind", ["kind"], **shared)
        self.set_up_s = Histogram(
            "set_up_seconds", "From a SYN's arrival at the controller to its release", buckets=_LATENCIES_S, **shared
        )
        self.move_s = Histogram("move_seconds", "From a verdict to the last moved rule", buckets=_MOVES_S, **shared)
        self.reroutes = Counter("reroutes", "Verdicts on links that moved flows, by cause", ["cause"], **shared)
        self.moved_flows = Counter("moved_flows", "Flows that got another path", **shared)

    def text(self) -> bytes:
        """In Prometheus's text format."""
        return generate_latest(self._registry)


class _Readings(Collector):
    """What others count, as metrics."""

    def __init__(self, read: Callable[[], Iterator[Reading]]) -> None:
        self._read = read

    def collect(self) -> Iterator[Metric]:
        """Prometheus's hook."""
        families: dict[str, GaugeMetricFamily | CounterMetricFamily] = {}
        for kind, name, text, value, labels in self._read():
            if name not in families:
                family = CounterMetricFamily if kind == "counter" else GaugeMetricFamily
                families[name] = family(f"flightpath_{name}", text, labels=list(labels))
            families[name].add_metric(list(labels.values()), value)
        return iter(families.values())
