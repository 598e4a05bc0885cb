"""Made-up measurements for tests of how they are stored and judged: a real one with other figures."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from flightpath.project import PROJECT
from probes.preflight.history.recording import Recording
from probes.preflight.records import (
    ClientLoad,
    Hop,
    Interval,
    IterationResult,
    LimitedBy,
    Phases,
    PreflightResult,
    Route,
    StreamResult,
)
from probes.preflight.spec import Direction, TransferSpec
from probes.preflight.target import Target
from results.store.location import StoreLocation
from tests.support.rings import nightly

START = datetime(2026, 11, 1, 8, tzinfo=UTC)
HOST = "dtn.example"
SECONDS = 10.0
MSS = 1448
_REAL = PreflightResult.from_json((PROJECT / "tests/data/preflight_upload.json").read_text())
SHAPES: dict[str, Callable[[random.Random], float]] = {
    "normal": lambda noise: noise.gauss(0, 0.05),
    "wide": lambda noise: noise.gauss(0, 0.2),
    "laplace": lambda noise: noise.choice((-1, 1)) * noise.expovariate(1 / 0.08),
    "student": lambda noise: 0.08 * noise.gauss(0, 1) / math.sqrt(noise.gammavariate(1.5, 2) / 3),
    "uniform": lambda noise: noise.uniform(-0.2, 0.2),
    "shortfall": lambda noise: -noise.expovariate(1 / 0.15),  # a path with a ceiling, and traffic that takes from it
}
"""Noise of throughput, as logarithms."""

each_shape = pytest.mark.parametrize("shape", ["shortfall", *(nightly(name) for name in SHAPES if name != "shortfall")])
"""For tests that draw thousands of figures."""


def stream(
    number: int,
    rate_bps: float,
    *,
    rtt_ms: float = 30.0,
    queue_ms: float = 0.0,
    retransmitted: int = 0,
    held_s: float = 0.0,
    out_of_order: int = 0,
    port: int | None = None,
) -> StreamResult:
    """One stream of ten seconds; `held_s` of them the far end's window held it."""
    real = _REAL.iterations[0].streams[0]
    of_all_seconds = replace(
        real.samples[0],
        rtt_ms=rtt_ms + queue_ms,
        minimum_rtt_ms=rtt_ms,
        receive_rtt_ms=rtt_ms + queue_ms,
        mss_bytes=MSS,
        retransmitted_packets=retransmitted,
        window_limited_s=held_s,
        busy_s=SECONDS,
        out_of_order_packets=out_of_order,
    )
    local = ("10.0.0.1", 40_000 + number if port is None else port)
    return replace(
        real,
        number=number,
        bytes=round(rate_bps * SECONDS / 8),
        transfer_s=SECONDS,
        first_bytes=0,
        phases=phases(rtt_ms),
        intervals=tuple(Interval(float(n), n + 1.0, round(rate_bps / 8)) for n in range(int(SECONDS))),
        samples=tuple(replace(of_all_seconds, at_s=float(second)) for second in range(int(SECONDS))),
        connection=replace(real.connection, local=local, congestion_control="cubic", mss_bytes=MSS),
        load=ClientLoad(2.0, 0.1, 0.5, 0.0, 7.0),
    )


def phases(rtt_ms: float = 30.0) -> Phases:
    return Phases(rtt_ms / 1000, 0.15, 0.1, 0.06, rtt_ms / 1000)


def iteration(
    number: int = 1,
    rate_bps: float | None = 900e6,
    *,
    at: datetime = START,
    streams: Sequence[StreamResult] | None = None,
    verdict: LimitedBy = LimitedBy.OK,
    reason: str = "",
    **of_stream: float,
) -> IterationResult:
    """One iteration with one stream, unless told otherwise."""
    each = tuple(streams) if streams is not None else (stream(0, rate_bps or 0.0, **of_stream),)
    return replace(
        _REAL.iterations[0],
        number=number,
        started_at=at.isoformat(),
        phases=phases(),
        bytes=sum(one.bytes for one in each),
        transfer_s=SECONDS,
        overlap_s=SECONDS,
        goodput_bps=rate_bps,
        intervals=each[0].intervals if each else (),
        streams=each,
        cpu_s=2.0,
        verdict=verdict,
        reason=reason,
    )


def route(*addresses: str | None) -> Route:
    hops = tuple(Hop(n, address, 1.0 if address else None) for n, address in enumerate(addresses, start=1))
    return Route("udp", hops, complete=True)


def measurement(
    rates_bps: Sequence[float | None],
    *,
    at: datetime = START,
    host: str = HOST,
    spec: TransferSpec | None = None,
    verdict: LimitedBy = LimitedBy.OK,
    reason: str = "",
    way: Route | None = None,
    **of_stream: float,
) -> PreflightResult:
    """A measurement whose iterations had these rates."""
    return PreflightResult(
        target=Target(host, "me", host),
        spec=spec or TransferSpec(iterations=len(rates_bps)),
        iterations=tuple(
            iteration(number, rate, at=at + timedelta(seconds=12 * number), verdict=verdict, reason=reason, **of_stream)
            for number, rate in enumerate(rates_bps, start=1)
        ),
        started_at=at.isoformat(),
        file_bytes=64 * 2**20,
        route=way or route("10.0.0.254", None, "192.0.2.1"),
        path_mtu=1500,
        environment={"kernel": "6.1.0"},
        notes=("made up",),
    )


def day(number: int) -> datetime:
    return START + timedelta(days=number)


def noisy(count: int, *, usual_bps: float = 900e6, spread: float = 0.03, seed: int = 1) -> list[float]:
    """Stationary goodputs: log-normal around the usual one."""
    noise = random.Random(seed)
    return [usual_bps * math.exp(noise.gauss(0, spread)) for _ in range(count)]


def store_daily(
    folder: Path, rates_bps: Sequence[float], *, first_day: int = 0, profile: str = "", **of_measurement: object
) -> list[str]:
    """Stores a measurement a day with one iteration each in a folder; returns their runs."""
    results = (
        measurement([rate], at=day(first_day + number), **of_measurement) for number, rate in enumerate(rates_bps)
    )
    return [store_result(result, folder, profile) for result in results]


def upload(**fields: object) -> TransferSpec:
    return TransferSpec(direction=Direction.UPLOAD, **fields)


def store_result(result: PreflightResult, location: Path | StoreLocation, profile: str = "") -> str:
    """Stores a whole measurement; returns the id of its run."""
    recording = Recording(location, result.target, result.spec, environment=result.environment, profile=profile)
    recording.finish(result)
    return recording.run_id
