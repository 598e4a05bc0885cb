"""Differences from os-ken alone: the order of its event loop, and messages that it would read for ever."""

import struct

import pytest

from controllers.openflow.library import FdListener
from controllers.openflow.library import ofproto_v1_3_parser as parsers

APPLY_ACTIONS = 4


def test_the_order_in_which_ready_sockets_are_served_is_not_that_of_addresses_in_memory():
    """eventlet serves a set of such pairs, so its order follows from their hashes."""
    one, another = (FdListener("read", 7, None, None, None) for _ in range(2))
    assert one != another and hash((one, 7)) == hash((another, 7))


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        (parsers.OFPInstruction, struct.pack("!HH4x", APPLY_ACTIONS, 0)),
        (parsers.OFPInstruction, struct.pack("!HH4x", 77, 8)),
        (parsers.OFPFlowStats, struct.pack("!HBxIIHHHH4xQQQ", 0, *[0] * 10) + struct.pack("!HH4x", 1, 4)),
    ],
)
def test_a_part_without_a_length_or_of_unknown_type_is_refused(kind, part):
    with pytest.raises(ValueError, match="no length"):
        kind.parser(part, 0)
