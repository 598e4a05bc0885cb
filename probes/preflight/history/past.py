"""Stored measurements of a far end, for history, comparison and check."""

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from flightpath.errors import UsageError
from flightpath.units import counted, format_bytes, parse_span
from probes.preflight.history.recording import SCENARIO, limit_of, route_changed, unusual
from probes.preflight.records import LimitedBy
from probes.preflight.spec import NO_INFLUENCE, TransferSpec
from probes.preflight.url import is_url, split_url
from results.records import RunStatus
from results.store.history import PastRun
from results.store.query import RunQuery
from results.store.store import Store

METRICS = (
    *("goodput", "rtt", "rtt_min", "connect", "first_byte", "mss", "send_buffer", "receive_buffer", "connections"),
    *("retransmitted", "loss", "out_of_order", "window_limited", "send_buffer_limited", "transfer", "cpu"),
)
_MAX_VALUE = 1e15
"""Bound of metrics: above any rate in bit/s, and low enough for finite sums."""

_FORMS = "accepted forms: 2026-11-21, 2026-11-21T10:00, 7d (an age)"


@dataclass(frozen=True)
class PastMeasurement:
    """One stored measurement.

    Attributes:
        host, target: far end as it was typed, and as `USER@HOST:PORT`.
        configuration: the fields of its `TransferSpec` as JSON values.
        goodputs_bps: goodputs of the iterations that measured the path; of all others if none did.
        verdict: worst verdict of its iterations.
        reasons: limits of iterations that did not measure the path, and why a measurement failed.
        measures_path: whether at least one iteration did.
        route: the routers in one line; "" if it was not traced.
        metrics: medians by name over the iterations of `goodputs_bps`.
    """

    run_id: str
    at: datetime
    host: str
    target: str
    configuration: Mapping[str, Any]
    goodputs_bps: tuple[float, ...]
    verdict: LimitedBy
    reasons: tuple[str, ...]
    measures_path: bool
    status: RunStatus
    route: str
    metrics: Mapping[str, float]
    profile: str = ""

    @property
    def goodput_bps(self) -> float | None:
        """The median of its iterations; as they share their moment, a measurement counts as one value."""
        return statistics.median(self.goodputs_bps) if self.goodputs_bps else None

    @property
    def has_ended(self) -> bool:
        """Whether it ended by itself: others may be going on, or say nothing of the path."""
        return self.status in (RunStatus.DONE, RunStatus.FAILED)

    @property
    def direction(self) -> str:
        return str(self.configuration.get("direction", ""))

    @property
    def conditions(self) -> tuple[tuple[str, str], ...]:
        """The far end and all settings with an influence: what comparable measurements have in common."""
        return (("target", self.target), *influences(self.configuration))

    @classmethod
    def of(cls, run: PastRun) -> "PastMeasurement":
        of_path = [cell for cell in run.cells if limit_of(cell.reasons).measures_path]
        used = [replace(cell, metrics=_plausible(cell.metrics)) for cell in of_path or run.cells]
        names = dict.fromkeys(name for cell in used for name in cell.metrics)
        plan = run.record.plan
        failure = [error] if isinstance(error := run.record.environment.get("error"), str) else []
        return cls(
            run_id=run.record.run_id,
            at=run.record.started_at,
            host=str(plan.get("host", "")),
            target=str(plan.get("target", "")),
            configuration=configuration if isinstance(configuration := plan.get("configuration"), Mapping) else {},
            goodputs_bps=tuple(goodput for cell in used if (goodput := cell.metrics.get("goodput", 0.0)) > 0),
            verdict=LimitedBy.worst(limit_of(cell.reasons) for cell in run.cells),
            reasons=tuple(dict.fromkeys([*(reason for cell in run.cells for reason in cell.reasons), *failure])),
            measures_path=bool(of_path),
            status=run.record.status,
            route=str(run.record.environment.get("route", "")),
            metrics={
                name: statistics.median(cell.metrics[name] for cell in used if name in cell.metrics) for name in names
            },
            profile=str(plan.get("profile", "")),
        )


def _plausible(metrics: Mapping[str, float]) -> dict[str, float]:
    """Drops impossible values; the store may hold runs that were imported from anywhere."""
    return {name: value for name, value in metrics.items() if 0 <= value <= _MAX_VALUE}


