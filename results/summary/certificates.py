"""A certificate's facts as a reader can take them in: without it they would be pages of JSON per cell.

Certificates come from the store, also from older or other versions, so nothing here relies on a fact being there.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flightpath.units import format_bandwidth
from results.records import CellResult, Certificate, Verdict

NONE = "-"
_DIRECTIONS = ("a_to_b", "b_to_a")
_Links = Mapping[tuple[str, str], Mapping[str, Any]]
_BLOCKS = "▁▂▃▄▅▆▇█"
_SERIES_COLUMNS = 60
_BINS = ((14, "≤ 16 us"), (16, "≤ 66 us"), (18, "≤ 0.26 ms"), (20, "≤ 1 ms"), (22, "≤ 4 ms"), (64, "> 4 ms"))
"""Of the lateness histogram: powers of two in ns, as far as which each of ours goes."""


@dataclass(frozen=True)
class LinkRow:
    """One direction of a link as a table shows it; `-` where nothing is known.

    Attributes:
        name: with its direction.
        asked: the specification in words.
        rate, delay, rtt: before the load, found of asked; `rtt` is of both directions.
        packets: that arrived during the load.
        drops: during it, by cause.
        lateness: percentiles of how late packets left; `late_bins` are shares by `LATENESS_BINS`.
        super_frames: the longest that the link takes.
        cpu: of the emulator, both directions together (one thread may serve both), in % of a core.
        notes: what was not judged or could not be checked.
    """

    name: str
    asked: str
    rate: str
    delay: str
    rtt: str
    packets: str
    drops: str
    lateness: str
    late_bins: tuple[float, ...]
    super_frames: str
    cpu: str
    notes: str


LATENESS_BINS = tuple(name for _, name in _BINS)


@dataclass(frozen=True)
class CellRow:
    """One cell's certificate in a line: of each quantity the worst that any link or second had."""

    label: str
    verdict: Verdict
    rate: str
    rtt: str
    late: str
    drops: str
    idle: str
    steal: str


def link_rows(certificate: Certificate) -> list[LinkRow]:
    """Every direction of every link, before and during the load; none in a certificate without them."""
    before = _before(certificate)
    during = _during(certificate)
    return [_link_row(name, way, before, during) for name, way in dict.fromkeys([*before, *during])]


def cell_row(result: CellResult) -> CellRow:
    """A cell's certificate in a line."""
    certificate = result.certificate
    idle, steal = (certificate.found.get(name) or () for name in ("idle_cpu_percent", "steal_percent"))
    return CellRow(
        result.cell.label,
        certificate.verdict,
        _worst_rate(certificate),
        _worst_rtt(certificate),
        _worst_lateness(certificate),
        drops_text(_all_drops(certificate)) if _during(certificate) else NONE,
        f"{statistics.fmean(idle):.0f} % (least {min(idle):.0f} %)" if idle else NONE,
        f"{statistics.fmean(steal):.1f} %" if steal else NONE,
    )


