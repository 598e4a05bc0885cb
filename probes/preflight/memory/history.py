"""What the memory knows of a far end, measurement by measurement: without it today could be compared with nothing."""

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from flightpath.errors import UsageError
from flightpath.units import format_bytes, parse_span
from probes.preflight import codec
from probes.preflight.memory.measurement import limit_of
from probes.preflight.memory.memory import NO_INFLUENCE, SCENARIO, route_changed
from probes.preflight.records import Verdict
from probes.preflight.spec import TransferSpec
from results.records import RunStatus
from results.store.history import PastCell, PastRun
from results.store.query import RunQuery
from results.store.store import Store

METRICS = (
    *("goodput", "rtt", "rtt_min", "mss", "send_buffer", "receive_buffer", "connections"),
    *("retransmitted", "loss", "out_of_order", "window_limited", "send_buffer_limited", "transfer", "cpu"),
)


@dataclass(frozen=True)
class Past:
    """One remembered measurement.

    Attributes:
        run_id: its run in the store.
        at: when it began.
        host, target: the far end as it was typed, and as `USER@HOST:PORT`.
        configuration: the fields of its `TransferSpec`, as JSON values.
        goodputs_bps: of the iterations that measured the path; of all others if none did.
        verdict: the worst of its iterations.
        reasons: why any of them is no figure of the path.
        measures_path: whether at least one iteration is.
        status: how it ended.
        route: the routers in one line; "" if it was not traced.
        metrics: the median of each over the iterations that count, by name.
    """

    run_id: str
    at: datetime
    host: str
    target: str
    configuration: Mapping[str, Any]
    goodputs_bps: tuple[float, ...]
    verdict: Verdict
    reasons: tuple[str, ...]
    measures_path: bool
    status: RunStatus
    route: str
    metrics: Mapping[str, float]

    @property
    def goodput_bps(self) -> float | None:
        """The median of its iterations: what one measurement counts for, since its iterations share their moment."""
        return statistics.median(self.goodputs_bps) if self.goodputs_bps else None

    @property
    def direction(self) -> str:
        """`download` or `upload`."""
        return str(self.configuration.get("direction", ""))

    @property
    def conditions(self) -> tuple[tuple[str, str], ...]:
        """What must be equal for two measurements to be comparable: the far end, and all that has an influence."""
        told = {name: str(value) for name, value in self.configuration.items() if name not in NO_INFLUENCE}
        return (("target", self.target), *sorted(told.items()))


def load(store: Store, host: str, last: int | None = None, time_range: str = "..") -> list[Past]:
    """The remembered measurements of a far end, oldest first; of a time range, there may be none.

    Args:
        store: the memory.
        host: as it was typed; a user before it is ignored.
        last: only so many, the newest.
        time_range: only those that `between` understands.

    Raises:
        UsageError: nothing is remembered of the host at all (names the hosts that are known), or the range is wrong.
    """
    since, until = between(time_range)
    choice = RunQuery(SCENARIO, host_name(host), last, since, until)
    found = [past_of(run) for run in store.history(choice, METRICS)]
    if not found and (since or until) and store.count(RunQuery(SCENARIO, host_name(host))):
        return []
    if not found:
        known = store.hosts(SCENARIO)
        raise UsageError(
            f"nothing is remembered of {host_name(host)!r} in {store.name}",
            f"remembered are: {', '.join(known[:20])}" if known else "measure it first: preflight [USER@]HOST",
        )
    return found


def one(store: Store, run: str) -> Past:
    """One remembered measurement, by its run or an unambiguous beginning of it.

    Raises:
        UsageError: there is none, or the run is of another scenario.
    """
    run_id = store.resolve(run)
    found = store.history(RunQuery(SCENARIO, run_id=run_id), METRICS)
    if not found:
        raise UsageError(f"{run_id} is no measurement of preflight", "`python -m results show` shows other runs")
    return past_of(found[0])


def host_name(text: str) -> str:
    """A far end without the user before it, and an IPv6 address without brackets, as measurements are filed under it.

    Raises:
        UsageError: it is not text.
    """
    name = text.rpartition("@")[2].removeprefix("[").removesuffix("]")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{name!r} is no name of a machine: it is not UTF-8") from None
    return name


