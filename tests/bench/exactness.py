"""How exact a link is: its rate, seen by the receiving kernel, and its round trip
with half its rate in use, against an independent model of the link.
"""

import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from flightpath.errors import MeasurementFailed
from flightpath.units import format_bandwidth
from flightpath.waiting import wait_until
from tests.bench.figures import Figure
from tests.bench.hosts import Pair, counted_transfer, pair, running_transfer
from tests.bench.model import captured, probe_excess_ms
from topologies.links.spec import PAYLOAD_SHARE, LinkSpec

RATES = (1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 5_000_000_000)
RATE_SECTION = "rate, against the specification"
TRIP_SECTION = "round trip beyond the specification, half the rate in use"
LOADED_RATES = (10_000_000, 100_000_000, 1_000_000_000)
DELAY_S = 0.005
PROBES = 200


def measure(rounds: int) -> Iterator[str | list[Figure]]:
    errors, medians, p99s, timers = defaultdict(list), defaultdict(list), defaultdict(list), []
    for number in range(1, rounds + 1):
        for rate in RATES:
            name = f"{format_bandwidth(rate)}/s"
            yield f"round {number}: rate of {name}"
            errors[name].append(_rate_error_percent(rate))
        for rate in LOADED_RATES:
            name = f"{format_bandwidth(rate)}/s"
            yield f"round {number}: round trip at {name}"
            median, p99 = _excess_ms(rate)
            medians[name].append(median)
            p99s[name].append(p99)
        yield f"round {number}: the machine's own timers"
        timers.append(_timer_lateness_ms())
    figures = [Figure(RATE_SECTION, name, values, "%", at_least=-0.5, at_most=0.5) for name, values in errors.items()]
    for name in medians:
        figures.append(Figure(TRIP_SECTION, f"{name}, median", medians[name], "ms", at_most=0.1))
        figures.append(Figure(TRIP_SECTION, f"{name}, 99th percentile", p99s[name], "ms", at_most=0.5))
    figures.append(Figure(TRIP_SECTION, "the machine itself: one of four timers, 99th percentile", timers, "ms"))
    yield figures


def _timer_lateness_ms() -> float:
    """By how much one of four timers in a row is late at worst, 99 times in 100, with nothing else running.

    A ping needs four threads to wake up, two of them the link's: no emulation on this machine has a shorter tail.
    """
    usual = os.sched_getscheduler(0), os.sched_getparam(0)
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        late_s = sorted(max(_oversleep_s(0.001) for _ in range(4)) for _ in range(1000))
    finally:
        os.sched_setscheduler(0, *usual)
    return late_s[990] * 1000


def _oversleep_s(seconds: float) -> float:
    due_s = time.monotonic() + seconds
    time.sleep(seconds)
    return time.monotonic() - due_s


def _rate_error_percent(rate_bps: int) -> float:
    """By the payload that arrives while the link never runs empty; each segment is a full one of 1514 bytes."""
    seconds = 8 if rate_bps < 10_000_000 else 4
    with pair(LinkSpec(bandwidth_bps=rate_bps, queue="100ms")) as network, counted_transfer(network) as count:
        _wait_until_saturated(network)
        start_ns, first = count()
        time.sleep(seconds)
        end_ns, last = count()
    return ((last - first) * 8e9 / PAYLOAD_SHARE / (end_ns - start_ns) / rate_bps - 1) * 100


def _wait_until_saturated(network: Pair) -> None:
    """Slow start is over when the queue has been full once."""

    def has_dropped() -> bool:
        return network.links[0].stats()["directions"]["a_to_b"]["drops"]["queue"] > 0

    wait_until(has_dropped, "the link to be saturated", 30)
    time.sleep(0.5)


def _excess_ms(rate_bps: int) -> tuple[float, float]:
    """Median and 99th percentile of what pings take beyond the model of the link, among a load of half the rate.

    The load comes in pairs of segments: the queue that larger bursts make is the link as specified, and in the model,
    but would hide what the emulation adds.
    """
    spec = LinkSpec(bandwidth_bps=rate_bps, delay_s=DELAY_S)
    with tempfile.TemporaryDirectory(prefix="flightpath-bench-") as folder, pair(spec) as network:
        device = network.source.intfs[0].name
        network.source.run(["ip", "link", "set", "dev", device, "gso_max_segs", "2"])
        ping = ["ping", "-n", "-q", "-i", "0.01", "-c", str(PROBES), network.target.address()]
        with running_transfer(network, "--fq-rate", str(rate_bps // 2)):
            time.sleep(1)
            with captured(network, Path(folder)):
                network.source.run(ping)
        beyond = sorted(probe_excess_ms(network, Path(folder), spec))
    if len(beyond) < PROBES * 0.9:
        raise MeasurementFailed(f"only {len(beyond)} of {PROBES} probes were captured at both ends")
    return statistics.median(beyond), beyond[int(len(beyond) * 0.99)]
