"""DualPI2 by netlink: the bytes that go to the kernel, and those that come back."""

import struct

from topologies.links import dualpi2
from topologies.links.spec import LinkSpec

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
