"""Lab 7: a controller that learns addresses, installs rules, and leads two pairs of hosts over a path each."""

import random
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import permutations

from flightpath.commands import CommandFailed, run
from flightpath.errors import MeasurementFailed
from flightpath.overrides import override
from flightpath.pools import ThreadPool
from flightpath.waiting import wait_until
from labs.framework import programs
from labs.framework.judging import Limits, between, counting_beside
from labs.framework.lab import Finding, Lab, Measured, Parameters, Work
from labs.framework.network import Trial, trial
from probes.transfers.tcp_flow import FlowTrace, TcpFlow
from scenarios.congestion.race_measures import throughput
from services.stream import StreamSink
from topologies.fabric import Fabric
from topologies.hosts.multihomed import MultihomedHost
from topologies.links.spec import PAYLOAD_SHARE
from topologies.sandbox.sandbox import TEMPORARY

FILE = "switch.py"
_SECONDS, _SETTLE_S = 3.0, 1.0
_MAX_PACKETS = 100
"""Maximum number of packets from a core switch for a ping; more are a forwarding loop."""

_RECEIVED = re.compile(r"(\d+) received")
_CORES = ("core1", "core2")
_CONTROLLER = "127.0.0.1:6654"
_START_LIMIT_S, _RULES_S = 30.0, 1.0
"""Limit for the start of the controller, and time for the rules that it installs when switches connect."""


class SwitchLab(Lab):
    """Four switches with a loop, and four hosts."""

    number, title, minutes = 7, "A switch that learns, and paths", 90
    goal = "You can write an OpenFlow controller that learns where hosts are, and leads traffic over chosen paths."
    needs = "labs 1 and 2; Python"
    has_files = True

    @override
    def parameters(self, chance: random.Random) -> Parameters:
        first, second = chance.sample(["h3", "h4"], 2)
        return {
            "mbit": chance.choice([5, 6, 7, 8]),
            "first": first,
            "second": second,
            "core_of_first": chance.choice(_CORES),
        }

    @override
    def measure(self, parameters: Parameters, work: Work) -> Measured:
        links = f"bw={parameters['mbit']} delay=2ms"
        pairs = (("h1", parameters["first"]), ("h2", parameters["second"]))
        with trial(Fabric(multihomed=False, links=links)) as network:
            with _controlled_by(network, work):
                values = {"reached": float(_reached(network))}
            values |= _counted(network, pairs, parameters["core_of_first"])
            traces = _transfers(network, pairs)
        for name, pair, trace in zip(("first", "second"), pairs, traces, strict=True):
            values[f"{name}_mbit"] = trace.goodput_bps(_SETTLE_S) / 1e6 if trace else 0.0
            if trace:
                network.series[f"goodput from {pair[0]} to {pair[1]}"] = throughput(trace, trace.times_s[0], _SECONDS)
        return network.measured(values)

    @override
    def judge(self, parameters: Parameters, work: Work, measured: Measured) -> Iterator[Finding]:
        values, mbit = measured.values, PAYLOAD_SHARE * parameters["mbit"]
        everyone = "who does not reach whom? Broadcasts (ARP) must get to every host, and answers back"
        pairs = between(
            "pairs of hosts that reach each other", values.get("reached"), "of 12", Limits(12, 12, everyone)
        )
        rules = (
            "the controller is off during the transfers: is there a rule in every switch on the way, there and back?"
        )
        shared = "is the line shared with the other pair, or are some frames sent twice?"
        limits = Limits(0.85 * mbit, mbit * 1.02, too_low=f"{rules} {shared}")
        first, second = (
            between(f"throughput between {pair}", values.get(f"{name}_mbit"), "Mbit/s", limits)
            for name, pair in (("first", f"h1 and {parameters['first']}"), ("second", f"h2 and {parameters['second']}"))
        )
        some = Limits(0.1, mbit * 1.02, too_low=rules)
        forwards = between("forwarding without the controller", values.get("first_mbit"), "Mbit/s", some)
        yield from (counting_beside(forwards, pairs), first, second)
        path = "frames of a pair are on the other core switch: a rule can match the port by which a frame came in"
        yield between("packets on the right core switch", values.get("right"), "%", Limits(95, 100, path), points=2)
        flooded = "frames come to hosts that they are not for: was the receiver's port known when the rule was made?"
        stray = between("packets at hosts that they are not for", values.get("stray"), "%", Limits(0, 5, "", flooded))
        yield counting_beside(forwards, stray)


