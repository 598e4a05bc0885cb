"""Profiles in Prometheus' text format: for its node_exporter, and `/metrics` of the dashboard."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from prometheus_client import write_to_textfile
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from flightpath.overrides import override
from probes.preflight.history.health import Condition, Health, condition
from probes.preflight.history.past import PastMeasurement
from probes.preflight.history.profiles import load_profile, profiles
from results.store.ownership import give_to_caller
from results.store.store import Store

_Family = TypeVar("_Family", bound=Metric)

TEXTFILE = "flightpath_preflight.prom"
_LABELS = ("profile", "path")
_RATES = tuple(digit * 10.0**power for power in range(4, 11) for digit in (1, 2, 5))
"""Bounds of throughputs in bytes per second: 80 kbit/s to 400 Gbit/s."""

_ROUND_TRIPS_S = tuple(digit * 10.0**power for power in range(-4, 1) for digit in (1, 2, 5))


class Profiles(Collector):
    """Collects all profiles of a store, from its measurements, each time that somebody asks."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @override
    def collect(self) -> Iterable[Metric]:
        families = _Families()
        for profile in profiles(self._store):
            for path in profile.paths:
                pasts = load_profile(self._store, profile, path)
                families.add((profile.name, path), condition(path, pasts), pasts)
        return families.all()


def write_textfile(store: Store, folder: Path) -> None:
    """Writes the file for node_exporter's textfile collector, atomically.

    Raises:
        OSError: the folder cannot be written.
    """
    path = folder / TEXTFILE
    write_to_textfile(str(path), Profiles(store))
    path.chmod(0o644)  # node_exporter is another user
    give_to_caller(path)


class _Families:
    """The metrics of all paths."""

    def __init__(self) -> None:
        self._throughput = _family(HistogramMetricFamily, "throughput_bytes_per_second", "Goodput of measurements.")
        self._round_trip = _family(HistogramMetricFamily, "round_trip_seconds", "Median round trip of measurements.")
        self._measurements = _family(CounterMetricFamily, "measurements", "Measurements, by their end.", "end")
        self._verdict = _family(GaugeMetricFamily, "verdict", "1 for what the newest measurement says.", "verdict")
        self._gauges = {
            name: _family(GaugeMetricFamily, name, text)
            for name, text in {
                "last_throughput_bytes_per_second": "Goodput of the newest measurement.",
                "usual_throughput_bytes_per_second": "Median goodput of the measurements before it.",
                "last_round_trip_seconds": "Median round trip of the newest measurement.",
                "last_measurement_timestamp_seconds": "When the newest measurement began.",
                "alert": "1 if the newest two measurements were bad.",
            }.items()
        }

    def add(self, labels: tuple[str, str], now: Condition, pasts: Sequence[PastMeasurement]) -> None:
        of_path = [past for past in pasts if past.measures_path]
        rates = [past.goodput_bps / 8 for past in of_path if past.goodput_bps]
        _observe(self._throughput, labels, _RATES, rates)
        _observe(self._round_trip, labels, _ROUND_TRIPS_S, [t for past in of_path if (t := _round_trip_s(past))])
        for end in ("done", "failed"):
            count = sum(str(past.status) == end for past in pasts)
            self._measurements.add_metric([*labels, end], count)
        for health in Health:
            self._verdict.add_metric([*labels, health], float(health is now.health))
        newest = now.newest
        values = {
            "last_throughput_bytes_per_second": (newest.goodput_bps or 0.0) / 8 if newest else None,
            "usual_throughput_bytes_per_second": now.usual_bps / 8 if now.usual_bps else None,
            "last_round_trip_seconds": _round_trip_s(newest) if newest else None,
            "last_measurement_timestamp_seconds": newest.at.timestamp() if newest else None,
            "alert": float(now.is_alert),
        }
        for name, value in values.items():
            if value is not None:
                self._gauges[name].add_metric(labels, value)

    def all(self) -> list[Metric]:
        return [self._throughput, self._round_trip, self._measurements, self._verdict, *self._gauges.values()]


def _family(kind: Callable[..., _Family], name: str, text: str, *more: str) -> _Family:
    return kind(f"flightpath_preflight_{name}", text, labels=[*_LABELS, *more])


def _observe(
    family: HistogramMetricFamily, labels: Sequence[str], bounds: Sequence[float], values: Sequence[float]
) -> None:
    counts = [0] * (len(bounds) + 1)
    for value in values:
        counts[bisect_left(bounds, value)] += 1
    names = [*(f"{bound:g}" for bound in bounds), "+Inf"]
    buckets = [(name, float(sum(counts[: number + 1]))) for number, name in enumerate(names)]
    family.add_metric(labels, buckets, sum(values))


def _round_trip_s(past: PastMeasurement) -> float | None:
    return past.metrics["rtt"] / 1000 if "rtt" in past.metrics else None
