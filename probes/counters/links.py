"""What each link carried, dropped and was late with, per direction: proof of which path was used, and how well."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from flightpath.errors import MeasurementFailed
from probes.counters.sampling import CounterLog
from topologies.links.emulated_link import DROP_CAUSES
from topologies.links.spec import COUNTERS

# A second path that MPTCP uses carries far more than its handshakes; one that TCP does not use carries ARP only.
USED_SHARE, UNUSED_SHARE = 0.02, 0.002
LATE_NS_LOG2 = 20
"""Lateness counts in powers of two; 2^20 ns is 1.05 ms, called 1 ms."""


class Link(Protocol):
    """A link emulator that tells its counters."""

    def stats(self) -> Mapping[str, Any]:
        """Counters by direction, `a_to_b` and `b_to_a`."""


def read_counters(links: Mapping[str, Link]) -> Mapping[str, float]:
    """Bytes on the wire since the start, as `NAME.a_to_b` and `NAME.b_to_a` for each named link."""
    return {
        f"{name}.{direction}": float(counters["out_bytes"])
        for name, link in links.items()
        for direction, counters in link.stats()["directions"].items()
    }


def snapshot(links: Mapping[str, Link]) -> Mapping[str, Mapping[str, Any]]:
    """All counters of each named link, by direction, as they are now."""
    return {name: link.stats()["directions"] for name, link in links.items()}


def summary(
    before: Mapping[str, Mapping[str, Any]], after: Mapping[str, Mapping[str, Any]], elapsed_s: float
) -> Mapping[str, Mapping[str, Any]]:
    """For the certificate: per link and direction, what it carried, dropped and was late with between two snapshots.

    Lateness and queue peak are those of the second: they count since the link was last told to forget them. What an
    emulator cannot tell is None.
    """
    return {
        name: {way: _difference(before[name][way], counters, elapsed_s) for way, counters in directions.items()}
        for name, directions in after.items()
    }


def _difference(before: Mapping[str, Any], after: Mapping[str, Any], elapsed_s: float) -> Mapping[str, Any]:
    return {
        "packets": after["out_packets"] - before["out_packets"],
        "bytes": after["out_bytes"] - before["out_bytes"],
        **{name: None if after.get(name) is None else _increase(before, after, name) for name in COUNTERS},
        "drops": {cause: _increase(before["drops"], after["drops"], cause) for cause in DROP_CAUSES},
        "queue_peak_bytes": after.get("queue_peak_bytes"),
        "rate_bps": after["spec"].get("rate_bps"),
        "max_frame_bytes": after["spec"].get("max_frame_bytes"),
        "cpu_percent": _cpu_percent(before, after, elapsed_s),
        **_lateness(after.get("lateness_ns")),
    }


def _increase(before: Mapping[str, Any], after: Mapping[str, Any], counter: str) -> int:
    return (after.get(counter) or 0) - (before.get(counter) or 0)


def _cpu_percent(before: Mapping[str, Any], after: Mapping[str, Any], elapsed_s: float) -> float | None:
    """Of one core, by the emulator's thread; None for an emulator in the kernel."""
    if after.get("cpu_ns") is None or elapsed_s <= 0:
        return None
    return round(_increase(before, after, "cpu_ns") / elapsed_s / 1e7, 2)


def _lateness(lateness_ns: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if lateness_ns is None:
        return {"lateness_us": None, "lateness_histogram": None, "late_share": None}
    counts = list(lateness_ns.get("histogram") or ())
    while counts and counts[-1] == 0:
        counts.pop()
    return {
        "lateness_us": {key: lateness_ns[key] / 1e3 for key in ("p50", "p99", "max")},
        "lateness_histogram": counts,
        "late_share": sum(counts[LATE_NS_LOG2:]) / sum(counts) if counts else 0.0,
    }


def carried_bytes(log: CounterLog, links: Sequence[str]) -> dict[str, float]:
    """What each link carried in both directions between the log's first reading and its last."""
    first, last = log.rows[0], log.rows[-1]
    return {link: sum(last[f"{link}.{way}"] - first[f"{link}.{way}"] for way in ("a_to_b", "b_to_a")) for link in links}


def require_all_paths(carried: Mapping[str, Mapping[str, float]]) -> None:
    """Raises MeasurementFailed if, between any two hosts, a path carried next to nothing."""
    for host, per_link in carried.items():
        for link, share in _shares(per_link).items():
            if share < USED_SHARE:
                raise MeasurementFailed(f"{host}: link {link} carried only {share:.2%} of the bytes: one path was used")


def require_one_path(carried: Mapping[str, Mapping[str, float]]) -> None:
    """Raises MeasurementFailed if more than one link of a host carried data."""
    for host, per_link in carried.items():
        used = [link for link, share in _shares(per_link).items() if share >= UNUSED_SHARE]
        if len(used) > 1:
            raise MeasurementFailed(f"{host}: links {', '.join(used)} carried data where one path is measured")


def _shares(per_link: Mapping[str, float]) -> dict[str, float]:
    total = sum(per_link.values())
    return {link: (bytes_ / total if total else 0.0) for link, bytes_ in per_link.items()}
