"""Lab 2: fill a pipe, and find the smallest buffer that does."""

import random
from collections.abc import Iterator

from flightpath.overrides import override
from labs.framework.judging import Limits, answered, between, counting_beside
from labs.framework.lab import Finding, Lab, Measured, Parameters, Question, Work
from labs.framework.network import trial
from probes.transfers.iperf3 import Iperf3
from services.iperf3 import Iperf3Server
from topologies.multipath_pair import MultipathPair
from topologies.sandbox.sandbox import TEMPORARY

_SECONDS = 4.0
_MAX_KB = 100_000


class FullPipe(Lab):
    """The bandwidth-delay product decides how much must be under way."""

    number, title, minutes = 2, "Fill the pipe", 30
    goal = "You can say how much data a path holds, and how large a socket buffer must be to fill it."
    needs = "lab 1; what a TCP window is"
    questions = (
        Question("rtt_ms", "The round-trip time that ping shows without other traffic, in ms"),
        Question("bdp_kb", "The bandwidth-delay product of the path, in kB (1 kB = 1000 bytes)"),
        Question(
            "buffer_kb",
            "The smallest socket buffer (iperf3 -w) that fills the path, in kB; it is measured",
            is_tried=True,
        ),
    )

    @override
    def parameters(self, chance: random.Random) -> Parameters:
        return {"mbit": chance.choice([20, 25, 40, 50, 80]), "delay_ms": chance.choice([10, 15, 20, 25, 30])}

    @override
    def measure(self, parameters: Parameters, work: Work) -> Measured:
        buffer_kb = work.answers.get("buffer_kb", 0.0)
        if not 1 <= buffer_kb <= _MAX_KB:
            return Measured({})
        link = f"bw={parameters['mbit']} delay={parameters['delay_ms']}ms queue=1bdp"
        with trial(MultipathPair(paths=1, links=link, mptcp=False, congestion_control="cubic")) as network:
            client, server = network.testbed.net.hosts
            with Iperf3Server(server, TEMPORARY):
                transfer = Iperf3(seconds=_SECONDS, warm_up_s=2.0, window=f"{round(buffer_kb * 1000)}")
                measurement = transfer.run(client, server.address(), watch=network.watch.check)
            network.series["goodput"] = measurement.series["goodput"]
        return network.measured({"goodput_mbit": measurement.metrics["goodput"].value / 1e6})

    @override
    def judge(self, parameters: Parameters, work: Work, measured: Measured) -> Iterator[Finding]:
        rtt_ms = 2 * parameters["delay_ms"]
        bdp_kb = parameters["mbit"] * rtt_ms / 8
        yield answered(
            work, "rtt_ms", "round-trip time", rtt_ms, "a packet takes the delay of the link twice", within=0.05
        )
        product = "bits per second times the seconds of a round trip are bits, and a byte has eight"
        yield answered(work, "bdp_kb", "bandwidth-delay product", bdp_kb, product, within=0.05)
        idle = "a sender waits when its window is used up: how much must be under way so that it never waits?"
        limits = Limits(0.9 * parameters["mbit"], parameters["mbit"], too_low=idle)
        filled = between("throughput with your buffer", measured.values.get("goodput_mbit"), "Mbit/s", limits)
        yield filled
        given = work.answers.get("buffer_kb")
        hint = "it fills the path, and much less would do: halve it until the throughput drops"
        evidence = "buffer_kb is not answered" if given is None else f"buffer_kb = {given:g}"
        is_small = given is not None and given <= 1.3 * bdp_kb
        yield counting_beside(filled, Finding("no larger than needed", is_small, evidence, hint))
