"""Lab 5: who gets how much of a bottleneck, by congestion control and by round trip."""

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from flightpath.errors import MeasurementFailed
from flightpath.overrides import override
from labs.framework import files
from labs.framework.judging import Limits, answered, between
from labs.framework.lab import Finding, Lab, Measured, Parameters, Question, Work
from labs.framework.network import Trial, trial
from probes.transfers.tcp_flow import RunningFlow, TcpFlow
from scenarios.congestion.race_measures import goodput_bps, jain, throughput
from services.stream import StreamSink
from topologies.dtn_pair import SOURCE, TARGET, DtnPair
from topologies.sandbox.sandbox import TEMPORARY

FILE = "choice.toml"
ALGORITHMS = ("reno", "cubic", "vegas", "bbr")
FLOWS = ((SOURCE, TARGET), ("x1", "y1"))
_SECONDS, _SETTLE_S = 10.0, 2.0
_NEAR_PERCENT = 15
"""Chance decides a single race: of 50 between vegas and cubic, vegas got 6 to 30 % of the goodput."""

_TOLERANCE = 0.7
_JITTER_MS = 2
"""Jitter against phase effects: packets of two flows in phase would decide for ever whose are dropped.

Floyd and Jacobson: Traffic phase effects in packet-switched gateways, 1991.
"""

_PAIRS = (("cubic", "vegas"), ("bbr", "cubic"), ("bbr", "reno"), ("reno", "vegas"))


@dataclass(frozen=True)
class Purpose:
    """Purpose of a transfer.

    Attributes:
        rival: congestion control of the competing flow.
        least, most: bounds of its share of the goodput, in %.
    """

    text: str
    rival: str
    least: float
    most: float


PURPOSES: Mapping[str, Purpose] = {
    "background": Purpose(
        "a backup in the background: beside a cubic flow it must leave 60 % of the goodput or more to that flow",
        rival="cubic",
        least=0,
        most=40,
    ),
    "urgent": Purpose(
        "an urgent transfer: beside a cubic flow it must get 70 % of the goodput or more",
        rival="cubic",
        least=70,
        most=100,
    ),
    "fair": Purpose(
        "a transfer among equals: beside a reno flow it must get between 25 % and 75 % of the goodput",
        rival="reno",
        least=25,
        most=75,
    ),
}


class Race(Lab):
    """Two flows share a bottleneck."""

    number, title, minutes = 5, "Congestion controls race", 60
    goal = "You can say who gets how much where different congestion controls and round trips meet, and why."
    needs = "labs 3 and 4"
    questions = (
        Question(
            "share_percent", "The share of the first flow beside the second, in % of both flows' goodput", is_tried=True
        ),
        Question("jain", "Jain's fairness index of these two flows"),
        Question("bias", "Goodput of the reno flow with the short round trip, divided by that of the other"),
    )
    has_files = True

    @override
    def parameters(self, chance: random.Random) -> Parameters:
        first, second = chance.sample(chance.choice(_PAIRS), 2)
        delay_ms = chance.choice([16, 20, 24])
        purpose = chance.choice(sorted(PURPOSES))
        return {
            "mbit": chance.choice([8, 10]),
            "delay_ms": delay_ms,
            "extra_ms": round(delay_ms * chance.choice([1.5, 2, 2.5])),
            "first": first,
            "second": second,
            "purpose": purpose,
            "purpose_text": PURPOSES[purpose].text,
        }

    @override
    def measure(self, parameters: Parameters, work: Work) -> Measured:
        choice, values = _choice(work), {}
        link = f"bw={parameters['mbit']} delay={parameters['delay_ms']}ms jitter={_JITTER_MS}ms queue=1bdp"
        with trial(DtnPair(link=link, cross_traffic=1)) as network:
            targets = [network.testbed.host(target) for _source, target in FLOWS]
            with StreamSink(targets[0], TEMPORARY), StreamSink(targets[1], TEMPORARY):
                if choice:
                    goodputs = _race(network, choice, PURPOSES[parameters["purpose"]].rival, ("yours", "the rival"))
                    values["chosen_percent"] = _percent(goodputs)
                if "share_percent" in work.answers:
                    goodputs = _race(network, parameters["first"], parameters["second"])
                    values["share_percent"] = _percent(goodputs)
        return network.measured(values)

    @override
    def judge(self, parameters: Parameters, work: Work, measured: Measured) -> Iterator[Finding]:
        first, second = parameters["first"], parameters["second"]
        share = work.answers.get("share_percent")
        evidence = "share_percent is not answered" if share is None else f"share_percent = {share:g}"
        measured_percent = measured.values.get("share_percent")
        is_near = share is not None and measured_percent is not None and abs(share - measured_percent) <= _NEAR_PERCENT
        seconds = "measure both flows at the same time, and divide by the sum; which one is the first?"
        yield Finding(f"share of {first} beside {second}", is_near, evidence, seconds)
        own = (share, 100 - share) if share is not None and 0 <= share <= 100 else ()
        squares = "the square of the sum, divided by twice the sum of the squares"
        yield answered(work, "jain", "Jain's index of your shares", jain(own) if own else None, squares, within=0.05)
        window = "reno adds a segment in each round trip: whose are shorter, and do both wait in the same queue?"
        yield _bias(work, parameters, window)
        purpose, percent = PURPOSES[parameters["purpose"]], measured.values.get("chosen_percent")
        yield between(
            f"share of your choice beside {purpose.rival}",
            percent,
            "%",
            Limits(
                purpose.least,
                purpose.most,
                too_low="it gives way too easily: what does it take for a sign of congestion, a loss or a longer wait?",
                too_high="it pushes the other aside: who takes notice earlier that the queue gets longer?",
            ),
            points=2,
        )


