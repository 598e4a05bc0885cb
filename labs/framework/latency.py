"""Round trips over time, under cross traffic."""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from flightpath.errors import MeasurementFailed
from flightpath.hosts import Host, await_end
from labs.framework import ping_program
from results.records import Series

_GRACE_S = 30.0

Ping = tuple[float, float]
"""Send time on CLOCK_MONOTONIC and round trip of a ping, both in seconds."""


@contextmanager
def pinging(host: Host, address: str, seconds: float, interval_s: float = 0.05) -> Iterator[list[Ping]]:
    """Pings from a host while a block runs, and afterwards until its time is over.

    Yields:
        An empty list, which has the pings that were answered when the block has ended.
    """
    argv = [sys.executable, "-I", "-S", ping_program.__file__, address, str(seconds), str(interval_s)]
    process = host.popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    replies: list[Ping] = []
    try:
        yield replies
        stdout, stderr = await_end(process, seconds + _GRACE_S, lambda: None, f"the pings to {address} did not end")
    finally:
        process.kill()
        process.communicate()
    if process.returncode:
        raise MeasurementFailed(f"cannot ping {address}: {stderr.strip()[-300:]}")
    replies.extend((sent_s, rtt_s) for sent_s, rtt_s in json.loads(stdout))


def series(pings: Sequence[Ping], begin_s: float) -> Series:
    """Returns the round trips over time, which counts from a moment on CLOCK_MONOTONIC."""
    return Series("s", tuple(sent_s - begin_s for sent_s, _ in pings), tuple(rtt_s for _, rtt_s in pings))


def p90_ms(pings: Sequence[Ping], since_s: float, until_s: float) -> float | None:
    """Returns the round trip within which nine of ten pings of a time were answered; None if there are too few."""
    rtts_s = [rtt_s for sent_s, rtt_s in pings if since_s <= sent_s <= until_s]
    return statistics.quantiles(rtts_s, n=10)[-1] * 1e3 if len(rtts_s) > 1 else None
