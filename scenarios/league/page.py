"""The league's record as a page."""

import statistics
from collections.abc import Iterator, Mapping, Sequence

from experiments.judging import EQUAL_PERCENT
from flightpath.clock import Clock
from flightpath.project import PROJECT
from results.metrics import Better, metric_kind
from results.pages.markdown_table import table
from results.records import Claim, Verdict
from results.summary.numbers import interval_text, scale
from scenarios.league.causes import RULE
from scenarios.league.paths import PATHS
from scenarios.league.record import Point, Record, Value
from scenarios.league.workloads import WORKLOADS

PAGE = PROJECT / "docs" / "league.md"

_INTRODUCTION = """\
# The transport league

What `flightpath run transport_league` measured, in virtual time. [transports.md](transports.md) says what each
transport, pair of paths and workload is. Bold is the best of a row and whatever cannot be told from it: what differs
by half a per cent at most, or has an interval (95 %, in brackets) that meets the best one's. Without an interval, all
repetitions were alike.

Written by `make league`; do not edit."""

_TITLES = {
    "bulk": "A download",
    "requests": "100 requests of 100 kB, one after the other",
    "stream": "A stream of 20 Mbit/s: parts that came within 100 ms",
    "shared": "A download beside TCP with cubic on the first path",
}
_SHARE = {"share_path2": "Share of the second path"}
_WHY: Mapping[str, Mapping[str, str]] = {
    "bulk": {
        **_SHARE,
        "lost": "Packets that QUIC's sender took for lost",
        "retransmissions": "Segments that TCP sent again",
    },
    "requests": {"latency_service_p99": "99th percentile", **_SHARE},
    "stream": {"latency_intended_p99": "99th percentile", **_SHARE},
    "shared": {"rival_goodput": "The other flow", **_SHARE},
}
"""Metrics that explain each workload, with their titles."""
_PROCESSORS = {
    "goodput": "Goodput",
    "cpu_sender": "Processor time of the sender, in per cent of a core",
    "cpu_receiver": "Processor time of the receiver, in per cent of a core",
}
"""Metrics of the downloads on the real clock, with their titles."""
_PROCESSORS_OF = """\
Processor time is that of the programs that transfer, with the kernel's work in their calls. The tunnel's own programs
are not counted."""
_NOTHING = 0.01
"""Least value that is shown: below it, a path carried no more than what its hosts said by themselves."""


def page_of(record: Record) -> str:
    """Returns the page."""
    return "\n\n".join("\n".join(part) for part in _parts(record)) + "\n"


def write_page(record: Record) -> None:
    """Writes the page."""
    PAGE.write_text(page_of(record), encoding="utf-8")


def _parts(record: Record) -> Iterator[Sequence[str]]:
    yield [_INTRODUCTION]
    virtual = [point for point in record.points if point.clock is Clock.VIRTUAL]
    if any(point.why for point in virtual):
        yield [RULE]
    for workload, title in _TITLES.items():
        points = [point for point in virtual if point.parameters["workload"] == workload]
        if points:
            metric = WORKLOADS[workload].headline
            yield [f"## {title}", "", *_table(record, points, metric, is_compared=True)]
            if any(point.why for point in points):
                yield ["Why:", "", *_causes(record, points)]
            for other, subtitle in _WHY[workload].items():
                if any(other in point.metrics for point in points):
                    yield [f"{subtitle}:", "", *_table(record, points, other)]
    yield from _processors(record)
    rows = [(each.claim, each.paper, each.measured or "-", _verdict(each)) for each in record.claims]
    yield ["## Claims", "", *table(("claim", "expected", "measured", "verdict"), rows)]
    yield ["## To repeat it", "", *_sources(record)]


def _processors(record: Record) -> Iterator[Sequence[str]]:
    """Yields what downloads cost the hosts, which only the real clock shows."""
    points = [point for point in record.points if point.clock is Clock.REAL and point.parameters["workload"] == "bulk"]
    if points:
        yield ["## A download on the real clock", "", _PROCESSORS_OF]
        measured = [metric for metric in _PROCESSORS if any(metric in point.metrics for point in points)]
        for metric in measured:
            yield [f"{_PROCESSORS[metric]}:", "", *_table(record, points, metric)]


