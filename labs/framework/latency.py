"""Round trips over time, under cross traffic."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from flightpath.errors import MeasurementFailed
from flightpath.hosts import Host, await_end
from labs.framework import ping_program

_GRACE_S = 30.0


@contextmanager
def pinging(host: Host, address: str, seconds: float, interval_s: float = 0.05) -> Iterator[list[tuple[float, float]]]:
    """Pings from a host while a block runs, and afterwards until its time is over.

    Yields:
        An empty list. When the block has ended, it has a pair for each reply: the send time of the ping on
        CLOCK_MONOTONIC, and the round trip, both in seconds. Lost packets are left out.
    """
    argv = [sys.executable, "-I", "-S", ping_program.__file__, address, str(seconds), str(interval_s)]
    process = host.popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    replies: list[tuple[float, float]] = []
    try:
        yield replies
        stdout, stderr = await_end(process, seconds + _GRACE_S, lambda: None, f"the pings to {address} did not end")
    finally:
        process.kill()
        process.communicate()
    if process.returncode:
        raise MeasurementFailed(f"cannot ping {address}: {stderr.strip()[-300:]}")
    replies.extend((sent_s, rtt_s) for sent_s, rtt_s in json.loads(stdout))
