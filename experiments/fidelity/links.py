"""Judges the links by their own counters during the load.

Thresholds:

- Lateness. A packet that leaves a link late sees a longer link. 1 ms at the 99th percentile is well above the
  scheduling noise of a machine that keeps up (measured: 0.1 to 0.3 ms), and small against a service time of tens of
  milliseconds. With 10 ms it is a different network.
- Drops. A full queue drops packets, and so does configured loss: that is the network. Other causes are faults of the
  testbed: packets that the emulator could not deliver (`malformed`, `device`), and a black hole, a cut cable or loss
  that neither the specification nor an event explains. TCP takes each drop as congestion, and a loss of 0.1 % is enough
  to halve a long transfer (Mathis et al., 1997), so fewer undelivered packets degrade the cell.
- GSO packets. Such a packet arrives whole, so it delays other packets, and a receiver sees a burst, for as long as it
  takes on the wire. Links limit that to 1 ms; 1.5 ms means that the limit was not applied.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from experiments.fidelity.findings import Fault, Finding, direction_name, summarise
from results.records import Verdict
from topologies.links.changes import DIRECTIONS
from topologies.links.emulated_link import EmulatedLink
from topologies.links.events import LinkEvent, LinkNames, ends_of
from topologies.links.spec import drop_causes

LATE_P99_DEGRADED_US = 1_000.0
LATE_P99_UNUSABLE_US = 10_000.0
EMULATOR_DROPS = ("malformed", "device")
EMULATOR_DROPS_UNUSABLE_SHARE = 0.001
MAX_FRAME_MS = 1.5

DropCauses = Mapping[str, Mapping[str, Collection[str]]]
"""Per link and direction, the causes for which packets may be dropped."""


def judge_links(links: Mapping[str, Any], expected: DropCauses) -> list[Finding]:
    """Findings on the counters of the link emulators: `probes.counters.links.summary` after the load."""
    return summarise(
        fault
        for link, direction, counters in _directions(links)
        for fault in _faults(
            direction_name(link, direction), counters, expected.get(link, {}).get(direction, ("queue",))
        )
    )


def judge_lateness(links: Mapping[str, Any]) -> list[Finding]:
    """Returns those findings of `judge_links` that say how late packets left a link."""
    return summarise(
        fault
        for link, direction, counters in _directions(links)
        for fault in _lateness(direction_name(link, direction), counters)
    )


def expected_drops(links: Mapping[str, EmulatedLink], events: Iterable[LinkEvent] = ()) -> DropCauses:
    """Returns the causes for which each link may drop packets, by its specification and the events for it."""
    causes: dict[str, dict[str, set[str]]] = {
        name: {way: {"queue", *drop_causes(vars(getattr(link, way)))} for way in DIRECTIONS}
        for name, link in links.items()
    }
    names, by_name = list(links), LinkNames([ends_of(link) for link in links.values()])
    for event in events:
        number, directions = by_name.find(event.link)
        for way in directions:
            causes[names[number]][way] |= _causes_of_event(event)
    return causes


def _directions(links: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yields each direction of each link, with its counters."""
    for link, directions in links.items():
        for direction, counters in directions.items():
            yield link, direction, counters


def _faults(name: str, counters: Mapping[str, Any], expected: Collection[str]) -> Iterator[Fault]:
    yield from _lateness(name, counters)
    yield from _drops(name, counters, expected)
    frame_bytes, rate_bps = counters.get("max_frame_bytes"), counters.get("rate_bps")
    if frame_bytes and rate_bps and (frame_ms := frame_bytes * 8e3 / rate_bps) > MAX_FRAME_MS:
        length = f"{frame_bytes} bytes, {frame_ms:.1f} ms on the wire (limit {MAX_FRAME_MS:g} ms)"
        yield Fault("GSO packets", Verdict.DEGRADED, name, f"GSO packets of up to {length}", frame_ms)


def _lateness(name: str, counters: Mapping[str, Any]) -> Iterator[Fault]:
    late_us, share = (counters.get("lateness_us") or {}).get("p99", 0.0), counters.get("late_share")
    if late_us > LATE_P99_DEGRADED_US:
        verdict = Verdict.UNUSABLE if late_us > LATE_P99_UNUSABLE_US else Verdict.DEGRADED
        late = f"at least {late_us / 1e3:.1f} ms late at the 99th percentile (limit {LATE_P99_DEGRADED_US / 1e3:g} ms"
        over = f"; {share:.0%} of the packets over it)" if share else ")"
        yield Fault("lateness", verdict, name, f"{late}{over}", late_us)


def _drops(name: str, counters: Mapping[str, Any], expected: Collection[str]) -> Iterator[Fault]:
    drops = {cause: count for cause, count in counters["drops"].items() if count and cause not in expected}
    if undelivered := sum(drops.pop(cause, 0) for cause in EMULATOR_DROPS):
        share = undelivered / max(1, undelivered + counters.get("packets", 0))
        verdict = Verdict.UNUSABLE if share > EMULATOR_DROPS_UNUSABLE_SHARE else Verdict.DEGRADED
        yield Fault("undelivered", verdict, name, f"the emulator itself lost {undelivered} packets", undelivered)
    if drops:
        counted = ", ".join(f"{count} by {cause}" for cause, count in drops.items())
        yield Fault("drops", Verdict.UNUSABLE, name, f"unexpected drops, {counted}", sum(drops.values()))


def _causes_of_event(event: LinkEvent) -> set[str]:
    causes = drop_causes(event.fields)
    causes |= {"down"} if event.carrier is False else set()
    causes |= {"blackhole"} if event.black_hole else set()
    return causes
