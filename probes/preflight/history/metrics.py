"""An iteration in the terms of the results store: metrics, series, and a certificate."""

import statistics
from collections.abc import Sequence

from probes.preflight.records import IterationResult, KernelSample, LimitedBy, StreamResult
from probes.preflight.spec import Direction
from results.records import Certificate, Measurement, Metric, Series, Verdict

_VERDICTS = {LimitedBy.OK: Verdict.FAITHFUL, LimitedBy.RATE_LIMITED: Verdict.DEGRADED}


def measurement_of(iteration: IterationResult, direction: Direction) -> Measurement:
    """The metrics and series of an iteration.

    Metrics: `goodput` (bit/s; missing if everything came at once), `rtt` and `rtt_min` (ms: median and minimum of the
    kernel's samples of all streams), `mss`, `send_buffer`, `receive_buffer` (B, of one connection), the times of the
    phases (ms), `transfer` and `cpu` (s), `bytes` (B), `connections`, `subflows`. Of uploads also `retransmitted`
    (packets), `loss` (retransmitted packets as a share of all, %), and the share of the busy time in which the far
    end's window (`window_limited`) or this end's buffer (`send_buffer_limited`) held the transfer (%); of downloads
    `out_of_order` (packets received out of order as a share of all, %; one loss causes a window of them).

    Series: `goodput` of all streams (bit/s), and `rtt` (ms) and `window` (B) of the first.
    """
    streams = iteration.streams
    connections = list({stream.connection.local: stream for stream in streams}.values())
    last_samples = [stream.samples[-1] for stream in connections if stream.samples]
    packets = sum(stream.bytes / stream.connection.mss_bytes for stream in streams if stream.connection.mss_bytes)
    of_direction = _upload_metrics if direction is Direction.UPLOAD else _download_metrics
    metrics = {
        **({} if iteration.goodput_bps is None else {"goodput": Metric(iteration.goodput_bps, "bit/s")}),
        **_round_trips(connections, direction),
        **_socket_metrics(connections, last_samples),
        **(of_direction(last_samples, packets) if last_samples else {}),
        **{name.removesuffix("_s"): Metric(seconds * 1000, "ms") for name, seconds in vars(iteration.phases).items()},
        "transfer": Metric(iteration.transfer_s, "s"),
        "bytes": Metric(iteration.bytes, "B"),
        "cpu": Metric(iteration.cpu_s, "s"),
    }
    facts = {"limit": iteration.verdict, "reason": iteration.reason, "ended_by": iteration.ended_by}
    return Measurement(metrics, _series(iteration, direction), facts)


def certificate_of(iteration: IterationResult) -> Certificate:
    """Whether the goodput is the path's: `unusable` if client, cipher or disk were the limit; the reason says which."""
    reasons = () if iteration.verdict is LimitedBy.OK else (f"{iteration.verdict}: {iteration.reason}",)
    return Certificate(_VERDICTS.get(iteration.verdict, Verdict.UNUSABLE), reasons)


def limit_of(reasons: Sequence[str]) -> LimitedBy:
    """The limit that a certificate's reasons begin with."""
    return LimitedBy(reasons[0].partition(":")[0]) if reasons else LimitedBy.OK


def _round_trips(connections: Sequence[StreamResult], direction: Direction) -> dict[str, Metric]:
    samples = [sample for stream in connections for sample in stream.samples]
    rtts = [rtt for sample in samples if (rtt := _rtt_ms(sample, direction)) > 0]
    least = [sample.least_rtt_ms for sample in samples if sample.least_rtt_ms > 0]
    metrics = {"rtt": Metric(statistics.median(rtts), "ms")} if rtts else {}
    return metrics | ({"rtt_min": Metric(min(least), "ms")} if least else {})


def _rtt_ms(sample: KernelSample, direction: Direction) -> float:
    """The round-trip time of the half of the socket that moves the data: acknowledgements hardly see a queue."""
    return sample.rtt_ms if direction is Direction.UPLOAD else sample.receive_rtt_ms


def _socket_metrics(connections: Sequence[StreamResult], last_samples: Sequence[KernelSample]) -> dict[str, Metric]:
    if not connections:
        return {}
    facts = [stream.connection for stream in connections]
    return {
        "mss": Metric(min(each.mss_bytes for each in facts), "B"),
        "send_buffer": Metric(min(each.send_buffer_bytes for each in facts), "B"),
        "receive_buffer": Metric(min(each.receive_buffer_bytes for each in facts), "B"),
        "connections": Metric(len(facts), "1"),
        "subflows": Metric(sum(sample.subflows for sample in last_samples), "1"),
    }


def _upload_metrics(samples: Sequence[KernelSample], packets: float) -> dict[str, Metric]:
    retransmitted = sum(sample.retransmitted_packets for sample in samples)
    metrics = {"retransmitted": Metric(retransmitted, "1")}
    if packets > 0:
        metrics["loss"] = _percent(retransmitted, packets + retransmitted)
    if busy_s := sum(sample.busy_s or 0 for sample in samples):
        metrics["window_limited"] = _percent(sum(sample.window_limited_s or 0 for sample in samples), busy_s)
        metrics["send_buffer_limited"] = _percent(sum(sample.send_buffer_limited_s or 0 for sample in samples), busy_s)
    return metrics


def _download_metrics(samples: Sequence[KernelSample], packets: float) -> dict[str, Metric]:
    counts = [sample.out_of_order_packets for sample in samples if sample.out_of_order_packets is not None]
    return {"out_of_order": _percent(sum(counts), packets)} if packets and counts else {}


def _percent(part: float, whole: float) -> Metric:
    return Metric(100 * min(1.0, part / whole), "%")


def _series(iteration: IterationResult, direction: Direction) -> dict[str, Series]:
    intervals = iteration.intervals
    starts = tuple(interval.start_s for interval in intervals)
    series = {"goodput": Series("bit/s", starts, tuple(interval.throughput_bps for interval in intervals))}
    samples = iteration.streams[0].samples if iteration.streams else ()
    if samples:
        upload, times = direction is Direction.UPLOAD, tuple(sample.at_s for sample in samples)
        windows = (each.cwnd_packets * each.mss_bytes if upload else each.receive_space_bytes for each in samples)
        series["rtt"] = Series("ms", times, tuple(_rtt_ms(sample, direction) for sample in samples))
        series["window"] = Series("B", times, tuple(map(float, windows)))
    return series