@contextmanager
def _controlled_by(network: Trial, work: Work) -> Iterator[None]:
    """Hands all switches to the student's application, in a network that knows nothing yet; it ends with the block.

    The rules that it has made stay: switches forward by them without a controller (fail mode secure).
    """
    switches = [switch.name for switch in network.testbed.net.switches]
    for name in switches:
        run(["ovs-vsctl", "del-controller", name])
        run(["ovs-ofctl", "-O", "OpenFlow13", "del-flows", name])
    for host in network.testbed.net.hosts:
        host.run(["ip", "neighbour", "flush", "all"])
    program = [programs.python(), "-P", "-m", "controllers.applications"]
    argv = [*program, "--listen", _CONTROLLER, "--folder", str(work.folder), FILE]
    with programs.running(argv, work.folder, name=FILE) as application:
        address, port = _CONTROLLER.split(":")
        listeners = ["ss", "-H", "-tln", f"src {address} and sport = :{port}"]
        wait_until(lambda: bool(run(listeners).strip()), f"{FILE} to start", _START_LIMIT_S, check=application.check)
        for name in switches:
            run(["ovs-vsctl", "set-controller", name, f"tcp:{_CONTROLLER}"])
        for name in switches:
            connected = partial(_is_connected, name)
            wait_until(connected, f"{name} to be connected to {FILE}", _START_LIMIT_S, check=application.check)
        time.sleep(_RULES_S)
        yield
        application.check()
        if "Traceback (most recent call last)" in application.output:
            raise MeasurementFailed(f"{FILE} fails: {application.output.strip()[-programs.SHOWN :]}")


def _is_connected(switch: str) -> bool:
    return run(["ovs-vsctl", "get", "controller", switch, "is_connected"]).strip() == "true"


def _reached(network: Trial) -> int:
    """Pings between all hosts, each twice; returns how many pairs were answered, and not by the controller."""
    reached = 0
    for a, b in permutations(network.testbed.net.hosts, 2):
        before, sent = _carried(network), _echo_replies(b)
        reached += _ping(a, b, count=2) > 0 and _echo_replies(b) > sent
        carried = _carried(network)
        if max(carried[core] - before[core] for core in _CORES) > _MAX_PACKETS:
            raise MeasurementFailed(f"{FILE}: packets run in circles; may a broadcast come back to where it was?")
    return reached


def _echo_replies(host: MultihomedHost) -> int:
    names, values = (line.split() for line in host.run(["grep", "^Icmp:", "/proc/net/snmp"]).splitlines())
    return int(values[names.index("OutEchoReps")])


def _transfers(network: Trial, pairs: Sequence[tuple[str, str]]) -> list[FlowTrace | None]:
    """Returns a transfer for each pair, at the same time; None for one that finds no way."""
    hosts = [(network.testbed.host(a), network.testbed.host(b)) for a, b in pairs]
    with StreamSink(hosts[0][1], TEMPORARY), StreamSink(hosts[1][1], TEMPORARY), ThreadPool(2) as at_once:
        return list(at_once.map(lambda pair: _transfer(network, *pair), hosts))


def _transfer(network: Trial, client: MultihomedHost, server: MultihomedHost) -> FlowTrace | None:
    probe = TcpFlow(congestion_control="cubic", seconds=_SECONDS, interval_s=0.1)
    try:
        return probe.run(client, server.address(), watch=network.watch.check)
    except MeasurementFailed:
        return None


def _counted(network: Trial, pairs: Sequence[tuple[str, str]], core_of_first: str) -> dict[str, float]:
    """Returns the shares of ping packets on the right core switch, and at hosts that they are not for, in %."""
    right = stray = total = 0
    cores = (core_of_first, *(core for core in _CORES if core != core_of_first))
    for pair, core in zip(pairs, cores, strict=True):
        before = _carried(network)
        _ping(network.testbed.host(pair[0]), network.testbed.host(pair[1]), count=10)
        carried = {name: count - before[name] for name, count in _carried(network).items()}
        right += carried[core]
        stray += sum(count for name, count in carried.items() if name not in (*pair, *_CORES))
        total += sum(carried[core] for core in _CORES)
    return {} if not total else {"right": 100 * right / total, "stray": 100 * stray / total}


def _ping(a: MultihomedHost, b: MultihomedHost, count: int) -> int:
    """Pings one host from another; returns the number of replies."""
    try:
        output = a.run(["ping", "-n", "-c", str(count), "-i", "0.05", "-W", "0.2", b.address()])
    except CommandFailed:  # no answer
        return 0
    match = _RECEIVED.search(output)
    return int(match[1]) if match else 0


def _carried(network: Trial) -> dict[str, int]:
    """Returns the packets so far: from each core switch to an edge switch, and to each host."""
    packets: dict[str, int] = dict.fromkeys(_CORES, 0)
    for link in network.testbed.links:
        ends = {"b_to_a": (link.intf2.node.name, link.intf1.node.name)}
        ends["a_to_b"] = ends["b_to_a"][::-1]
        for way, (sender, receiver) in ends.items():
            counts = link.stats()["directions"][way]["in_packets"]
            if sender in _CORES:
                packets[sender] += counts
            elif not receiver.startswith("edge") and receiver not in _CORES:
                packets[receiver] = counts
    return packets
