"""Counters of links, per direction: bytes, drops, lateness; and which paths were used."""

from collections.abc import Mapping, Sequence
from typing import Any

from flightpath.errors import MeasurementFailed
from probes.counters.sampling import CounterLog
from topologies.links import dualpi2
from topologies.links.emulated_link import DROP_CAUSES, EmulatedLink
from topologies.links.spec import COUNTERS

# The share of the bytes on a path that is used (MPTCP's second path carries far more than handshakes), and on one that
# is not (it carries ARP only).
USED_SHARE, UNUSED_SHARE = 0.02, 0.002
UNUSED_BYTES = 20_000
"""Traffic of ARP, neighbour discovery and the controller's probes in some minutes; data is more."""
LATE_NS_LOG2 = 20
"""First bin of the lateness histogram that is over 1 ms: bins are powers of two, and 2^20 ns are 1.05 ms."""


def read_counters(links: Mapping[str, EmulatedLink]) -> Mapping[str, float]:
    """Reads the bytes on the wire since the start: `NAME.a_to_b` and `NAME.b_to_a` for each link."""
    return {
        f"{name}.{direction}": float(counters["out_bytes"])
        for name, directions in snapshot(links).items()
        for direction, counters in directions.items()
    }


def snapshot(links: Mapping[str, EmulatedLink]) -> Mapping[str, Mapping[str, Any]]:
    """Returns all counters of each link, by direction, as they are now."""
    stats: dict[str, Mapping[str, Any]] = {}
    for kind in {type(link): None for link in links.values()}:
        names = [name for name, link in links.items() if type(link) is kind]
        stats |= dict(zip(names, kind.stats_of([links[name] for name in names]), strict=True))
    return {name: stats[name]["directions"] for name in links}


def summary(
    before: Mapping[str, Mapping[str, Any]], after: Mapping[str, Mapping[str, Any]], elapsed_s: float
) -> Mapping[str, Mapping[str, Any]]:
    """Returns traffic, drops and lateness of each direction of each link between two snapshots.

    Lateness and queue peak are those of the second snapshot: they count since the link was last reset. What an emulator
    does not count is None.
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
        **({"dualpi2": dualpi2.difference(before["dualpi2"], after["dualpi2"])} if "dualpi2" in after else {}),
    }


def _increase(before: Mapping[str, Any], after: Mapping[str, Any], counter: str) -> int:
    return (after.get(counter) or 0) - (before.get(counter) or 0)


def _cpu_percent(before: Mapping[str, Any], after: Mapping[str, Any], elapsed_s: float) -> float | None:
    """Returns the use of one core by the emulator's thread, in %; None for an emulator in the kernel."""
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
    """Returns the bytes that each link carried in both directions between the first and the last sample of a log."""
    first, last = log.rows[0], log.rows[-1]
    return {link: sum(last[f"{link}.{way}"] - first[f"{link}.{way}"] for way in ("a_to_b", "b_to_a")) for link in links}


def require_all_paths(carried: Mapping[str, Mapping[str, float]]) -> None:
    """Raises MeasurementFailed if a path of a host carried next to nothing."""
    for host, per_link in carried.items():
        for link, share in _shares(per_link).items():
            if share < USED_SHARE:
                raise MeasurementFailed(f"{host}: link {link} carried only {share:.2%} of the bytes: it was not used")


def require_one_path(carried: Mapping[str, Mapping[str, float]]) -> None:
    """Raises MeasurementFailed if more than one path of a host carried data."""
    for host, per_link in carried.items():
        shares = _shares(per_link)
        used = [link for link, size in per_link.items() if size > UNUSED_BYTES and shares[link] >= UNUSED_SHARE]
        if len(used) > 1:
            raise MeasurementFailed(f"{host}: links {', '.join(used)} carried data where one path is measured")


def _shares(per_link: Mapping[str, float]) -> dict[str, float]:
    total = sum(per_link.values())
    return {link: (bytes_ / total if total else 0.0) for link, bytes_ in per_link.items()}
