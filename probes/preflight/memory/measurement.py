"""An iteration as metrics and series: without it the store would keep measurements that nobody could ask anything."""

import statistics
from collections.abc import Callable, Iterator, Sequence

from probes.preflight.records import IterationResult, KernelSample, StreamResult, Verdict
from probes.preflight.spec import Direction
from results.records import Certificate, Measurement, Metric, Series
from results.records import Verdict as Fidelity

_FIDELITY = {Verdict.OK: Fidelity.FAITHFUL, Verdict.RATE_LIMITED: Fidelity.DEGRADED}


def measurement_of(iteration: IterationResult, direction: Direction) -> Measurement:
    """What one iteration found, in the store's terms.

    Metrics: `goodput` (bit/s; missing if everything came at once), `rtt` and `rtt_min` (ms: the median and the least
    of what the kernels of all streams told), `mss`, `send_buffer`, `receive_buffer` (B, of one connection), times of
    the phases (ms), `transfer` and `cpu` (s), `connections`, `subflows`; of uploads also `retransmitted` (packets),
    `loss` (retransmitted packets as a share of all, %), and how much of the busy time the far end's window
    (`window_limited`) or this end's buffer (`send_buffer_limited`) held the transfer (%); of downloads `out_of_order`
    (packets that came out of order as a share of all, %: a loss makes a window of them).

    Series: `goodput` of all streams (bit/s), and `rtt` (ms) and `window` (B) of the first.
    """
    connections = list({stream.connection.local: stream for stream in iteration.streams}.values())
    metrics = {
        **_goodput(iteration),
        **_round_trips(connections, direction),
        **_sockets(connections),
        **(_sending if direction is Direction.UPLOAD else _receiving)(iteration.streams, connections),
        **{name.removesuffix("_s"): Metric(seconds * 1000, "ms") for name, seconds in vars(iteration.phases).items()},
        "transfer": Metric(iteration.transfer_s, "s"),
        "bytes": Metric(iteration.bytes, "B"),
        "cpu": Metric(iteration.cpu_s, "s"),
    }
    facts = {"limit": iteration.verdict, "reason": iteration.reason, "ended_by": iteration.ended_by}
    return Measurement(metrics, _series(iteration, direction), facts)


def certificate_of(iteration: IterationResult) -> Certificate:
    """Whether the goodput is the path's: `unusable` if client, cipher or disk were the limit; its reason names it."""
    verdict = _FIDELITY.get(iteration.verdict, Fidelity.UNUSABLE)
    reasons = () if iteration.verdict is Verdict.OK else (f"{iteration.verdict}: {iteration.reason}",)
    return Certificate(verdict, reasons)


def limit_of(reasons: Sequence[str]) -> Verdict:
    """The probe's verdict that a certificate's reasons begin with."""
    return Verdict(reasons[0].partition(":")[0]) if reasons else Verdict.OK


def _goodput(iteration: IterationResult) -> dict[str, Metric]:
    return {} if iteration.goodput_bps is None else {"goodput": Metric(iteration.goodput_bps, "bit/s")}


def _round_trips(connections: Sequence[StreamResult], direction: Direction) -> dict[str, Metric]:
    samples = [sample for stream in connections for sample in stream.samples]
    told = [value for sample in samples if (value := _rtt_ms(sample, direction)) > 0]
    least = [sample.minimum_rtt_ms or sample.rtt_ms for sample in samples]
    least = [value for value in least if value > 0]
    return {
        **({"rtt": Metric(statistics.median(told), "ms")} if told else {}),
        **({"rtt_min": Metric(min(least), "ms")} if least else {}),
    }


def _rtt_ms(sample: KernelSample, direction: Direction) -> float:
    """As the half of the socket that moves the data sees it: a receiver's acknowledgements say little of a queue."""
    return sample.rtt_ms if direction is Direction.UPLOAD else sample.receive_rtt_ms


def _sockets(connections: Sequence[StreamResult]) -> dict[str, Metric]:
    if not connections:
        return {}
    facts = [stream.connection for stream in connections]
    last = [stream.samples[-1] for stream in connections if stream.samples]
    return {
        "mss": Metric(min(each.mss_bytes for each in facts), "B"),
        "send_buffer": Metric(min(each.send_buffer_bytes for each in facts), "B"),
        "receive_buffer": Metric(min(each.receive_buffer_bytes for each in facts), "B"),
        "connections": Metric(len(facts), "1"),
        "subflows": Metric(sum(sample.subflows for sample in last), "1"),
    }


def _sending(streams: Sequence[StreamResult], connections: Sequence[StreamResult]) -> dict[str, Metric]:
    ended = [stream.samples[-1] for stream in connections if stream.samples]
    if not ended:
        return {}
    retransmitted, packets = sum(sample.retransmitted_packets for sample in ended), _packets(streams)
    busy_s = sum(sample.busy_s or 0 for sample in ended)

    def share(seconds: Callable[[KernelSample], float | None]) -> Metric:
        return Metric(100 * min(1.0, sum(seconds(sample) or 0 for sample in ended) / busy_s), "%")

    held = {
        "window_limited": share(lambda sample: sample.window_limited_s),
        "send_buffer_limited": share(lambda sample: sample.send_buffer_limited_s),
    }
    return {
        "retransmitted": Metric(retransmitted, "1"),
        **({"loss": Metric(100 * min(1.0, retransmitted / (packets + retransmitted)), "%")} if packets > 0 else {}),
        **(held if busy_s > 0 else {}),
    }


def _receiving(streams: Sequence[StreamResult], connections: Sequence[StreamResult]) -> dict[str, Metric]:
    counts = [stream.samples[-1].out_of_order_packets for stream in connections if stream.samples]
    packets, seen = _packets(streams), sum(count or 0 for count in counts)
    if not packets or all(count is None for count in counts):
        return {}
    return {"out_of_order": Metric(100 * min(1.0, seen / packets), "%")}


def _packets(streams: Sequence[StreamResult]) -> float:
    """How many segments the payload fills."""
    return sum(stream.bytes / stream.connection.mss_bytes for stream in streams if stream.connection.mss_bytes)


def _series(iteration: IterationResult, direction: Direction) -> dict[str, Series]:
    intervals = iteration.intervals
    found = {
        "goodput": Series(
            "bit/s", tuple(each.start_s for each in intervals), tuple(each.throughput_bps for each in intervals)
        )
    }
    samples = iteration.streams[0].samples if iteration.streams else ()
    return {**found, **dict(_sample_series(samples, direction))} if samples else found


def _sample_series(samples: Sequence[KernelSample], direction: Direction) -> Iterator[tuple[str, Series]]:
    times = tuple(sample.at_s for sample in samples)
    yield "rtt", Series("ms", times, tuple(_rtt_ms(sample, direction) for sample in samples))
    if direction is Direction.UPLOAD:
        yield "window", Series("B", times, tuple(float(each.cwnd_packets * each.mss_bytes) for each in samples))
    else:
        yield "window", Series("B", times, tuple(float(each.receive_space_bytes) for each in samples))
