"""A Grafana dashboard of what `metrics` exposes."""

from collections.abc import Sequence
from typing import Any

from probes.preflight.history.health import Health

_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_PREFIX = "flightpath_preflight_"
_CHOSEN = '{profile=~"$profile",path=~"$path"}'
_NAME = "{{profile}} {{path}}"
_COLOURS = {
    Health.HEALTHY: "green",
    Health.UNKNOWN: "blue",
    Health.WORSE: "orange",
    Health.UNTRUSTWORTHY: "yellow",
    Health.FAILED: "red",
}


def dashboard() -> dict[str, Any]:
    """Returns the dashboard in Grafana's JSON model, as its import takes it."""
    throughput, round_trip = f"{_PREFIX}throughput_bytes_per_second", f"{_PREFIX}round_trip_seconds"
    last_s = f"{_PREFIX}last_round_trip_seconds{_CHOSEN}"
    age = f"time() - {_PREFIX}last_measurement_timestamp_seconds{_CHOSEN}"
    number = " + ".join(
        f'{level} * max by (profile, path) ({_PREFIX}verdict{{profile=~"$profile",path=~"$path",verdict="{health}"}})'
        for level, health in enumerate(Health)
    )
    rates = [
        (f"{_PREFIX}last_throughput_bytes_per_second{_CHOSEN}", _NAME),
        (f"{_PREFIX}usual_throughput_bytes_per_second{_CHOSEN}", f"{_NAME} usual"),
    ]
    panels = [
        _panel("state-timeline", "Verdict", [(number, _NAME)], (0, 0, 24, 8), mappings=_mappings()),
        _panel("timeseries", "Throughput", rates, (0, 8, 12, 9), unit="Bps"),
        _panel("timeseries", "Round trip", [(last_s, _NAME)], (12, 8, 12, 9), unit="s"),
        _heatmap("How often which throughput", throughput, (0, 17, 12, 9), unit="Bps"),
        _heatmap("How often which round trip", round_trip, (12, 17, 12, 9), unit="s"),
        _panel("bargauge", "Age of the newest measurement", [(age, _NAME)], (0, 26, 12, 8), unit="s"),
        _panel(
            "timeseries",
            "Measurements a day, by their end",
            [(f"sum by (profile, end) (increase({_PREFIX}measurements_total{_CHOSEN}[1d]))", "{{profile}} {{end}}")],
            (12, 26, 12, 8),
        ),
    ]
    source = {"type": "datasource", "name": "datasource", "label": "Data source", "query": "prometheus"}
    return {
        "title": "Flightpath preflight",
        "uid": "flightpath-preflight",
        "tags": ["flightpath"],
        "timezone": "browser",
        "schemaVersion": 39,
        "editable": True,
        "refresh": "5m",
        "time": {"from": "now-7d", "to": "now"},
        "templating": {"list": [source, _variable("profile", ""), _variable("path", '{profile=~"$profile"}')]},
        "annotations": {"list": []},
        "panels": [{"id": number, **panel} for number, panel in enumerate(panels, start=1)],
    }


def _panel(
    kind: str,
    title: str,
    queries: Sequence[tuple[str, str]],
    place: tuple[int, int, int, int],
    *,
    unit: str = "none",
    mappings: Sequence[dict[str, Any]] = (),
    **of_target: Any,
) -> dict[str, Any]:
    """Returns a panel; the place is x, y, width and height on Grafana's grid of 24 columns."""
    return {
        "type": kind,
        "title": title,
        "datasource": _SOURCE,
        "gridPos": dict(zip("xywh", place, strict=True)),
        "targets": [
            {"refId": chr(ord("A") + number), "datasource": _SOURCE, "expr": query, "legendFormat": name, **of_target}
            for number, (query, name) in enumerate(queries)
        ],
        "fieldConfig": {"defaults": {"unit": unit, "mappings": list(mappings)}, "overrides": []},
        "options": {},
    }


def _heatmap(title: str, histogram: str, place: tuple[int, int, int, int], unit: str) -> dict[str, Any]:
    query = f"sum by (le) (increase({histogram}_bucket{_CHOSEN}[1d]))"
    panel = _panel("heatmap", title, [(query, "{{le}}")], place, unit=unit, format="heatmap")
    panel["options"] = {"calculate": False, "yAxis": {"unit": unit}}
    return panel


def _mappings() -> list[dict[str, Any]]:
    """Returns the names and colours of verdicts, which are numbers in the timeline."""
    texts = {
        str(level): {"text": str(health), "color": _COLOURS[health], "index": level}
        for level, health in enumerate(Health)
    }
    return [{"type": "value", "options": texts}]


def _variable(label: str, among: str) -> dict[str, Any]:
    query = f"label_values({_PREFIX}alert{among}, {label})"
    return {
        "type": "query",
        "name": label,
        "datasource": _SOURCE,
        "query": {"query": query, "refId": "StandardVariableQuery"},
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }
