"""Certificates as tables: a row for each cell, a row for each direction of a link, and histograms as text."""

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import get_args

from flightpath.units import format_bandwidth
from results.records import CellResult, Verdict
from results.summary.facts import Direction, Facts, LinkBeforeLoad, LinkDuringLoad

NONE = "-"
_DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
_Before = Mapping[tuple[str, Direction], LinkBeforeLoad]
_During = Mapping[tuple[str, Direction], LinkDuringLoad]
_BLOCKS = "▁▂▃▄▅▆▇█"
_SPARKLINE_COLUMNS = 60
_BINS = ((14, "≤ 16 us"), (16, "≤ 66 us"), (18, "≤ 0.26 ms"), (20, "≤ 1 ms"), (22, "≤ 4 ms"), (64, "> 4 ms"))
"""Bins of lateness: end of each in the recorded histogram, whose bins are powers of two in ns, and name."""

LATENESS_BINS = tuple(name for _, name in _BINS)


@dataclass(frozen=True)
class LinkRow:
    """One direction of a link; `-` where nothing is known.

    Attributes:
        rate, delay, rtt: values before the load, with the requested ones; `rtt` is of both directions.
        packets, drops: counts during the load.
        lateness: percentiles of the packets' lateness; `late_bins` are the shares in `LATENESS_BINS`.
        gso_packets: size of the longest GSO packet that passes whole.
        cpu: CPU of the emulator, for both directions (one thread may serve both), in % of a core.
        notes: properties that were not judged or checked.
    """

    name: str
    requested: str
    rate: str
    delay: str
    rtt: str
    packets: str
    drops: str
    lateness: str
    late_bins: tuple[float, ...]
    gso_packets: str
    cpu: str
    notes: str


@dataclass(frozen=True)
class CertificateRow:
    """A cell's certificate in one line: the worst value of each quantity."""

    label: str
    verdict: Verdict
    rate: str
    rtt: str
    late: str
    drops: str
    idle: str
    steal: str


def link_rows(facts: Facts) -> list[LinkRow]:
    before, during = _before(facts), _during(facts)
    return [_link_row(name, way, before, during) for name, way in dict.fromkeys([*before, *during])]


def certificate_row(cell: CellResult, facts: Facts) -> CertificateRow:
    idle, steal, before, during = facts.idle_cpu_percent, facts.steal_percent, _before(facts), _during(facts)
    trips = [_rtt_error(before, name) for name in dict.fromkeys(name for name, _ in before)]
    late = [link.lateness_us.p99 for link in during.values() if link.lateness_us]
    drops: Counter[str] = Counter()
    for link in during.values():
        drops.update({cause: count or 0 for cause, count in (link.drops or {}).items()})
    return CertificateRow(
        cell.cell.label,
        cell.certificate.verdict,
        _worst((link.rate_error for link in facts.links_before_load), "+.2%"),
        _worst(trips, "+.2f", " ms"),
        f"{max(late) / 1e3:.2f} ms" if late else NONE,
        _drops_text(drops) if during else NONE,
        f"{statistics.fmean(idle):.0f} % (least {min(idle):.0f} %)" if idle else NONE,
        f"{statistics.fmean(steal):.1f} %" if steal else NONE,
    )


def sparkline(values: Sequence[float], highest: float = 100.0) -> str:
    """Returns a series as a line of blocks, at most 60 long: longer series are averaged."""
    if not values:
        return NONE
    step = -(-len(values) // _SPARKLINE_COLUMNS)
    means = [statistics.fmean(values[i : i + step]) for i in range(0, len(values), step)]
    return "".join(_BLOCKS[min(7, max(0, int(value / highest * 8)))] for value in means)


def histogram(shares: Sequence[float]) -> str:
    """Returns a histogram as a line of blocks; only empty bins are blank."""
    return "".join(_BLOCKS[min(7, int(share * 8))] if share else " " for share in shares) if shares else NONE


def round_trips(facts: Facts) -> list[tuple[str, str]]:
    """Returns the name of each round trip, and its time before the load with the requested one."""
    return [
        (f"{trip.source}-{trip.target}, interface {trip.port}", _of(trip.rtt_ms, trip.expected_rtt_ms))
        for trip in facts.paths_before_load
        if trip.rtt_ms is not None and trip.expected_rtt_ms is not None
    ]


def _before(facts: Facts) -> _Before:
    return {(link.link, link.direction): link for link in facts.links_before_load}


def _during(facts: Facts) -> _During:
    return {(name, way): link for name, ways in facts.links_during_load.items() for way, link in ways.items()}


def _link_row(name: str, way: Direction, before: _Before, during: _During) -> LinkRow:
    unmeasured = LinkBeforeLoad(link=name, direction=way)
    measured, counters = before.get((name, way), unmeasured), during.get((name, way), LinkDuringLoad())
    bound = measured.max_frame_bytes if counters.max_frame_bytes is None else counters.max_frame_bytes
    rate, error, late = measured.rate_bps, measured.rate_error, counters.lateness_us
    cpu = [during.get((name, each), LinkDuringLoad()).cpu_percent for each in _DIRECTIONS]
    return LinkRow(
        name=f"{name} {way.replace('_', ' ')}",
        requested=measured.asked or NONE,
        rate=NONE if rate is None or error is None else f"{format_bandwidth(rate)} ({error:+.2%})",
        delay=_of(measured.delay_ms, measured.expected_delay_ms),
        rtt=_of(*_round_trip(before, name)),
        packets=NONE if counters.packets is None else str(counters.packets),
        drops=_drops_text(counters.drops or {}) if (name, way) in during else NONE,
        lateness=f"{late.p50 / 1e3:.2f} / {late.p99 / 1e3:.2f} / {late.max / 1e3:.2f} ms" if late else NONE,
        late_bins=_bins(counters.lateness_histogram or ()),
        gso_packets=NONE if bound is None else f"{bound} B" if bound else "none",
        cpu=NONE if (total := _sum(cpu)) is None else f"{total:.0f} %",
        notes="; ".join([*(measured.unchecked or ()), *(measured.not_judged or ())]),
    )


def _round_trip(before: _Before, name: str) -> tuple[float | None, float | None]:
    """Returns the round-trip time of a link, measured and requested."""
    both = [before.get((name, way)) for way in _DIRECTIONS]
    links = [link for link in both if link is not None]
    if len(links) < len(both):
        return None, None
    return _sum([link.delay_ms for link in links]), _sum([link.expected_delay_ms for link in links])


def _rtt_error(before: _Before, name: str) -> float | None:
    measured, requested = _round_trip(before, name)
    return None if measured is None or requested is None else measured - requested


def _sum(numbers: Sequence[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def _of(measured_ms: float | None, requested_ms: float | None) -> str:
    if measured_ms is None or requested_ms is None:
        return NONE
    return f"{max(0.0, measured_ms):.2f} ms ({requested_ms:g} requested)"


def _bins(counts: Sequence[int]) -> tuple[float, ...]:
    total, ends = sum(counts), [0, *(end for end, _ in _BINS)]
    return tuple(sum(counts[start:end]) / total for start, end in pairwise(ends)) if total else ()


def _drops_text(drops: Mapping[str, int | None]) -> str:
    return ", ".join(f"{count} {cause}" for cause, count in drops.items() if count) or "none"


def _worst(errors: Iterable[float | None], form: str, unit: str = "") -> str:
    known = [error for error in errors if error is not None]
    return f"{max(known, key=abs):{form}}{unit}" if known else NONE