def load(store: Store, host: str, last: int | None = None, time_range: str = "..") -> list[PastMeasurement]:
    """Returns the stored measurements of a far end, oldest first; in a time range (`parse_range`) there may be none."""
    since, until = parse_range(time_range)
    name = host_name(host)
    pasts = [PastMeasurement.of(run) for run in store.history(RunQuery(SCENARIO, name, last, since, until), METRICS)]
    if not pasts and not ((since or until) and store.count(RunQuery(SCENARIO, name))):
        hosts = store.hosts(SCENARIO)
        raise UsageError(
            f"no measurement of {name!r} is stored in {store.name}",
            f"measured were: {', '.join(hosts[:20])}" if hosts else "measure it first: preflight [USER@]HOST",
        )
    return pasts


def load_one(store: Store, run: str) -> PastMeasurement:
    """Returns one stored measurement by its run, or an unambiguous beginning of it."""
    run_id = store.resolve(run)
    runs = store.history(RunQuery(SCENARIO, run_id=run_id), METRICS)
    if not runs:
        raise UsageError(f"{run_id} is not a measurement of preflight", "`flightpath results show` shows other runs")
    return PastMeasurement.of(runs[0])


def host_name(text: str) -> str:
    """Returns the name under which measurements are stored: without user, a URL without a file, and so on."""
    if is_url(text):
        return split_url(text)[0]
    name = text.rpartition("@")[2].removeprefix("[").removesuffix("]")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{name!r} is no name of a machine: it is not UTF-8") from None
    return name


def ends_of(name: str) -> tuple[str, str] | None:
    """Returns the sites of a path of a matrix, `SOURCE/TARGET`; None for the name of a far end."""
    source, slash, target = name.partition("/")
    return (source, target) if slash and not is_url(name) else None


def comparable(pasts: Sequence[PastMeasurement], to: PastMeasurement) -> list[PastMeasurement]:
    """Returns those that measured the path under the same conditions as another, in their order."""
    return [past for past in pasts if past.measures_path and past.goodputs_bps and past.conditions == to.conditions]


def influences(configuration: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Returns the settings that change what an iteration measures, without those that are as they always were."""
    defaults = asdict(TransferSpec())
    known = {name: value for name, value in configuration.items() if name not in NO_INFLUENCE}
    return tuple(sorted((name, str(value)) for name, value in known.items() if value != defaults.get(name)))


def describe(configuration: Mapping[str, Any]) -> str:
    """Returns a configuration in a few words: direction, streams, and what differs from the default."""
    words = [str(configuration.get("direction", "?")), counted(configuration.get("streams", 1), "stream")]
    for name, value in unusual(configuration).items():
        words.append(_label(name) if value is True else f"{_label(name)} {_value_text(name, value)}")
    return ", ".join(words)


def changes(before: PastMeasurement, after: PastMeasurement) -> list[str]:
    """Returns the differences of far end, configuration and route between two measurements, in words."""
    differences = [] if before.target == after.target else [f"far end: {before.target} became {after.target}"]
    for name in dict.fromkeys([*before.configuration, *after.configuration]):
        old, new = before.configuration.get(name), after.configuration.get(name)
        if name not in NO_INFLUENCE and old != new:
            differences.append(f"{_label(name)}: {_value_text(name, old)} became {_value_text(name, new)}")
    if before.route and after.route and route_changed(before.route, after.route):
        differences.append("the route changed")
    return differences


def parse_range(time_range: str, now: datetime | None = None) -> tuple[datetime | None, datetime | None]:
    """Returns the moments at which a time range begins and ends; None where it is open.

    It is `FROM..UNTIL`, each an ISO date or time (local unless it names a zone), an age such as `7d` (from now), or
    nothing; a date as UNTIL includes its day.
    """
    start, _, end = (part.strip() for part in time_range.partition(".."))
    now = now or datetime.now(UTC)
    until = _parse_moment(end, now)
    if until and re.fullmatch(r"\d{4}-\d\d-\d\d", end):
        until += timedelta(days=1)
    return _parse_moment(start, now), until


def _parse_moment(text: str, now: datetime) -> datetime | None:
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        try:
            return now - timedelta(seconds=parse_span(text))
        except (UsageError, OverflowError):
            raise UsageError(f"{text!r} is neither a time nor an age", _FORMS) from None


def _label(name: str) -> str:
    return name.removesuffix("_bytes").removesuffix("_bps").removesuffix("_s").replace("_", " ")


def _value_text(name: str, value: Any) -> str:
    if value is None:
        return "automatic"
    if not isinstance(value, (int, float)):  # the record may be anybody's
        return str(value)
    if name.endswith("_bytes") or name == "byte_limit":
        for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
            if value >= scale and value % scale == 0 and value % 1000:  # 2 GB are 1953125 KiB, too
                return f"{value // scale} {unit}"
        return format_bytes(value)
    return f"{value:g} s" if name.endswith("_s") else str(value)
