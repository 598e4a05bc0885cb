"""Counters of a netem link, from the output of tc and ip (iproute2 6.1, Linux 6.1)."""

import dataclasses
import json

import pytest

from topologies.links.netem_counters import NO_LOSS, Reading
from topologies.links.traffic_control import Stages

STAGES = Stages("near", "rate", "land", "far", 11)
NAMES = ("near", "rate", "land", "far")
DEVICES = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier
"""
ACTION = (
    '[{"total acts":0},{"actions":[{"order":1,"kind":"gact","control_action":{"type":"pass"},"index":11,"ref":1,'
    '"bind":1,"stats":{"bytes":%d,"packets":%d,"drops":%d,"overlimits":0,"requeues":0,"backlog":0,"qlen":0}}]}]'
)


def qdisc(kind: str, handle: str, packets: int, drops: int = 0, qlen: int = 0, **more: int) -> dict:
    sizes = {"bytes": packets * 100, "backlog": qlen * 100}
    return {"kind": kind, "handle": handle, "packets": packets, "drops": drops, "qlen": qlen, **sizes, **more}


def reading(entered: int, swallowed: int, rate: list[dict], netem: dict, refused: int = 0) -> Reading:
    tc_told = [ACTION % (entered * 100, entered, swallowed), "[]", json.dumps(rate), "[]", json.dumps([netem])]
    devices = "".join(f"  {name}: 1 2 0 0 0 0 0 0 3 4 5 {refused if name == 'far' else 0} 0 0 0 0\n" for name in NAMES)
    return Reading.parse("\n".join(tc_told) + "\n\n", DEVICES + devices, NAMES)


def balanced(counters: dict) -> bool:
    gone = counters["out_packets"] + sum(counters["drops"].values()) + counters["queued_packets"]
    return counters["in_packets"] + counters["duplicated_packets"] == gone


def test_segments_of_dropped_gso_packets_are_counted_once_nothing_waits():
    rate = [qdisc("htb", "1:", 55), qdisc("bfifo", "10:", 55, drops=1)]
    counters = reading(100, 0, rate, qdisc("netem", "20:", 55)).direction(STAGES, NO_LOSS)
    assert counters["drops"]["queue"] == 45
    assert balanced(counters)


def test_packets_that_are_refused_before_netem_or_behind_it_are_lost_once():
    rate = [qdisc("htb", "1:", 110), qdisc("fq_codel", "10:", 110, drops=42, drop_overlimit=0)]
    for left in (109, 110):  # one interface came up late; or the far end took one less
        counters = reading(152, 0, rate, qdisc("netem", "20:", left), refused=1).direction(STAGES, NO_LOSS)
        assert (counters["out_packets"], counters["drops"]["device"]) == (109, 1)
        assert balanced(counters)


@pytest.mark.parametrize(
    ("queue", "own"),
    [
        ({"kind": "pie", "overlimit": 4, "ecn_mark": 6}, {}),
        ({"kind": "dualpi2", "overlimits": 4}, {"rate": {"ecn_mark": 6}}),  # tc says nothing of its marks
    ],
)
def test_packets_that_a_full_queue_drops_are_told_from_early_drops(queue, own):
    rate = [qdisc("htb", "1:", 90), {**qdisc("", "10:", 90, drops=10), **queue}]
    found = dataclasses.replace(reading(100, 0, rate, qdisc("netem", "20:", 90)), dualpi2=own)
    counters = found.direction(STAGES, NO_LOSS)
    assert (counters["drops"]["queue"], counters["drops"]["aqm"], counters["ecn_marked"]) == (4, 6, 6)
    assert balanced(counters)


def test_a_queue_that_tc_does_not_know_is_read_all_the_same():
    text = '[{"kind":"dualpi2","handle":"10:","options":{[Unknown qdisc, optlen=96] },"drops":3}]'
    lines = [ACTION % (0, 0, 0), "[]", text, "[]", "[]"]
    devices = "".join(f"  {name}: 1 2 0 0 0 0 0 0 3 4 5 0 0 0 0 0\n" for name in NAMES)
    found = Reading.parse("\n".join(lines), DEVICES + devices, NAMES)
    assert found.qdiscs["rate", "10:"]["drops"] == 3
