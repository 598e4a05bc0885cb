"""Cells as a run of the MPTCP load scenario leaves them, made up: what the other tests of results stand on."""

import functools
import math
import pickle
import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from results.metrics import metric_kind
from results.records import Cell, CellResult, Certificate, Measurement, Metric, RunRecord, RunStatus, Series, Verdict

LOADS = (500.0, 533.3, 571.4, 615.4, 666.7, 727.3, 800.0)
REQUESTS = 80_000
PATH_CAPACITY = 560.0
"""Capacity of one path, in requests/s."""


def cell(
    protocol: str,
    load: float,
    repetition: int = 1,
    *,
    limit: float | None = None,
    error_rate: float = 0.0,
    verdict: Verdict = Verdict.FAITHFUL,
) -> CellResult:
    """One cell: `limit` requests/s is what the network carries at most; noise of about half a per cent."""
    noise = random.Random(f"{protocol} {load} {repetition} 0")
    ramp = REQUESTS / load
    schedule = ramp + 1.0  # the last session takes a second
    rate = min(load, limit or math.inf)
    run_time = max(schedule, REQUESTS / rate) * (1 + abs(noise.gauss(0, 0.004))) + 0.1
    return CellResult(
        Cell({"protocol": protocol, "load": load}, repetition),
        Measurement(
            _metrics(ramp, schedule, run_time, error_rate, load / rate),
            _series(noise, protocol, rate, run_time, error_rate),
            {"jmeter": "5.6.3"},
        ),
        Certificate(verdict, (), {"emulator": "relay", "kernel": "6.1.0"}),
    )


def _metrics(ramp: float, schedule: float, run_time: float, error_rate: float, overload: float) -> dict[str, Metric]:
    errors = round(REQUESTS * error_rate / 100)
    rate = REQUESTS / run_time
    slow = 12 * overload**3
    waits = {"service": slow, "intended": slow * overload**6}
    latencies = {
        f"latency_{kind}_{name}": Metric(base * factor, "ms")
        for kind, base in waits.items()
        for name, factor in (("p50", 1.0), ("p95", 4.0), ("p99", 9.0))
    }
    return {
        "requests_per_s": Metric(rate, "1/s"),
        "run_time": Metric(run_time, "s"),
        "error_rate": Metric(errors / REQUESTS * 100, "%"),
        "errors": Metric(errors, "1"),
        "errors_response_timeout": Metric(errors, "1"),
        "ramp": Metric(ramp, "s"),
        "schedule": Metric(schedule, "s"),
        **latencies,
        "throughput_h1_h2_mean": Metric(rate * 80_000, "bit/s"),
        "throughput_h2_h3_mean": Metric(rate * 20_000, "bit/s"),
        "request_size": Metric(50e6 / 8 / PATH_CAPACITY, "B"),
        "path_capacity": Metric(PATH_CAPACITY, "1/s"),
        "idle_cpu": Metric(35.0, "%"),
        "students": Metric(4000, "1"),
        "lost_writes": Metric(0, "1"),
    }


def _series(noise: random.Random, protocol: str, rate: float, run_time: float, error_rate: float) -> dict[str, Series]:
    times = tuple(float(second) for second in range(math.ceil(run_time)))

    def over_time(unit: str, level: float, spread: float = 0.04) -> Series:
        rising = [level * min(1.0, (t + 1) / 3) * max(0.0, noise.gauss(1, spread)) for t in times]
        return Series(unit, times, (*rising[:-1], rising[-1] * 0.3))

    second = 0.9 if protocol == "mptcp" else 0.0
    shares = {"a": 1 / (1 + second), "b": second / (1 + second)}
    return {
        "requests_per_s": over_time("1/s", rate),
        "errors_per_s": over_time("1/s", rate * error_rate / 100),
        "latency_service_p95_ms": over_time("ms", 48.0),
        "idle_cpu": over_time("%", 35.0),
        **{
            f"throughput_{segment}_{path}": over_time("bit/s", rate * bits * share, 0.08)
            for segment, bits in (("h1_h2", 80_000), ("h2_h3", 20_000))
            for path, share in shares.items()
        },
    }


def like_the_paper(repetitions: int = 3, loads: tuple[float, ...] = LOADS) -> list[CellResult]:
    """A run in which everything the paper claims comes true; a test may change its cells."""
    return pickle.loads(_like_the_paper(repetitions, loads))


@functools.cache
def _like_the_paper(repetitions: int, loads: tuple[float, ...]) -> bytes:
    cells = []
    for number, load in enumerate(sorted(loads)):
        share = number / max(1, len(loads) - 1)
        for repetition in range(1, repetitions + 1):
            cells.append(cell("mptcp", load, repetition))
            limit = 478.0 * (1 + 0.16 * share)
            cells.append(cell("tcp", load, repetition, limit=limit, error_rate=0.2 + 4.0 * share))
    return pickle.dumps(cells)


def judged(result: CellResult, verdict: Verdict, *reasons: str) -> CellResult:
    """The same cell with another verdict."""
    return replace(result, certificate=Certificate(verdict, reasons, result.certificate.found))


def measured(parameters: Mapping[str, object], repetition: int = 1, /, **values: float) -> CellResult:
    """A faithful cell with these metrics, in the units of the vocabulary."""
    metrics = {name: Metric(value, metric_kind(name).unit) for name, value in values.items()}
    return CellResult(Cell(dict(parameters), repetition), Measurement(metrics), Certificate(Verdict.FAITHFUL))


def run_record(run_id: str = "r", scenario: str = "s", **plan: object) -> RunRecord:
    """A run that is done."""
    now = datetime(2026, 11, 24, tzinfo=UTC)
    return RunRecord(run_id, scenario, plan, (), {}, now, now, RunStatus.DONE)


def changed(result: CellResult, **values: float) -> CellResult:
    """The same cell with other values of its metrics."""
    metrics = {
        name: replace(metric, value=values.get(name, metric.value))
        for name, metric in result.measurement.metrics.items()
    }
    return replace(result, measurement=replace(result.measurement, metrics=metrics))


def varied(result: CellResult, **parameters: str) -> CellResult:
    """The same cell with further parameters."""
    return replace(result, cell=Cell({**result.cell.parameters, **parameters}, result.cell.repetition))
