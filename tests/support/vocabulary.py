"""Whether metrics have the names and units of the vocabulary (`results.metrics`)."""

from collections.abc import Mapping

from results.metrics import metric_kind
from results.records import Metric


def unknown_metrics(metrics: Mapping[str, Metric]) -> dict[str, str]:
    """The metrics, with their units, that the vocabulary does not have, or has with another unit."""
    return {
        name: metric.unit
        for name, metric in metrics.items()
        if (kind := metric_kind(name)) is None or kind.unit != metric.unit
    }