def _verdict(claim: Claim) -> str:
    return f"**{claim.verdict}**" + (f": {claim.why}" if claim.why else "")


def _sources(record: Record) -> Iterator[str]:
    for source in record.sources:
        yield f"- `{source.command}` at commit {source.commit}: {source.certificate}"


def _table(record: Record, points: Sequence[Point], metric: str, *, is_compared: bool = False) -> list[str]:
    """Returns a metric of some points: a row for each pair of paths, a column for each transport that has it."""
    of_places = {
        (str(point.parameters["paths"]), str(point.parameters["transport"])): point
        for point in points
        if metric in point.metrics
    }
    transports = [name for name in _transports(record) if any(name == transport for _, transport in of_places)]
    usual = statistics.median(point.metrics[metric].value for point in of_places.values())
    factor, unit = scale([usual], record.units[metric])
    rows = []
    for paths in PATHS:
        row = {name: of_places[paths, name] for name in transports if (paths, name) in of_places}
        best = _best(row, metric) if is_compared and len(row) > 1 else ()
        if row:
            rows.append([f"`{paths}`", *(_text(row.get(name), metric, factor, name in best) for name in transports)])
    return table((f"paths ({unit})", *transports), rows)


def _causes(record: Record, points: Sequence[Point]) -> list[str]:
    of_places = {(point.parameters["paths"], point.parameters["transport"]): point.why for point in points}
    transports = [name for name in _transports(record) if any(name == transport for _, transport in of_places)]
    found = [paths for paths in PATHS if any(paths == place for place, _ in of_places)]
    rows = [[f"`{paths}`", *(of_places.get((paths, name)) or "-" for name in transports)] for paths in found]
    return table(("paths", *transports), rows)


def _transports(record: Record) -> list[str]:
    """Returns the transports, in the order in which they are compared."""
    known = ("tcp", "quic aioquic", "quic noq", "quic picoquic", "mptcp", "tunnel", "mpquic noq", "mpquic picoquic")
    found = dict.fromkeys(str(point.parameters["transport"]) for point in record.points)
    return sorted(found, key=lambda name: (known.index(name) if name in known else len(known), name))


def _text(point: Point | None, metric: str, factor: float, is_best: bool) -> str:
    if point is None:
        return "-"
    value = point.metrics[metric]
    text = _number(value.value, value.low, value.high, factor)
    text = f"**{text}**" if is_best else text
    return text if point.verdict is Verdict.FAITHFUL else f"{text} ({point.verdict})"


def _number(value: float, low: float | None, high: float | None, factor: float) -> str:
    """Formats a mean, with its interval if that says more: repetitions in virtual time are often alike."""
    if abs(value * factor) < _NOTHING:
        return "0"
    text = interval_text(value, None, None, factor)
    if low is None or high is None or {interval_text(bound, None, None, factor) for bound in (low, high)} == {text}:
        return text
    return interval_text(value, low, high, factor)


def _best(row: Mapping[str, Point], metric: str) -> set[str]:
    """Returns the transports with the best value, and those that cannot be told from it."""
    values = {name: point.metrics[metric] for name, point in row.items() if point.verdict is not Verdict.UNUSABLE}
    kind = metric_kind(metric)
    pick = min if kind is not None and kind.better is Better.LOWER else max
    if not values:
        return set()
    best = pick(values.values(), key=lambda each: each.value)
    return {name for name, value in values.items() if _is_alike(value, best)}


def _is_alike(one: Value, other: Value) -> bool:
    if abs(one.value - other.value) <= EQUAL_PERCENT / 100 * abs(other.value):
        return True
    if None in (one.low, one.high, other.low, other.high):
        return False
    return one.low <= other.high and other.low <= one.high  # type: ignore[operator]
