"""Netem links: tc's commands, options of DualPI2 by netlink, and counters (iproute2 6.1, Linux 6.1)."""

import dataclasses
import json
import struct

import pytest

from tests.support.link_pair import balanced
from topologies.links import dualpi2
from topologies.links.netem_counters import NO_LOSS, Reading
from topologies.links.spec import LinkSpec
from topologies.links.traffic_control import Stages

STAGES = Stages("near", "rate", "land", "far", 11)
NAMES = ("near", "rate", "land", "far")
DEVICES = "Inter-|   Receive   |  Transmit\n face |bytes    packets errs drop fifo frame compressed multicast|bytes\n"


def qdisc(kind: str, handle: str, packets: int, drops: int = 0, **more: int) -> dict:
    sizes = {"packets": packets, "bytes": packets * 100, "qlen": 0, "backlog": 0}
    return {"kind": kind, "handle": handle, "drops": drops, **sizes, **more}


def reading(entered: int, rate: list[dict], netem: dict, refused: int = 0) -> Reading:
    queues = json.dumps(rate).replace('"dualpi2"', '"dualpi2","options":{[Unknown qdisc, optlen=96] }')  # by tc
    gate = {"kind": "gact", "index": 11, "stats": {"bytes": entered * 100, "packets": entered, "drops": 0}}
    tc_told = [json.dumps([{"total acts": 0}, {"actions": [gate]}]), "[]", queues, "[]", json.dumps([netem])]
    devices = "".join(f"  {name}: 1 2 0 0 0 0 0 0 3 4 5 {refused if name == 'far' else 0} 0 0 0 0\n" for name in NAMES)
    return Reading.parse("\n".join(tc_told) + "\n\n", DEVICES + devices, NAMES)


def test_segments_of_dropped_gso_packets_are_counted_once_nothing_waits():
    rate = [qdisc("htb", "1:", 55), qdisc("bfifo", "10:", 55, drops=1)]
    counters = reading(100, rate, qdisc("netem", "20:", 55)).direction(STAGES, NO_LOSS)
    assert counters["drops"]["queue"] == 45
    assert balanced(counters)


def test_packets_that_are_refused_before_netem_or_behind_it_are_lost_once():
    rate = [qdisc("htb", "1:", 110), qdisc("fq_codel", "10:", 110, drops=42, drop_overlimit=0)]
    for left in (109, 110):  # one interface came up late; or the far end took one less
        counters = reading(152, rate, qdisc("netem", "20:", left), refused=1).direction(STAGES, NO_LOSS)
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
    found = dataclasses.replace(reading(100, rate, qdisc("netem", "20:", 90)), dualpi2=own)
    counters = found.direction(STAGES, NO_LOSS)
    assert (counters["drops"]["queue"], counters["drops"]["aqm"], counters["ecn_marked"]) == (4, 6, 6)
    assert balanced(counters)


CHANGE = (
    "00000000 07000000 00001000 01000100 00000000"  # interface 7, handle 10:, parent 1:1
    "0c00 0100 6475616c70693200"  # TCA_KIND: dualpi2
    "3400 0280"  # TCA_OPTIONS, nested
    "0800 0100 64000000"  # 100 packets
    "0800 0300 204e0000"  # target 20,000 us
    "0800 0400 007d0000"  # tupdate 32,000 us
    "0800 0800 d0070000"  # step threshold 2000 us
    "0500 0a00 04000000"  # coupling 4
    "0500 0e00 03000000"  # ECN mask: any
)


def test_the_options_of_a_queue_are_these_bytes():
    texts = {"target": "20ms", "tupdate": "32ms", "step_threshold": "2ms", "coupling": "4", "l4s": "any_ect"}
    spec = LinkSpec.parse(discipline="dualpi2", queue="100p", **texts)
    assert dualpi2.change_body(7, 0x10001, 0x100000, spec).hex() == CHANGE.replace(" ", "")


def test_what_is_not_given_is_left_to_the_kernel():
    request = dualpi2.change_body(7, 0x10001, 0x100000, LinkSpec(discipline="dualpi2", queue="100p"))
    assert request.hex().endswith("0c000280" + "0800010064000000")


def test_statistics_are_read_out_of_the_kernel_s_description_and_counters_from_a_moment_on():
    values = (2**32 - 1, 15_000, 400, 10, 20, 7, 5, 3, -1000, 8, 9, 10)
    xstats = struct.pack("=8Ii3I", *values)
    kind = bytes.fromhex("0c00 0100 6475616c70693200")
    reply = bytes(16 + 20) + kind + struct.pack("=HH", 5, 99) + b"x\0\0\0" + struct.pack("=HH", 52, 4) + xstats
    found = dualpi2.statistics(reply)
    assert (found["prob"], found["delay_c_us"], found["delay_l_us"], found["credit"]) == (1.0, 15_000, 400, -1000)
    later = dualpi2.difference({**found, "packets_in_l": 15}, found)
    assert (later["packets_in_l"], later["packets_in_c"], later["delay_l_us"]) == (5, 0, 400)
