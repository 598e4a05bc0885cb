"""Lab 9: how much load a web server bears over TCP, and how much over MPTCP."""

import json
import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from flightpath.commands import over_mptcp
from flightpath.errors import MeasurementFailed
from flightpath.hosts import await_end, running
from flightpath.overrides import override
from flightpath.waiting import wait_until
from labs.framework.judging import Limits, answered, between, counting_beside
from labs.framework.lab import Finding, Lab, Measured, Parameters, Question, Work
from labs.framework.network import Trial, trial
from results.records import Series
from topologies.links.spec import PAYLOAD_SHARE
from topologies.multipath_pair import MultipathPair
from topologies.sandbox.sandbox import TEMPORARY

_WORK = Path(__file__).parent / "work"
_PORT = "8000"
_SECONDS, _GRACE_S = 15, 60
MORE = 1.4
"""Factor of the second load, which checks that the first was the largest possible."""

_MAX_PER_S = 60
_LEAST_SHARE = 0.5
"""Least load that is worth points, as a fraction of path 1's capacity: any service keeps a promise to few users."""


class LoadLab(Lab):
    """A page, users who come at random, and two paths."""

    number, title, minutes = 9, "MPTCP against TCP under load", 60
    goal = "You can find out how much load a service bears, and what a second path adds to it."
    needs = "labs 2 and 8; what a percentile is"
    questions = (
        Question("capacity_per_s", "How many pages a second path 1 carries at the most"),
        Question("tcp_per_s", "The most requests a second over TCP within the limit; it is tried", is_tried=True),
        Question("mptcp_per_s", "The most requests a second over MPTCP within the limit; it is tried", is_tried=True),
    )

    @override
    def parameters(self, chance: random.Random) -> Parameters:
        first, second = chance.choice([(16, 12), (20, 15), (24, 16)])
        values = {"kb": chance.choice([200, 250]), "limit_ms": chance.choice([1200, 1300]), "seconds": _SECONDS}
        return {"mbit1": first, "mbit2": second, "more": MORE, **values}

    @override
    def measure(self, parameters: Parameters, work: Work) -> Measured:
        values = {}
        links = f"bw={parameters['mbit1']} delay=5ms queue=100ms;bw={parameters['mbit2']} delay=10ms queue=100ms"
        with trial(MultipathPair(paths=2, links=links)) as network:
            server = network.testbed.net.hosts[1]
            argv = [*over_mptcp(enabled=True), sys.executable, "-I", "-S", str(_WORK / "server.py")]
            with running(server, [*argv, str(parameters["kb"])]):
                wait_until(lambda: _PORT in server.run(["ss", "-Htln"]), "the server to listen", 10)
                for protocol in ("tcp", "mptcp"):
                    rate = work.answers.get(f"{protocol}_per_s", 0.0)
                    if not 0.5 <= rate <= _MAX_PER_S:
                        continue
                    values[protocol] = _p95_ms(network, rate, protocol)
                    values[f"{protocol}_more"] = _p95_ms(network, rate * MORE, protocol)
        return network.measured(values)

    @override
    def judge(self, parameters: Parameters, work: Work, measured: Measured) -> Iterator[Finding]:
        per_page = "how many bits has a page, and how many bits of payload does path 1 carry a second?"
        yield answered(work, "capacity_per_s", "capacity of path 1", capacity_per_s(parameters), per_page, within=0.1)
        limit_ms = parameters["limit_ms"]
        late = "one user in twenty waits too long: users come at random, so some wait for others long before it is full"
        more = "it bears more: {:.1f} a second were served in time, too"
        for protocol in ("tcp", "mptcp"):
            p95_ms, above_ms = measured.values.get(protocol), measured.values.get(f"{protocol}_more")
            name, rate = protocol.upper(), work.answers.get(f"{protocol}_per_s", 0.0)
            in_time = between(f"{name}: 95 of 100 within", p95_ms, "ms", Limits(0, limit_ms, late, late), points=2)
            hint = more.format(MORE * rate)
            if 0 < rate < _LEAST_SHARE * capacity_per_s(parameters):
                in_time = replace(in_time, passed=False, hint=hint)
            above = between(f"{name}: at {MORE:g} times your load", above_ms, "ms", Limits(limit_ms, 1e6, hint, hint))
            yield in_time
            yield counting_beside(in_time, above)


def capacity_per_s(parameters: Parameters) -> float:
    """Returns how many pages a second path 1 can carry."""
    return PAYLOAD_SHARE * parameters["mbit1"] * 1e6 / (8e3 * parameters["kb"])


def _p95_ms(network: Trial, rate: float, protocol: str) -> float:
    """Applies a load; returns the 95th percentile of its response times, and keeps them for the picture."""
    client, server = network.testbed.net.hosts
    each = TEMPORARY / "users.txt"
    arguments = [server.address(), str(rate), str(_SECONDS), str(each)]
    program = [sys.executable, "-I", "-S", str(_WORK / "load.py"), *arguments]
    with running(client, [*over_mptcp(protocol == "mptcp"), *program]) as load:
        stdout, stderr = await_end(load, _SECONDS + _GRACE_S, network.watch.check, "the load did not end")
    if load.returncode:
        raise MeasurementFailed(f"the load failed: {stderr[-300:]}")
    came_s, took_s = zip(*(map(float, line.split()) for line in each.read_text().splitlines()), strict=True)
    name = f"response times over {protocol.upper()} at {rate:.3g} a second"
    network.series[name] = Series("s", came_s, took_s)
    return float(json.loads(stdout)["p95_ms"])