def round_trips(parameters: Parameters) -> float:
    """Returns the ratio of the far and the near flow's round trips, with a queue that is two thirds full."""
    near_ms = 2 * parameters["delay_ms"] * (1 + 2 / 3)
    return (near_ms + 2 * parameters["extra_ms"]) / near_ms


def _bias(work: Work, parameters: Parameters, hint: str) -> Finding:
    """Judges the bias by theory, because chance decides a single race: from the first to the second power.

    Lakshman and Madhow: The performance of TCP/IP for networks with high bandwidth-delay products, 1997.
    """
    ratio, given = round_trips(parameters), work.answers.get("bias")
    evidence = "bias is not answered" if given is None else f"bias = {given:g}"
    is_right = given is not None and _TOLERANCE * ratio <= given <= ratio**2 / _TOLERANCE
    return Finding("goodput near, divided by goodput far", is_right, evidence, hint, needs_experiment=False)


def _choice(work: Work) -> str:
    """Returns the algorithm that a student has chosen; empty before a choice.

    Raises:
        MeasurementFailed: the file cannot be read, or names no known algorithm.
    """
    chosen = files.settings(work, FILE, {"algorithm": str}).get("algorithm", "")
    if chosen and chosen not in ALGORITHMS:
        raise MeasurementFailed(f"{FILE}: algorithm = {chosen!r} is none of {', '.join(ALGORITHMS)}")
    return chosen


def _race(network: Trial, first: str, second: str, names: Sequence[str] = ()) -> list[float]:
    """Runs two flows that begin together, and returns their goodputs in bit/s. With names their series are kept."""
    flows: list[RunningFlow] = []
    begin_s = time.monotonic()
    try:
        for (source, target), algorithm in zip(FLOWS, (first, second), strict=True):
            probe = TcpFlow(congestion_control=algorithm, seconds=_SECONDS, interval_s=0.1)
            flows.append(probe.start(network.testbed.host(source), network.testbed.host(target).address()))
        traces = [flow.finish(network.watch.check) for flow in flows]
    finally:
        for flow in flows:
            flow.stop()
    for name, trace in zip(names, traces, strict=False):
        network.series[f"goodput of {name} ({trace.algorithm})"] = throughput(trace, begin_s, _SECONDS)
    return [goodput_bps(trace, begin_s, _SETTLE_S, _SECONDS) for trace in traces]


def _percent(goodputs: Sequence[float]) -> float:
    return 100 * goodputs[0] / sum(goodputs)
