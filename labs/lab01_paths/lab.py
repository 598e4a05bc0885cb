"""Lab 1: find the link that loses packets and the route that is wrong, and lead packets around them."""

import random
from collections.abc import Iterator

from flightpath.overrides import override
from labs.framework import files, latency
from labs.framework.judging import Limits, answered, between
from labs.framework.lab import Finding, Lab, Measured, Parameters, Question, Work
from labs.framework.network import Trial, trial
from labs.lab01_paths.network import CLIENT, CORE, LOSS, SERVER, Paths, layout, links_over
from topologies.links.events import LinkEvent

FILE = "routes.mn"
_PINGS, _INTERVAL_S = 60, 0.02
_LAST = 4
"""The number of the link to h2."""


class PathsLab(Lab):
    """A network with two paths, of which one loses packets and the other has a wrong route."""

    number, title, minutes = 1, "Addresses and paths", 45
    goal = "You can find out which way packets take, where they are lost, and lead them another way."
    needs = "IPv4 addresses and prefixes; what a routing table is"
    questions = (
        Question("broken_link", "The number of the link that loses packets: 12, 13, 24 or 34"),
        Question("wrong_router", "The number of the router with a wrong route in routes.mn as delivered: 1, 2, 3 or 4"),
        Question("rtt_ms", "The round-trip time between h1 and h2 after the repair, in ms"),
    )
    has_files = True

    @override
    def parameters(self, chance: random.Random) -> Parameters:
        code, net = chance.randrange(1000, 10000), chance.randrange(1, 250)
        good = layout(code).good_router
        wrong_way = chance.choice(["h1", "h2"])
        return {"code": code, "net": net, **_delivered(good, wrong_way)}

    @override
    def measure(self, parameters: Parameters, work: Work) -> Measured:
        net = layout(parameters["code"])
        # A lossy link cannot be calibrated, so it begins to lose packets afterwards.
        loss = LinkEvent.parse(f"0s r{net.broken // 10}-r{net.broken % 10} loss={100 * LOSS:g}%")
        topology = Paths(parameters["code"], parameters["net"], broken=False)
        with trial(topology, events=[loss]) as network:
            files.run_commands(work, FILE, {host.name: host for host in network.testbed.net.hosts}, "ip route")
            before = _packets(network)
            client, address = network.testbed.host(CLIENT), network.testbed.host(SERVER).address(4)
            with latency.pinging(client, address, _PINGS * _INTERVAL_S, _INTERVAL_S) as pings:
                pass
            carried = {key: count - before[key] for key, count in _packets(network).items()}
            if pings:
                network.series["round_trip_h1_to_h2"] = latency.series(pings, pings[0][0])
        good, bad = (links_over(router) for router in (net.good_router, 5 - net.good_router))
        values = {
            # A route can also have h1 answer itself.
            "answered": 100 * min(len(pings), carried[_LAST, "a_to_b"], carried[_LAST, "b_to_a"]) / _PINGS,
            "there": 100 * min(carried[link, "a_to_b"] for link in good) / _PINGS,
            "back": 100 * min(carried[link, "b_to_a"] for link in good) / _PINGS,
            "elsewhere": 100 * max(carried[link, way] for link in bad for way in ("a_to_b", "b_to_a")) / _PINGS,
        }
        return network.measured(values)

    @override
    def judge(self, parameters: Parameters, work: Work, measured: Measured) -> Iterator[Finding]:
        net = layout(parameters["code"])
        part = "ping over each link alone, from router to router: on which one are answers missing?"
        yield answered(work, "broken_link", "link that loses packets", net.broken, part, within=0.001)
        asks = "ask each router with `ip route get` where it sends packets to h1 and to h2: which one sends them back?"
        yield answered(work, "wrong_router", "router with a wrong route", net.good_router, asks, within=0.001)
        path = "ping over the path that packets take after the repair, there and back"
        yield answered(work, "rtt_ms", "round-trip time", net.rtt_ms, path, within=0.05)
        values = measured.values
        limits = Limits(100, 100, too_low="a packet needs a route in each router, there and back")
        yield between("pings answered with your routes", values.get("answered"), "%", limits, points=2)
        for key, what, hint in (
            ("there", "packets to h2 over the good path", "which of two paths does r1 choose, and why?"),
            ("back", "packets to h1 over the good path", "routes there say nothing of the way back: what does r4 do?"),
        ):
            yield between(what, values.get(key), "%", Limits(100, 110, too_low=hint, too_high="packets run in circles"))


def _delivered(good: int, wrong_way: str) -> dict[str, str]:
    """Returns the next hops of the delivered file: over the broken link, with a loop at the good router."""
    first = 5 - good
    hops = {f"r{router}_to_{host}": _next_hop(router, host) for router in (2, 3) for host in ("h1", "h2")}
    hops[f"r{good}_to_{wrong_way}"] = _next_hop(good, "h2" if wrong_way == "h1" else "h1")
    return {**hops, **first_hops(first)}


def first_hops(router: int) -> dict[str, str]:
    """Returns the next hops of r1 and r4 over r2 or r3, without the beginning of the address."""
    return {"first_from_r1": f"1{router}.{router}", "first_from_r4": f"{router}4.{router}"}


def _next_hop(router: int, host: str) -> str:
    return f"1{router}.1" if host == "h1" else f"{router}4.4"


def _packets(network: Trial) -> dict[tuple[int, str], int]:
    """Returns how many packets have entered each link between routers and the last one, by number and direction."""
    links = {int(link.intf1.name.rpartition("eth")[2]): link for link in network.testbed.links}
    return {
        (number, way): links[number].stats()["directions"][way]["in_packets"]
        for number in (*CORE, _LAST)
        for way in ("a_to_b", "b_to_a")
    }
