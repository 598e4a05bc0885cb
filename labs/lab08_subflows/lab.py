"""Lab 8: subflows over two paths, and over a third one only when both have failed."""

import random
import time
from collections.abc import Iterator

from flightpath.commands import over_mptcp
from flightpath.hosts import running
from flightpath.overrides import override
from labs.framework import files
from labs.framework.judging import Limits, answered, between, counting_beside
from labs.framework.lab import Finding, Lab, Measured, Parameters, Question, Work
from labs.framework.network import Trial, trial
from probes.counters.sampling import CounterLog, Sampler
from services.iperf3 import Iperf3Server
from topologies.links.events import LinkEvent
from topologies.links.spec import PAYLOAD_SHARE
from topologies.multipath_pair import MultipathPair
from topologies.sandbox.sandbox import TEMPORARY

FILE = "mptcp.mn"
_FIRST_S, _SECOND_S, _END_S = 4, 8, 13
_SETTLE_S, _RECOVERY_S = 1.5, 2.5
_SAMPLE_S = 0.25
_PATHS = ("path1", "path2", "path3")


class SubflowsLab(Lab):
    """Three paths, of which two fail one after the other."""

    number, title, minutes = 8, "MPTCP: subflows and their steering", 60
    goal = "You can let a connection use several paths, keep one in reserve, and follow it from failure to failure."
    needs = "labs 1 and 5"
    questions = (
        Question("plain_mbit", "What MPTCP gets with mptcp.mn as delivered, in Mb/s"),
        Question("subflows", "How many subflows, with the first one, a connection needs for all three paths"),
        Question("cores_single", "How many core switches two subflows cross, if the controller's policy is `single`"),
    )
    has_files = True

    @override
    def parameters(self, chance: random.Random) -> Parameters:
        first, second, third = chance.sample([3, 4, 5, 6], 3)
        return {"mbit1": first, "mbit2": second, "mbit3": third, "ms1": 10, "ms2": chance.choice([15, 20]), "ms3": 30}

    @override
    def measure(self, parameters: Parameters, work: Work) -> Measured:
        links = ";".join(f"bw={parameters[f'mbit{i}']} delay={parameters[f'ms{i}']}ms queue=60ms" for i in (1, 2, 3))
        events = [LinkEvent.parse(f"{_FIRST_S}s h1-eth0 blackhole=on"), LinkEvent.parse(f"{_SECOND_S}s h1-eth1 down")]
        with trial(MultipathPair(paths=3, links=links, mptcp=False), events=events) as network:
            client, server = network.testbed.net.hosts
            files.run_commands(work, FILE, {host.name: host for host in (client, server)}, "ip mptcp")
            with Iperf3Server(server, TEMPORARY, mptcp=True):
                log = _transfer(network)
        start_s = log.times_s[0]
        network.series |= {f"carried by {path}": log.rates(path, "bit/s", start_s=start_s, scale=8) for path in _PATHS}
        phases = {"both": (_SETTLE_S, _FIRST_S), "one": (_FIRST_S + _RECOVERY_S, _SECOND_S)}
        phases["none"] = (_SECOND_S + _RECOVERY_S, _END_S)
        values = {
            f"{phase}_{path}": _carried(log, path, start_s + begin_s, start_s + end_s)
            for phase, (begin_s, end_s) in phases.items()
            for path in _PATHS
        }
        return network.measured(values)

    @override
    def judge(self, parameters: Parameters, work: Work, measured: Measured) -> Iterator[Finding]:
        first, second, third = (parameters[f"mbit{i}"] for i in (1, 2, 3))
        one = "one path is in use: which one, and what can it carry without headers?"
        yield answered(work, "plain_mbit", "MPTCP as delivered", PAYLOAD_SHARE * first, one)
        each = "each subflow has one path"
        yield answered(work, "subflows", "subflows for all paths", 3, each, within=0.001)
        drawn = "`connections` in that network names the switches that each subflow crosses"
        yield answered(work, "cores_single", "core switches with `single`", 1, drawn, within=0.001)
        values = measured.values
        allowed = "how many subflows do the limits allow at both ends, and who announces the second address?"
        path1, path2 = (
            between(
                f"{path} while all work",
                values.get(f"both_{path}"),
                "Mbit/s",
                Limits(0.85 * mbit, 1.02 * mbit, too_low=allowed),
            )
            for path, mbit in (("path1", first), ("path2", second))
        )
        left = "a black hole tells nobody: is there a second subflow to go on with?"
        alone = between(
            "path2 after path 1 has failed", values.get("one_path2"), "Mbit/s", Limits(0.8 * second, 99, too_low=left)
        )
        yield counting_beside(path2, path1)
        yield path2
        costs = "path 3 costs money: which flag keeps a subflow back, and at which end must it be set?"
        reserve = Limits(0, 0.1, too_high=costs)
        yield counting_beside(path2, between("path3 while all work", values.get("both_path3"), "Mbit/s", reserve))
        yield counting_beside(alone, between("path3 while path 2 works", values.get("one_path3"), "Mbit/s", reserve))
        yield alone
        last = "nothing is left but path 3: is there a subflow over it, which waits?"
        limits = Limits(0.8 * third, 99, too_low=last)
        yield between("path3 after both have failed", values.get("none_path3"), "Mbit/s", limits, points=2)


def _transfer(network: Trial) -> CounterLog:
    """Sends over MPTCP; returns the bytes that each path has carried to h2."""
    client, server = network.testbed.net.hosts

    def carried() -> dict[str, float]:
        links = zip(_PATHS, network.testbed.links, strict=True)
        return {path: float(link.stats()["directions"]["a_to_b"]["out_bytes"]) for path, link in links}

    argv = [*over_mptcp(enabled=True), "iperf3", "-c", server.address(), "-t", str(10 * _END_S)]
    with running(client, argv), Sampler(carried, _SAMPLE_S) as sampler:
        time.sleep(_END_S)
        network.watch.check()
    return sampler.log


def _carried(log: CounterLog, path: str, begin_s: float, end_s: float) -> float:
    """Returns the rate of a path between two times on CLOCK_MONOTONIC, in Mb/s."""
    rows = [(at_s, row[path]) for at_s, row in zip(log.times_s, log.rows, strict=True) if begin_s <= at_s <= end_s]
    (first_s, before), (last_s, after) = rows[0], rows[-1]
    return (after - before) * 8 / (last_s - first_s) / 1e6
