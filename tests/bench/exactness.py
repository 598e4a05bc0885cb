"""Exactness of a link: its rate, seen by the receiving kernel, and its round trip
with half its rate in use, against an independent model of the link.
"""

import os
import statistics
import time
from collections.abc import Iterator

from flightpath.errors import MeasurementFailed
from flightpath.units import format_bandwidth
from probes.transfers.stream import Stream
from services.stream import StreamServer
from tests.bench.figures import Figure
from tests.bench.hosts import iperf_server, pair
from tests.bench.model import captured, probe_excess_ms
from tests.bench.processes import QUIET
from tests.support.killed import killed_at_end
from topologies.hosts import congestion_control
from topologies.links.spec import PAYLOAD_SHARE, LinkSpec
from topologies.sandbox.sandbox import TEMPORARY

RATES = (1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 5_000_000_000)
RATE_SECTION = "rate, against the specification"
TRIP_SECTION = "round trip beyond the specification, half the rate in use"
LOADED_RATES = (10_000_000, 100_000_000, 1_000_000_000)
DELAY_S = 0.005
PROBES = 200
_SATURATED_S = 3.0
"""Time after which slow start is over, and the link never empty."""


def measure(number: int) -> Iterator[str | Figure]:
    for rate in RATES:
        name = f"{format_bandwidth(rate)}/s"
        yield f"rate of {name}"
        yield Figure(RATE_SECTION, name, [_rate_error_percent(rate)], "%", at_least=-0.5, at_most=0.5)
    for rate in LOADED_RATES:
        name = f"{format_bandwidth(rate)}/s"
        yield f"round trip at {name}"
        median, p99 = _excess_ms(rate)
        yield Figure(TRIP_SECTION, f"{name}, median", [median], "ms", at_most=0.1)
        yield Figure(TRIP_SECTION, f"{name}, 99th percentile", [p99], "ms", at_most=0.5)
    name = "the machine itself: one of four timers, 99th percentile"
    yield name
    yield Figure(TRIP_SECTION, name, [_timer_lateness_ms()], "ms")


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
    seconds = _SATURATED_S + (24 if rate_bps < 10_000_000 else 4)  # so that one segment more is less than 0.05 %
    with (
        pair(LinkSpec(bandwidth_bps=rate_bps, queue="100ms")) as network,
        StreamServer(network.source, TEMPORARY, on_listening=congestion_control.set_on_listeners),
    ):
        download = Stream(seconds=seconds).run(network.target, network.source.address())
    return (download.goodput_bps(_SATURATED_S, seconds) / PAYLOAD_SHARE / rate_bps - 1) * 100


def _excess_ms(rate_bps: int) -> tuple[float, float]:
    """Median and 99th percentile of what pings take beyond the model of the link, among a load of half the rate.

    The load comes in pairs of segments: the queue that larger bursts make is the link as specified, and in the model,
    but would hide what the emulation adds.
    """
    spec = LinkSpec(bandwidth_bps=rate_bps, delay_s=DELAY_S)
    with pair(spec) as network:
        device = network.source.intfs[0].name
        network.source.run(["ip", "link", "set", "dev", device, "gso_max_segs", "2"])
        ping = ["ping", "-n", "-q", "-i", "0.01", "-c", str(PROBES), network.target.address()]
        load = ["iperf3", "-c", network.target.address(), "-t", "600", "--fq-rate", str(rate_bps // 2)]
        with iperf_server(network.target), killed_at_end(network.source.popen(load, **QUIET)):
            time.sleep(1)
            with captured(network.source) as at_source, captured(network.target) as at_target:
                network.source.run(ping)
        beyond = sorted(probe_excess_ms(network, at_source, at_target, spec))
    if len(beyond) < PROBES * 0.9:
        raise MeasurementFailed(f"only {len(beyond)} of {PROBES} probes were captured at both ends")
    return statistics.median(beyond), beyond[int(len(beyond) * 0.99)]
