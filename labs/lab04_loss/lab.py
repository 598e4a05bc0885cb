"""Lab 4: throughput of TCP under random loss, by Mathis' law, and the number of connections that compensates."""

import math
import random
from collections.abc import Iterator

from flightpath.overrides import override
from labs.framework.judging import Limits, answered, between, counting_beside
from labs.framework.lab import Finding, Lab, Measured, Parameters, Question, Work
from labs.framework.network import trial
from probes.transfers.iperf3 import Iperf3
from probes.transfers.tcp_flow import TcpFlow
from services.iperf3 import Iperf3Server
from services.stream import StreamSink
from topologies.multipath_pair import MultipathPair
from topologies.sandbox.sandbox import TEMPORARY

LINK_MBIT, SEGMENT_BYTES = 100, 1448
MAX_STREAMS = 100
_SINGLE_S, _SLOW_START_S = 20.0, 3.0
_TOGETHER_S = 5.0
_SPARE = 1.6
"""Tolerance of the number of connections, as a factor: the sum of a few connections varies."""


def mathis_mbit(loss_percent: float, rtt_ms: float) -> float:
    """Returns the throughput of a connection that halves its window at each loss, in Mbit/s.

    Mathis, Semke, Mahdavi and Ott: The macroscopic behavior of the TCP congestion avoidance algorithm, 1997.
    """
    segments_per_round_trip = math.sqrt(3 / 2) / math.sqrt(loss_percent / 100)
    return segments_per_round_trip * SEGMENT_BYTES * 8 / (rtt_ms * 1e3)


class Loss(Lab):
    """A reno flow over a path that loses packets at random."""

    number, title, minutes = 4, "Loss and Mathis' law", 45
    goal = "You can predict what TCP gets from a path that loses packets, and how many connections reach a rate."
    needs = "labs 2 and 3; slow start and congestion avoidance"
    questions = (
        Question("single_mbit", "The mean throughput that you predict of one reno connection, in Mbit/s; measured"),
        Question("loss_for_double_percent", "The loss at which one connection gets twice as much, in % of packets"),
        Question(
            "streams",
            "How many connections at the same time reach the target; measured with your number",
            is_tried=True,
        ),
    )

    @override
    def parameters(self, chance: random.Random) -> Parameters:
        delay_ms, loss_percent = chance.choice([15, 20, 25, 30]), chance.choice([0.3, 0.4, 0.5, 0.6, 0.8])
        target = chance.choice([4, 5, 6]) * mathis_mbit(loss_percent, 2 * delay_ms)
        return {
            "bandwidth_mbit": LINK_MBIT,
            "delay_ms": delay_ms,
            "loss_percent": loss_percent,
            "target_mbit": round(target),
        }

    @override
    def measure(self, parameters: Parameters, work: Work) -> Measured:
        link = f"bw={LINK_MBIT} delay={parameters['delay_ms']}ms loss={parameters['loss_percent']}% queue=1bdp"
        values = {}
        with trial(MultipathPair(paths=1, links=link, mptcp=False, congestion_control="reno")) as network:
            client, server = network.testbed.net.hosts
            with StreamSink(server, TEMPORARY):
                single = TcpFlow(seconds=_SINGLE_S, interval_s=0.05).run(
                    client, server.address(), watch=network.watch.check
                )
            values["single_mbit"] = single.goodput_bps(_SLOW_START_S) / 1e6
            network.series["window_of_one_connection_(segments)"] = single.series()["cwnd"]
            streams = work.answers.get("streams", 0.0)
            if 1 <= streams <= MAX_STREAMS:
                with Iperf3Server(server, TEMPORARY):
                    together = Iperf3(seconds=_TOGETHER_S, warm_up_s=2.0, streams=round(streams))
                    measurement = together.run(client, server.address(), watch=network.watch.check)
                values["together_mbit"] = measurement.metrics["goodput"].value / 1e6
                network.series["goodput_of_all_connections"] = measurement.series["goodput"]
        return network.measured(values)

    @override
    def judge(self, parameters: Parameters, work: Work, measured: Measured) -> Iterator[Finding]:
        target_mbit, single_mbit = parameters["target_mbit"], measured.values.get("single_mbit", 0.0)
        law = (
            "how many segments pass on average between two losses? The window grows by one segment in each round trip "
            "and is halved at a loss; mind bits and bytes, per cent, and that a round trip takes the delay twice"
        )
        measured_one = f"throughput of one connection (measured: {single_mbit:.3g} Mbit/s)"
        # What was measured is shown only to those who have predicted something.
        what = measured_one if "single_mbit" in work.answers and single_mbit else "throughput of one connection"
        yield answered(work, "single_mbit", what, single_mbit or None, law, within=0.3, points=2)
        root = "the throughput falls with the root of the loss, not with the loss"
        quarter = parameters["loss_percent"] / 4
        yield answered(work, "loss_for_double_percent", "loss for twice the throughput", quarter, root, within=0.05)
        few = "connections that lose packets at random do not hinder each other here: what do all of them get together?"
        limits = Limits(target_mbit, LINK_MBIT, too_low=few)
        enough = between("throughput with your number", measured.values.get("together_mbit"), "Mbit/s", limits)
        yield enough
        streams = work.answers.get("streams")
        evidence = "streams is not answered" if streams is None else f"streams = {streams:g}"
        most = math.ceil(_SPARE * target_mbit / single_mbit) if single_mbit else 0
        hint = "fewer reach the target, too: each needless connection takes from others on the same path"
        is_least = streams is not None and 1 <= streams <= most
        yield counting_beside(enough, Finding("no more than needed", is_least, evidence, hint))
