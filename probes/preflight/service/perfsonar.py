"""Measurements as perfSONAR archives them: the records that pScheduler's `http` archiver sends to Logstash.

The test is `throughput`. Source and destination are the ends of the data, so a download has them exchanged.
"""

import uuid
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from probes.preflight.history.past import PastMeasurement, ends_of
from probes.preflight.records import Interval, IterationResult, PreflightResult, StreamResult
from probes.preflight.spec import Direction
from probes.preflight.target import WebTarget

_SPACE = uuid.UUID("6f0c1f0e-3a55-4c5e-9d3b-4d1e1a0f9f11")
"""Namespace of task and run ids, which are the same each time that a measurement is exported."""


def records(past: PastMeasurement, result: PreflightResult) -> Iterable[dict[str, Any]]:
    """Yields a record for each iteration of a measurement."""
    spec = result.spec
    there = result.target.host if isinstance(result.target, WebTarget) else past.host
    ends = ends_of(past.host) or (str(result.environment.get("host", "localhost")), there)
    source, target = ends if spec.direction is Direction.UPLOAD else ends[::-1]
    agent = str(result.environment.get("host", "localhost"))
    task = uuid.uuid5(_SPACE, repr(past.conditions))
    for iteration in result.iterations:
        begun = datetime.fromisoformat(iteration.started_at)
        ended = begun + timedelta(seconds=iteration.transfer_s)
        run, duration = uuid.uuid5(_SPACE, f"{past.run_id} {iteration.number}"), f"PT{iteration.transfer_s:.3f}S"
        href = f"https://{agent}/pscheduler/tasks/{task}"
        test: dict[str, Any] = {"schema": 1, "source": source, "dest": target, "duration": duration}
        if iteration.streams:
            test |= {"parallel": len(iteration.streams), "ip-version": iteration.streams[0].connection.family}
        yield {
            "schedule": {"start": begun.isoformat(), "duration": duration},
            "participants": [source, target],
            "test": {"type": "throughput", "spec": test},
            "tool": {"name": "flightpath-preflight", "version": str(result.environment.get("flightpath", ""))},
            "result": _result(iteration),
            "reference": {"profile": past.profile, "measurement": past.run_id},
            "task": {"href": href, "detail": {"duration": duration}, "schedule": {}},
            "run": {
                "href": f"{href}/runs/{run}",
                **{"added": begun.isoformat(), "start-time": begun.isoformat(), "end-time": ended.isoformat()},
            },
        }


def _result(iteration: IterationResult) -> dict[str, Any]:
    summary = _data("SUM", 0.0, iteration.transfer_s, iteration.goodput_bps or 0.0)
    samples = [stream.samples[-1] for stream in iteration.streams if stream.samples]
    if samples:
        summary |= {
            "retransmits": sum(sample.retransmitted_packets for sample in samples),
            "rtt": min(sample.least_rtt_ms for sample in samples) * 1000,  # as iperf3 states it, in us
        }
    streams = [_data(each.number, each.started_s, _end_s(each), each.goodput_bps or 0.0) for each in iteration.streams]
    facts = iteration.streams[0].connection if iteration.streams else None
    return {
        "schema": 1,
        "succeeded": True,
        "diags": f"{iteration.verdict}: {iteration.reason}",
        "intervals": [_interval(each) for each in iteration.intervals],
        "summary": {"summary": summary, "streams": streams},
        **({"mss": facts.mss_bytes, **({"mtu": facts.path_mtu} if facts.path_mtu else {})} if facts else {}),
    }


def _interval(interval: Interval) -> dict[str, Any]:
    return {"streams": [], "summary": _data("SUM", interval.start_s, interval.end_s, interval.throughput_bps)}


def _data(stream: int | str, start_s: float, end_s: float, rate_bps: float) -> dict[str, Any]:
    rates = {"throughput-bits": rate_bps, "throughput-bytes": rate_bps / 8}
    return {"stream-id": stream, "start": start_s, "end": end_s, **rates, "omitted": False}


def _end_s(stream: StreamResult) -> float:
    return stream.started_s + stream.transfer_s