def past_of(run: PastRun) -> Past:
    """A measurement as the store remembers it."""
    counting = [cell for cell in run.cells if limit_of(cell.reasons).measures_path]
    used = counting or list(run.cells)
    plan = run.record.plan
    return Past(
        run_id=run.record.run_id,
        at=run.record.started_at,
        host=str(plan.get("host", "")),
        target=str(plan.get("target", "")),
        configuration=plan.get("configuration", {}),
        goodputs_bps=tuple(cell.metrics["goodput"] for cell in used if "goodput" in cell.metrics),
        verdict=max((limit_of(cell.reasons) for cell in run.cells), key=list(Verdict).index, default=Verdict.OK),
        reasons=tuple(dict.fromkeys(reason for cell in run.cells for reason in cell.reasons)),
        measures_path=bool(counting),
        status=run.record.status,
        route=str(run.record.environment.get("route", "")),
        metrics=_medians(used),
    )


def comparable(pasts: Sequence[Past], to: Past) -> list[Past]:
    """Those that measured the path under the same conditions as one of them, itself included, in their order."""
    return [past for past in pasts if past.measures_path and past.goodputs_bps and past.conditions == to.conditions]


def short(configuration: Mapping[str, Any]) -> str:
    """A configuration in a few words: direction, streams, and what is not as usual."""
    usual, streams = codec.encode(TransferSpec()), configuration.get("streams", 1)
    words = [str(configuration.get("direction", "?")), f"{streams} stream" + ("" if streams == 1 else "s")]
    words += [
        _words(name, value)
        for name, value in configuration.items()
        if name not in ("direction", "streams", *NO_INFLUENCE) and value is not None and value != usual.get(name)
    ]
    return ", ".join(words)


def changes(before: Past, after: Past) -> list[str]:
    """What differs between two measurements apart from their figures, in words."""
    names = dict.fromkeys([*before.configuration, *after.configuration])
    found = [
        f"{_label(name)}: {_value(name, before.configuration.get(name))} became "
        f"{_value(name, after.configuration.get(name))}"
        for name in names
        if name not in NO_INFLUENCE and before.configuration.get(name) != after.configuration.get(name)
    ]
    if before.target != after.target:
        found.insert(0, f"far end: {before.target} became {after.target}")
    if before.route and after.route and route_changed(before.route, after.route):
        found.append("the route changed")
    return found


def between(time_range: str, now: datetime | None = None) -> tuple[datetime | None, datetime | None]:
    """The moments that a time range begins and ends with; None where it is open.

    Args:
        time_range: `FROM..UNTIL`, each an ISO date or time (local, unless it names its zone), an age as in `7d`, or
            nothing; a date as the end includes its day.
        now: what ages count from.

    Raises:
        UsageError: it cannot be read.
    """
    start, _, end = time_range.partition("..")
    now = now or datetime.now(UTC)
    return _moment(start, now, end_of_day=False), _moment(end, now, end_of_day=True)


def _moment(text: str, now: datetime, *, end_of_day: bool) -> datetime | None:
    text = text.strip()
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text).astimezone()
    except ValueError:
        try:
            return now - timedelta(seconds=parse_span(text))
        except (UsageError, OverflowError):
            raise UsageError(
                f"{text!r} is no moment", "accepted forms: 2026-11-21, 2026-11-21T10:00, 7d (so long ago)"
            ) from None
    whole_day = re.fullmatch(r"\d{4}-\d\d-\d\d", text) is not None
    return moment + timedelta(days=1) if whole_day and end_of_day else moment


def _medians(cells: Sequence[PastCell]) -> dict[str, float]:
    names = dict.fromkeys(name for cell in cells for name in cell.metrics)
    return {name: statistics.median(cell.metrics[name] for cell in cells if name in cell.metrics) for name in names}


def _words(name: str, value: object) -> str:
    return _label(name) if value is True else f"{_label(name)} {_value(name, value)}"


def _label(name: str) -> str:
    return name.removesuffix("_bytes").removesuffix("_bps").removesuffix("_s").replace("_", " ")


def _value(name: str, value: Any) -> str:
    if value is None:
        return "automatic"
    if name.endswith("_bytes") or name == "byte_limit":
        return _binary(value) or format_bytes(value)
    return f"{value:g} s" if name.endswith("_s") else str(value)


def _binary(size: int) -> str:
    """`64KiB` for what is a round number of them; "" for others."""
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= scale and size % scale == 0:
            return f"{size // scale}{unit}"
    return ""
