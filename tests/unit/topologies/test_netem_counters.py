"""Counters of a netem link, from the output of tc and ip (iproute2 6.1, Linux 6.1)."""

import json

import pytest

from topologies.links.netem_counters import NO_LOSS, Lost, Reading, lost_at_down
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


def test_every_packet_has_one_place():
    rate = [qdisc("htb", "1:", 70, qlen=5), qdisc("pfifo", "10:", 70, drops=15, qlen=5)]
    counters = reading(100, 10, rate, qdisc("netem", "20:", 60, drops=7, qlen=8), refused=2).direction(STAGES, NO_LOSS)
    drops = counters["drops"]
    assert drops == {
        "queue": 15,
        "aqm": 0,
        "loss": 7,
        "blackhole": 10,
        "down": 0,
        "malformed": 0,
        "device": 2,
    }
    assert counters["duplicated_packets"] == 5, "70 came to netem; 60 left, 7 were lost and 8 are in it"
    assert counters["corrupted"] is None, "the kernel does not count them"
    assert (counters["in_packets"], counters["out_packets"], counters["queued_packets"]) == (100, 58, 13)
    assert (counters["in_bytes"], counters["queued_bytes"]) == (10_000, 1300)
    assert balanced(counters)


@pytest.mark.parametrize("kind", ["codel", "fq_codel"])
def test_active_queue_management_is_told_apart_from_a_full_queue(kind):
    rate = [qdisc("htb", "1:", 70), qdisc(kind, "10:", 70, drops=30, drop_overlimit=4, ecn_mark=9)]
    counters = reading(100, 0, rate, qdisc("netem", "20:", 70)).direction(STAGES, NO_LOSS)
    assert (counters["drops"]["queue"], counters["drops"]["aqm"], counters["ecn_marked"]) == (4, 26, 9)
    assert balanced(counters)


def test_segments_of_dropped_gso_packets_are_counted_once_nothing_waits():
    rate = [qdisc("htb", "1:", 55), qdisc("bfifo", "10:", 55, drops=1)]
    counters = reading(100, 0, rate, qdisc("netem", "20:", 55)).direction(STAGES, NO_LOSS)
    assert counters["drops"]["queue"] == 45
    assert balanced(counters)


def test_what_was_inside_a_cut_cable_is_counted_as_down():
    rate = [qdisc("htb", "1:", 50, qlen=0), qdisc("pfifo", "10:", 50, drops=5)]
    middle = reading(100, 0, rate, qdisc("netem", "20:", 20, qlen=30))
    after = reading(100, 0, rate, qdisc("netem", "20:", 22, qlen=0))
    lost = lost_at_down(STAGES, Lost(0, 3), middle, after)
    assert lost == Lost(waiting=45, in_flight=31), "two of the thirty in flight still arrived"
