"""Hostile frames for the controller: the kernel's own, varied, through the parsers into the table of connections."""

import random
import struct
from functools import cache

from controllers.packets.mptcp_options import parse_options
from controllers.packets.segments import Segment, parse_segment
from controllers.subflows.connections import ConnectionTable
from tests.fuzz.mutation import pack, unpack
from tests.support.captures import CAPTURES, frames
from tests.support.tcp_frames import varied

CONNECTIONS, PENDING = 64, 16
_FRAMES = 200


def made(chance: random.Random) -> bytes:
    """Some frames, one after the other, each with its port."""
    count = chance.randint(1, _FRAMES)
    return pack((0 if chance.random() < 0.9 else chance.randrange(8), _made_up(chance)) for _ in range(count))


def read(data: bytes) -> None:
    """Reads the frames as they come in, and claims that nothing is filled beyond its limits."""
    table = ConnectionTable(CONNECTIONS, pending_per_port=PENDING, pending_s=1)
    for number, (port, frame) in enumerate(unpack(data)):
        if segment := parse_segment(frame):
            _take(segment, frame, table, port, number * 1e-2)


def _made_up(chance: random.Random) -> bytes:
    """A frame of the kernel's, as it is, from another port, or damaged."""
    frame = chance.choice(originals())
    match chance.randrange(3):
        case 0:
            return frame
        case 1:
            at = 34 if frame[12:14] == b"\x08\x00" else 54
            return frame[:at] + chance.randbytes(2) + frame[at + 2 :]
        case _:
            return varied(frame, chance)


def _take(segment: Segment, frame: bytes, table: ConnectionTable, port: int, now_s: float) -> None:
    assert segment.options in frame and len(segment.options) <= 40 and segment.payload_bytes >= 0
    assert struct.pack("!HH", segment.flow.source_port, segment.flow.destination_port) in frame
    assert 54 + len(segment.options) + segment.payload_bytes <= len(frame)
    options = parse_options(segment.options)
    if options.capable is not None and options.capable.key is not None:
        assert options.capable.key in frame
    if options.join is not None and options.join.token is not None:
        assert options.join.token.to_bytes(4, "big") in frame
    if segment.is_syn:
        admission = table.on_syn(segment, options, port, now_s)
        assert admission.subflow == table.find(segment.flow) or admission.subflow is None
    elif segment.is_syn_ack:
        table.on_syn_ack(segment, options, now_s)
    else:
        table.close(segment.flow)
    table.expire(now_s)
    assert len(table.connections()) <= CONNECTIONS


@cache
def originals() -> list[bytes]:
    """Frames that say something about connections more often than the rest."""
    everything = [frame for name in CAPTURES for frame in frames(name)]
    segments = [(frame, parse_segment(frame)) for frame in everything]
    return everything + [frame for frame, it in segments if it and (it.is_syn or it.is_syn_ack)] * 10
