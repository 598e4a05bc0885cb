"""What a recording says of the packets of a flow: waits, marks, drops."""

import numpy as np
import pytest

from results.recording.journeys import ARRIVED, DROPPED, UNDER_WAY, Direction, Flow, Journeys
from scenarios.congestion.bottleneck_packets import packet_metrics

MINE, OTHERS, ACKNOWLEDGEMENTS = range(3)
ECT0, CE = 2, 3
NAMES = (
    "TCP 10.0.0.1:40000 → 10.0.0.2:5301",
    "TCP 10.0.0.11:40000 → 10.0.0.111:5301",
    "TCP 10.0.0.2:5301 → 10.0.0.1:40000",
)


def flow(name: str) -> Flow:
    return Flow(name, "TCP", None, 0, 0, False, 0)


def found(*packets: tuple[int, int, int, int, int, int]) -> Journeys:
    """Packets of 1000 bytes on a link of 8 Mbit/s: flow, payload, wait (us), ECN before and behind, fate."""
    flows, payloads, waits, before, behind, fates = (np.array(column) for column in zip(*packets, strict=True))
    times = np.arange(len(packets)) * 10_000_000
    columns = {
        "flow": flows,
        "payload": payloads,
        "time": times,
        "sent": times + waits * 1000 + 1_000_000,
        "bytes": np.full(len(packets), 1000),
        "ecn": before,
        "arrived_ecn": behind,
        "fate": fates,
    }
    link = Direction("s1:s2", "s1", "s2", "", 8e6, 0, None, False)
    return Journeys(columns, [link], [flow(name) for name in NAMES])


def test_waits_marks_and_drops_are_those_of_the_flow_s_own_data():
    journeys = found(
        (MINE, 900, 0, ECT0, ECT0, ARRIVED),
        (MINE, 900, 2000, ECT0, CE, ARRIVED),
        (MINE, 900, 4000, CE, CE, ARRIVED),  # marked before: not by this link
        (MINE, 900, 0, ECT0, 0, DROPPED),
        (MINE, 900, 0, ECT0, 0, UNDER_WAY),
        (MINE, 0, 9000, 0, 0, ARRIVED),
        (OTHERS, 900, 50_000, 0, 0, ARRIVED),
        (ACKNOWLEDGEMENTS, 900, 70_000, 0, 0, ARRIVED),
    )
    metrics = {name: metric.value for name, metric in packet_metrics(journeys, "10.0.0.1").items()}
    assert metrics == pytest.approx(
        {
            "queue_delay_mean": 2.0,
            "queue_delay_p50": 2.0,
            "queue_delay_p99": 3.96,
            "marked": 100 / 3,
            "dropped": 25.0,
        }
    )
    assert packet_metrics(journeys, "10.0.0.11", "rival_")["rival_queue_delay_mean"].value == pytest.approx(50.0)
    assert packet_metrics(journeys, "10.0.0.99") == {}
