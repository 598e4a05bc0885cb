"""Parts of OpenFlow messages without a length, which os-ken alone would read for ever."""

import struct

import pytest

from controllers.openflow.library import ofproto_v1_3_parser as parsers

GOTO_TABLE, APPLY_ACTIONS, OUTPUT = 1, 4, 0


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        (parsers.OFPInstruction, struct.pack("!HH4x", APPLY_ACTIONS, 0)),
        (parsers.OFPInstruction, struct.pack("!HH4x", 77, 8)),
        (parsers.OFPFlowStats, struct.pack("!HBxIIHHHH4xQQQ", 0, *[0] * 10) + struct.pack("!HH4x", 1, 4)),
    ],
)
def test_a_part_without_a_length_or_of_unknown_type_is_refused(kind, part):
    with pytest.raises(ValueError, match="a part of a message has no length"):
        kind.parser(part, 0)


def test_a_part_with_a_length_is_read():
    assert parsers.OFPInstruction.parser(struct.pack("!HHB3x", GOTO_TABLE, 8, 3), 0).table_id == 3
    assert parsers.OFPAction.parser(struct.pack("!HHIH6x", OUTPUT, 16, 9, 0), 0).port == 9
