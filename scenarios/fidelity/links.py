"""Judges what the links say of themselves during the load: a link that is late or loses packets is another link.

Thresholds, and why:

- Lateness. A packet that leaves a link later than due sees a longer link: 1 ms at the 99th percentile is well above
  any scheduling noise of a machine that keeps up (measured: 0.1 to 0.3 ms) and below what would move a service time
  that is counted in tens of milliseconds. 10 ms is a different network.
- Drops. A full queue drops, and loss that was asked for loses: that is the network. Any other cause is not: what the
  emulator itself could not deliver (`malformed`, `device`), and what nobody asked for (a black hole, a cable that is
  down, loss). TCP takes each as congestion, and a loss of 0.1 % is enough to halve a long transfer (Mathis et al.,
  1997); fewer of the emulator's own are degraded.
- Super-frames. A super-frame arrives whole, so it delays others, and a receiver sees it as a burst, for as long as it
  takes on the wire. Links are built to keep that to 1 ms; 1.5 ms means that the bound was not applied.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from results.records import Verdict
from scenarios.fidelity.findings import Finding, direction_name, told
from topologies.links.changes import DIRECTIONS
from topologies.links.emulated_link import EmulatedLink
from topologies.links.events import LinkEvent, ends_of, find
from topologies.links.spec import drop_causes

LATE_P99_DEGRADED_US = 1_000.0
LATE_P99_UNUSABLE_US = 10_000.0
EMULATOR_DROPS = ("malformed", "device")
EMULATOR_DROPS_UNUSABLE_SHARE = 0.001
MAX_FRAME_MS = 1.5

Asked = Mapping[str, Mapping[str, Collection[str]]]
"""Per link and direction, the causes for which packets may be dropped."""


def judge_links(links: Mapping[str, Any], asked: Asked) -> list[Finding]:
    """Findings on what the link emulators say of themselves.

    Args:
        links: `probes.counters.links.summary` after the load.
        asked: from `asked_drops`.
    """
    found: dict[tuple[Verdict, str], list[str]] = {}
    for name, directions in links.items():
        for way, counters in directions.items():
            for verdict, what, case in _faults(counters, asked.get(name, {}).get(way, ("queue",))):
                found.setdefault((verdict, what), []).append(f"{direction_name(name, way)} {case}")
    return [finding for (verdict, what), cases in found.items() for finding in told(verdict, what, cases)]


def asked_drops(links: Mapping[str, EmulatedLink], events: Iterable[LinkEvent] = ()) -> Asked:
    """The causes for which each link may drop packets: what its specification and the events for it ask for."""
    asked = {
        name: {way: {"queue", *drop_causes(vars(getattr(link, way)))} for way in DIRECTIONS}
        for name, link in links.items()
    }
    names, ends = list(links), [ends_of(link) for link in links.values()]
    for event in events:
        number, directions = find(event.link, ends)
        for way in directions:
            asked[names[number]][way] |= _causes_of_event(event)
    return asked


def _faults(counters: Mapping[str, Any], asked: Collection[str]) -> list[tuple[Verdict, str, str]]:
    return [*_lateness(counters), *_drops(counters, asked), *_super_frames(counters)]


def _lateness(counters: Mapping[str, Any]) -> list[tuple[Verdict, str, str]]:
    late_us = (counters.get("lateness_us") or {}).get("p99", 0.0)
    if late_us <= LATE_P99_DEGRADED_US:
        return []
    verdict = Verdict.UNUSABLE if late_us > LATE_P99_UNUSABLE_US else Verdict.DEGRADED
    share = counters.get("late_share")
    told_share = f" ({share:.0%} over 1 ms)" if share else ""
    return [(verdict, "1 % of the packets left late", f"{late_us / 1e3:.1f} ms or more{told_share}")]


def _drops(counters: Mapping[str, Any], asked: Collection[str]) -> list[tuple[Verdict, str, str]]:
    faults = []
    drops = {cause: count for cause, count in counters["drops"].items() if count and cause not in asked}
    if own := sum(drops.pop(cause, 0) for cause in EMULATOR_DROPS):
        share = own / max(1, own + counters.get("packets", 0))
        verdict = Verdict.UNUSABLE if share > EMULATOR_DROPS_UNUSABLE_SHARE else Verdict.DEGRADED
        faults.append((verdict, "packets were lost by the emulator itself", f"{own}"))
    if drops:
        counted = ", ".join(f"{count} by {cause}" for cause, count in drops.items())
        faults.append((Verdict.UNUSABLE, "packets were dropped for a cause that nobody asked for", counted))
    return faults


def _super_frames(counters: Mapping[str, Any]) -> list[tuple[Verdict, str, str]]:
    bound_bytes, rate_bps = counters.get("max_frame_bytes"), counters.get("rate_bps")
    if not bound_bytes or not rate_bps or bound_bytes * 8e3 / rate_bps <= MAX_FRAME_MS:
        return []
    length = f"{bound_bytes} bytes, {bound_bytes * 8e3 / rate_bps:.1f} ms on the wire"
    return [(Verdict.DEGRADED, "super-frames were longer than they should be", length)]


def _causes_of_event(event: LinkEvent) -> set[str]:
    """The causes of drops that an event adds."""
    causes = drop_causes(event.fields)
    causes |= {"down"} if event.carrier is False else set()
    causes |= {"blackhole"} if event.black_hole else set()
    return causes
