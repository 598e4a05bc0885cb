"""Lab 3: a queue that is far too long, and one that keeps the latency under load low."""

import random
import time
from collections.abc import Iterator, Sequence

from flightpath.errors import MeasurementFailed, UsageError
from flightpath.overrides import override
from labs.framework import files, latency
from labs.framework.judging import Limits, answered, between, counting_beside
from labs.framework.lab import Finding, Lab, Measured, Parameters, Question, Work
from labs.framework.network import Trial, trial
from probes.transfers.tcp_flow import FlowTrace, TcpFlow
from results.records import Series
from scenarios.congestion.race_measures import throughput
from services.stream import StreamSink
from topologies.links.spec import PAYLOAD_SHARE, LinkSpec
from topologies.multipath_pair import MultipathPair
from topologies.sandbox.sandbox import TEMPORARY

FILE = "queue.toml"
SLOWER = 4
"""Factor by which the line gets slower in the middle of the trial."""

PACKET_BYTES = 1514
_PHASE_S, _SETTLE_S = 6.0, 2.0
_FLOWS = 2
_SLACK_MS = 15
"""Tolerance of the round-trip time under load, above that of the empty path."""


class Queues(Lab):
    """The same queue has to serve a line that is fast, and then slow."""

    number, title, minutes = 3, "Queues and bufferbloat", 60
    goal = "You can say what a long queue does to latency, and choose one that costs neither latency nor throughput."
    needs = "labs 1 and 2"
    questions = (
        Question("fast_wait_ms", "How long a packet waits in the full queue as delivered, on the fast line, in ms"),
        Question("slow_rtt_ms", "What ping shows on the slow line while that queue is full, in ms"),
    )
    has_files = True

    @override
    def parameters(self, chance: random.Random) -> Parameters:
        fast_mbit, delay_ms = chance.choice([20, 24, 28]), chance.choice([15, 20, 25])
        return {
            "fast_mbit": fast_mbit,
            "slow_mbit": fast_mbit // SLOWER,
            "delay_ms": delay_ms,
            "packets": chance.choice([600, 800, 1000]),
            "limit_ms": 2 * delay_ms + _SLACK_MS,
        }

    @override
    def measure(self, parameters: Parameters, work: Work) -> Measured:
        spec = _with_queue(parameters, work)
        with trial(MultipathPair(paths=1, links=[spec], mptcp=False, congestion_control="cubic")) as network:
            client, server = network.testbed.net.hosts
            with (
                StreamSink(server, TEMPORARY),
                latency.pinging(client, server.address(), 2 * _PHASE_S) as pings,
            ):
                begin_s = time.monotonic()
                traces = _load(network, parameters["slow_mbit"])
            network.series |= _series(traces, pings, begin_s)
        return network.measured(_values(traces, pings, begin_s))

    @override
    def judge(self, parameters: Parameters, work: Work, measured: Measured) -> Iterator[Finding]:
        full_bits = parameters["packets"] * PACKET_BYTES * 8
        wait = "a packet leaves after all that stand before it: how many bits are they, and how many leave per second?"
        yield answered(work, "fast_wait_ms", "wait on the fast line", full_bits / parameters["fast_mbit"] / 1e3, wait)
        slow_rtt_ms = 2 * parameters["delay_ms"] + full_bits / parameters["slow_mbit"] / 1e3
        both = "a round trip is the way there, the way back, and the wait in the full queue at the slow line's rate"
        yield answered(work, "slow_rtt_ms", "ping on the slow line", slow_rtt_ms, both)
        long = "packets in a long queue are late: what can a queue do before it is full, so that senders slow down?"
        short = "the line is idle when the queue runs empty: can it take what a sender sends at once?"
        for phase in ("fast", "slow"):
            least, most = 0.9 * PAYLOAD_SHARE * parameters[f"{phase}_mbit"], parameters[f"{phase}_mbit"]
            rtt_ms, mbit = (measured.values.get(f"{phase}_{name}") for name in ("p90_ms", "mbit"))
            limits = Limits(0, parameters["limit_ms"], too_high=long)
            low = between(f"{phase} line: 9 of 10 pings within", rtt_ms, "ms", limits)
            throughput = between(f"{phase} line: throughput", mbit, "Mbit/s", Limits(least, most, too_low=short))
            yield low
            yield counting_beside(low, throughput)


def _with_queue(parameters: Parameters, work: Work) -> LinkSpec:
    """Returns the fast line with a student's queue."""
    given = files.settings(work, FILE, {"packets": int, "discipline": str, "ecn": bool})
    try:
        return LinkSpec.parse(
            bandwidth=f"{parameters['fast_mbit']}Mbit",
            delay=f"{parameters['delay_ms']}ms",
            queue=f"{given.get('packets', parameters['packets'])}p",
            discipline=given.get("discipline", "droptail"),
            ecn="on" if given.get("ecn") else "off",
        )
    except UsageError as error:
        raise MeasurementFailed(f"{FILE}: {error}") from error


def _load(network: Trial, slow_mbit: int) -> list[FlowTrace]:
    """Transfers over the fast line, and then over the slow one."""
    client, server = network.testbed.net.hosts
    probe = TcpFlow(congestion_control="cubic", seconds=2 * _PHASE_S, interval_s=0.05)
    flows = [probe.start(client, server.address()) for _ in range(_FLOWS)]
    try:
        time.sleep(_PHASE_S)
        network.testbed.links[0].change(bandwidth_bps=slow_mbit * 1_000_000)
        return [flow.finish(network.watch.check) for flow in flows]
    finally:
        for flow in flows:
            flow.stop()


def _values(traces: Sequence[FlowTrace], pings: Sequence[latency.Ping], begin_s: float) -> dict[str, float]:
    """Returns throughput and latency of both phases, without the time in which the flows find their rates."""
    values = {}
    for number, phase in enumerate(("fast", "slow")):
        since_s, until_s = number * _PHASE_S + _SETTLE_S, (number + 1) * _PHASE_S
        values[f"{phase}_mbit"] = sum(trace.goodput_bps(since_s, until_s) for trace in traces) / 1e6
        if (p90_ms := latency.p90_ms(pings, begin_s + since_s, begin_s + until_s)) is not None:
            values[f"{phase}_p90_ms"] = p90_ms
    return values


def _series(traces: Sequence[FlowTrace], pings: Sequence[latency.Ping], begin_s: float) -> dict[str, Series]:
    rates = [throughput(trace, begin_s, 2 * _PHASE_S) for trace in traces]
    total = tuple(map(sum, zip(*(rate.values for rate in rates), strict=False)))
    return {
        "ping_under_load": latency.series(pings, begin_s),
        "goodput": Series("bit/s", rates[0].times_s[: len(total)], total),
    }
