"""A flow's packets at a bottleneck, from a recording of the link: waiting times, marks, drops."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from results.recording import file
from results.recording.journeys import ARRIVED, UNDER_WAY, Journeys, journeys
from results.records import Metric

_CE = 3
"""Value of the IP header's ECN field that means "congestion experienced" (RFC 3168)."""


def recorded(path: Path) -> Journeys:
    """Returns the packets of a recording."""
    return journeys(file.read(path))


def packet_metrics(found: Journeys, sender: str, prefix: str = "") -> Mapping[str, Metric]:
    """Returns the metrics of the packets with data that a sender's address has sent over the only link recorded.

    These are `queue_delay_mean`, `queue_delay_p50` and `queue_delay_p99` (ms from arrival at the queue until the first
    bit is sent), `marked` and `dropped` (%), each with the prefix. A flow without packets has none.
    """
    packets, bandwidth_bps = found.packets, found.directions[0].bandwidth_bps
    assert bandwidth_bps, "a bottleneck has a bandwidth"
    sent = _of_sender(found, sender) & (packets["fate"] != UNDER_WAY)
    arrived = sent & (packets["fate"] == ARRIVED)
    if not arrived.any():
        return {}
    serialisation_ns = packets["bytes"][arrived] * 8e9 / bandwidth_bps
    waits_ms = (packets["sent"][arrived] - packets["time"][arrived] - serialisation_ns) / 1e6
    marked = (packets["arrived_ecn"][arrived] == _CE) & (packets["ecn"][arrived] != _CE)
    p50_ms, p99_ms = np.percentile(waits_ms, (50, 99))
    return {
        f"{prefix}queue_delay_mean": Metric(float(waits_ms.mean()), "ms"),
        f"{prefix}queue_delay_p50": Metric(float(p50_ms), "ms"),
        f"{prefix}queue_delay_p99": Metric(float(p99_ms), "ms"),
        f"{prefix}marked": Metric(100 * float(marked.mean()), "%"),
        f"{prefix}dropped": Metric(100 * (1 - float(arrived.sum()) / float(sent.sum())), "%"),
    }


def payload_bytes(found: Journeys, sender: str) -> int:
    """Returns how much payload of TCP or UDP from an address has passed the only link recorded."""
    arrived = _of_sender(found, sender) & (found.packets["fate"] == ARRIVED)
    return int(found.packets["payload"][arrived].sum())


def _of_sender(found: Journeys, sender: str) -> np.ndarray:
    """Tells of each packet whether it has data from an address."""
    begins = (f"TCP {sender}:", f"UDP {sender}:")
    flows = [number for number, flow in enumerate(found.flows) if flow.name.startswith(begins)]
    return np.isin(found.packets["flow"], flows) & (found.packets["payload"] > 0)
