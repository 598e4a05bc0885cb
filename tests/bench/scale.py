"""What many links cost: to start 64, and to leave 100 alone."""

import time
from collections.abc import Iterator

from mininet.net import Mininet

from tests.bench.figures import Figure
from topologies.hosts.multihomed import MultihomedHost
from topologies.links.relay import RelayLink
from topologies.links.spec import LinkSpec

SECTION = "many links"
STARTED, IDLE = 64, 100
IDLE_SECONDS = 5
SPEC = LinkSpec(bandwidth_bps=50_000_000, delay_s=0.005)


def measure(rounds: int) -> Iterator[str | list[Figure]]:
    """Yields what it does, and at the end the figures."""
    started: list[float] = []
    idle: list[float] = []
    for number in range(1, rounds + 1):
        yield f"round {number}: {STARTED} links start"
        started.append(_start_s())
        yield f"round {number}: {IDLE} links at rest"
        idle.append(_idle_percent())
    yield [
        Figure(SECTION, f"{STARTED} links start", started, "s", at_most=3),
        Figure(SECTION, f"{IDLE} links at rest", idle, "% of a core", at_most=5),
    ]


def _network() -> tuple[Mininet, MultihomedHost, MultihomedHost]:
    Mininet.inited = True
    net = Mininet(controller=None, host=MultihomedHost, build=False)
    return net, *(net.addHost(f"h{number}") for number in (1, 2))


def _start_s() -> float:
    net, a, b = _network()
    try:
        start = time.monotonic()
        for _ in range(STARTED):
            net.addLink(a, b, cls=RelayLink, spec=SPEC)
        return time.monotonic() - start
    finally:
        net.stop()


def _idle_percent() -> float:
    net, a, b = _network()
    try:
        links = [net.addLink(a, b, cls=RelayLink, spec=SPEC) for _ in range(IDLE)]
        net.start()
        for host in (a, b):
            host.run(["ip", "-batch", "-"], stdin="\n".join(f"link set dev {port} up" for port in host.intfs.values()))
        time.sleep(2)  # what interfaces say when they come up
        before = _cpu_s(links)
        time.sleep(IDLE_SECONDS)
        return (_cpu_s(links) - before) / IDLE_SECONDS * 100
    finally:
        net.stop()


def _cpu_s(links: list[RelayLink]) -> float:
    return sum(way["cpu_ns"] for link in links for way in link.stats()["directions"].values()) / 1e9