def course(values: Sequence[float], highest: float = 100.0) -> str:
    """A series as blocks, one a value; a long one is averaged down to 60."""
    if not values:
        return NONE
    step = -(-len(values) // _SERIES_COLUMNS)
    means = [statistics.fmean(values[i : i + step]) for i in range(0, len(values), step)]
    return "".join(_BLOCKS[min(7, max(0, int(value / highest * 8)))] for value in means)


def bins_course(shares: Sequence[float]) -> str:
    """A histogram as blocks; a bin that is empty is blank, one that is not is never."""
    return "".join(_BLOCKS[min(7, int(share * 8))] if share else " " for share in shares) if shares else NONE


def path_rows(certificate: Certificate) -> list[tuple[str, str]]:
    """Each path with its round trip before the load, found of asked."""
    return [
        (
            f"{path.get('source')}-{path.get('target')}, interface {path.get('port')}",
            f"{path['rtt_ms']:.2f} of {path['expected_rtt_ms']:.2f} ms",
        )
        for path in certificate.found.get("paths_before_load") or ()
        if {"rtt_ms", "expected_rtt_ms"} <= path.keys()
    ]


def drops_text(drops: Mapping[str, int]) -> str:
    """Drops by cause, without those that did not happen."""
    return ", ".join(f"{count} {cause}" for cause, count in drops.items() if count) or "none"


def _before(certificate: Certificate) -> _Links:
    return {(link["link"], link["direction"]): link for link in certificate.found.get("links_before_load") or ()}


def _during(certificate: Certificate) -> _Links:
    links = certificate.found.get("links_during_load") or {}
    return {(name, way): counters for name, ways in links.items() for way, counters in ways.items()}


def _link_row(name: str, way: str, before: _Links, during: _Links) -> LinkRow:
    found, counters = before.get((name, way), {}), during.get((name, way), {})
    bound = counters.get("max_frame_bytes", found.get("max_frame_bytes"))
    cpu = [during.get((name, each), {}).get("cpu_percent") for each in _DIRECTIONS]
    return LinkRow(
        name=f"{name} {way.replace('_', ' ')}",
        asked=found.get("asked") or NONE,
        rate=_rate_text(found),
        delay=_of(found.get("delay_ms"), found.get("expected_delay_ms"), "ms"),
        rtt=_rtt_text([before.get((name, each), {}) for each in _DIRECTIONS]),
        packets=str(counters.get("packets", NONE)),
        drops=drops_text(counters.get("drops") or {}) if counters else NONE,
        lateness=_lateness_text(counters),
        late_bins=_bins(counters.get("lateness_histogram") or ()),
        super_frames=NONE if bound is None else f"{bound} B" if bound else "none",
        cpu=NONE if None in cpu else f"{sum(cpu):.0f} %",
        notes="; ".join([*(found.get("unchecked") or ()), *(found.get("not_judged") or ())]),
    )


def _rate_text(found: Mapping[str, Any]) -> str:
    rate_bps, expected_bps = found.get("rate_bps"), found.get("expected_rate_bps")
    if rate_bps is None or not expected_bps:
        return NONE
    return f"{format_bandwidth(rate_bps)} ({rate_bps / expected_bps - 1:+.2%})"


def _rtt_text(both: Sequence[Mapping[str, Any]]) -> str:
    found = [each.get("delay_ms") for each in both]
    expected = [each.get("expected_delay_ms") for each in both]
    if None in found or None in expected:
        return NONE
    return _of(sum(found), sum(expected), "ms")


def _of(found: float | None, expected: float | None, unit: str) -> str:
    if found is None or expected is None:
        return NONE
    return f"{max(0.0, found):.2f} of {expected:.2f} {unit}"


def _lateness_text(counters: Mapping[str, Any]) -> str:
    late_us = counters.get("lateness_us")
    if not late_us:
        return NONE
    return " / ".join(f"{late_us[key] / 1e3:.2f}" for key in ("p50", "p99", "max")) + " ms"


def _bins(counts: Sequence[int]) -> tuple[float, ...]:
    total, start, shares = sum(counts), 0, []
    for end, _ in _BINS:
        shares.append(sum(counts[start:end]) / total if total else 0.0)
        start = end
    return tuple(shares) if total else ()


def _worst_rate(certificate: Certificate) -> str:
    errors = [
        link["rate_bps"] / link["expected_rate_bps"] - 1
        for link in _before(certificate).values()
        if link.get("rate_bps") is not None and link.get("expected_rate_bps")
    ]
    return f"{max(errors, key=abs):+.2%}" if errors else NONE


def _worst_rtt(certificate: Certificate) -> str:
    before = _before(certificate)
    errors = [sum(both) for both in (list(_delay_errors(before, name)) for name, _ in before) if len(both) == 2]
    return f"{max(errors, key=abs):+.2f} ms" if errors else NONE


def _delay_errors(before: _Links, name: str) -> Iterator[float]:
    for way in _DIRECTIONS:
        link = before.get((name, way), {})
        if link.get("delay_ms") is not None and link.get("expected_delay_ms") is not None:
            yield link["delay_ms"] - link["expected_delay_ms"]


def _worst_lateness(certificate: Certificate) -> str:
    late = [counters["lateness_us"]["p99"] for counters in _during(certificate).values() if counters.get("lateness_us")]
    return f"{max(late) / 1e3:.2f} ms" if late else NONE


def _all_drops(certificate: Certificate) -> dict[str, int]:
    total: dict[str, int] = {}
    for counters in _during(certificate).values():
        for cause, count in (counters.get("drops") or {}).items():
            total[cause] = total.get(cause, 0) + (count or 0)
    return total
