"""Lab 11: a tunnel over two unequal paths, whose bandwidths change places."""

import random
from collections.abc import Iterator

from flightpath.errors import MeasurementFailed, UsageError
from flightpath.overrides import override
from labs.framework import files
from labs.framework.judging import Limits, answered, between
from labs.framework.lab import Finding, Lab, Measured, Parameters, Question, Work
from labs.framework.network import trial
from probes.transfers.tcp_flow import TcpFlow
from scenarios.congestion.race_measures import throughput
from services.stream import StreamSink
from topologies.links.events import LinkEvent
from topologies.links.spec import PAYLOAD_SHARE
from topologies.multipath_pair import MultipathPair
from topologies.sandbox.sandbox import TEMPORARY
from topologies.testbed.tunnel import Tunnel, TunnelSpec

FILE = "tunnel.toml"
_CHANGE_S, _END_S, _SETTLE_S = 7.0, 17.0, 3.0
_PATHS = ("h1-eth0", "h1-eth1")
_KINDS = {"scheduler": str, "weights": str, "path_weights": list, "reordering": str}


class TunnelLab(Lab):
    """One TCP connection through a tunnel over two paths."""

    number, title, minutes = 11, "A tunnel over unequal paths", 60
    goal = "You can send one connection over two unequal paths, and say what order, weights and losses do to it."
    needs = "labs 5 and 8"
    questions = (
        Question("best_mbit", "The TCP payload that both paths carry together at the most, in Mb/s"),
        Question("equal_mbit", "That of packets that take turns, as many over each path, in Mb/s"),
        Question("mptcp_mbit", "What MPTCP gets over both paths, as you have measured it, in Mb/s"),
    )
    has_files = True

    @override
    def parameters(self, chance: random.Random) -> Parameters:
        slow = chance.choice([4, 5, 6, 7])
        return {
            "fast_mbit": 2 * slow,
            "slow_mbit": slow,
            "near_ms": chance.choice([4, 5]),
            "far_ms": chance.choice([35, 38]),
        }

    @override
    def measure(self, parameters: Parameters, work: Work) -> Measured:
        spec = _tunnel(work)
        fast, slow = f"bw={parameters['fast_mbit']}", f"bw={parameters['slow_mbit']}"
        links = f"{fast} delay={parameters['near_ms']}ms queue=50ms;{slow} delay={parameters['far_ms']}ms queue=50ms"
        swap = [
            LinkEvent.parse(f"{_CHANGE_S}s {path} bandwidth={parameters[rate]}Mbit")
            for path, rate in zip(_PATHS, ("slow_mbit", "fast_mbit"), strict=True)
        ]
        topology = MultipathPair(links=links, mptcp=False, congestion_control="cubic")
        with trial(topology, events=swap) as network:
            client, server = network.testbed.net.hosts
            with Tunnel(client, server, spec) as tunnel, StreamSink(server, TEMPORARY):
                probe = TcpFlow(seconds=_END_S, interval_s=0.1)
                trace = probe.run(client, tunnel.address(server), watch=network.watch.check)
        network.series["goodput through the tunnel"] = throughput(trace, trace.times_s[0], _END_S)
        return network.measured(
            {
                "before_mbit": trace.goodput_bps(_SETTLE_S, _CHANGE_S) / 1e6,
                "after_mbit": trace.goodput_bps(_CHANGE_S + _SETTLE_S) / 1e6,
            }
        )

    @override
    def judge(self, parameters: Parameters, work: Work, measured: Measured) -> Iterator[Finding]:
        fast, slow = parameters["fast_mbit"], parameters["slow_mbit"]
        best = best_mbit(parameters)
        headers = "add both rates; a packet of 1500 bytes has how many bytes of headers, and how many more on the line?"
        yield answered(work, "best_mbit", "payload of both paths", best, headers, within=0.04)
        turns = "half of the packets take the slow path: what can the fast one carry meanwhile?"
        yield answered(work, "equal_mbit", "payload of packets that take turns", best * 2 * slow / (fast + slow), turns)
        subflows = "let it run for 20 seconds; `links` must show that both paths carry it"
        yield answered(work, "mptcp_mbit", "payload with MPTCP", best, subflows, within=0.12)
        wrong = "does each path get what it can carry, and does the receiver get the packets in order?"
        changed = "who tells the tunnel that the paths have changed places?"
        for key, what, hint in (("before_mbit", "your tunnel", wrong), ("after_mbit", "after the change", changed)):
            limits = Limits(0.74 * best, best * 1.02, too_low=hint)
            yield between(f"throughput: {what}", measured.values.get(key), "Mbit/s", limits, points=2)


def best_mbit(parameters: Parameters) -> float:
    """Returns the TCP payload that both paths can carry."""
    return PAYLOAD_SHARE * (parameters["fast_mbit"] + parameters["slow_mbit"])


def _tunnel(work: Work) -> TunnelSpec:
    given = files.settings(work, FILE, _KINDS)
    try:
        return TunnelSpec(**given)
    except UsageError as error:
        raise MeasurementFailed(f"{FILE}: {error}") from error
