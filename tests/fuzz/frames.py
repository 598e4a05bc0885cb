"""Hostile frames for the controller: the kernel's own, varied, through the parsers into the table of connections."""

import random
import sys
import time
from collections.abc import Iterator
from functools import cache

from controllers.packets.mptcp_options import parse_options
from controllers.packets.segments import parse_segment
from controllers.subflows.connections import ConnectionTable
from tests.support.captures import CAPTURES, frames
from tests.support.tcp_frames import varied

CONNECTIONS, PENDING = 64, 16


def fuzz(seconds: float) -> int:
    """For so long; raises at the first frame that is read wrongly, which is printed with the seed that repeats it."""
    seed = random.SystemRandom().randrange(2**32)
    deadline, count, reading = time.monotonic() + seconds, 0, feed(seed)
    while time.monotonic() < deadline:
        next(reading)
        count += 1
    print(f"{count} frames, seed {seed}", flush=True)
    return 0


def feed(seed: int) -> Iterator[None]:
    """Yields after each frame; before an error is raised, the frame and the seed are printed."""
    chance = random.Random(seed)
    table = ConnectionTable(CONNECTIONS, pending_per_port=PENDING, pending_s=1)
    number = 0
    while True:
        frame = _made_up(chance)
        try:
            _read(frame, table, 0 if chance.random() < 0.9 else chance.randrange(8), number * 1e-4)
        except Exception:
            print(f"seed {seed}, frame {number}: {frame.hex()}", file=sys.stderr)
            raise
        number += 1
        yield


def _made_up(chance: random.Random) -> bytes:
    """A frame of the kernel's, as it is, from another port, or damaged."""
    frame = chance.choice(_originals())
    match chance.randrange(3):
        case 0:
            return frame
        case 1:
            at = 34 if frame[12:14] == b"\x08\x00" else 54
            return frame[:at] + chance.randbytes(2) + frame[at + 2 :]
        case _:
            return varied(frame, chance)


def _read(frame: bytes, table: ConnectionTable, port: int, now_s: float) -> None:
    segment = parse_segment(frame)
    if segment is None:
        return
    assert segment.options in frame
    assert 54 + len(segment.options) + segment.payload_bytes <= len(frame)
    options = parse_options(segment.options)
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
def _originals() -> list[bytes]:
    """Those that say something about connections more often than the rest."""
    everything = [frame for name in CAPTURES for frame in frames(name)]
    segments = [(frame, parse_segment(frame)) for frame in everything]
    return everything + [frame for frame, it in segments if it and (it.is_syn or it.is_syn_ack)] * 10
