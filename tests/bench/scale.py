"""What many links cost: to start 64, and to leave 100 alone."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from mininet.net import Mininet

from tests.bench.figures import Figure
from tests.bench.hosts import plain_network, relay_cpu_s
from topologies.links.relay import RelayLink
from topologies.links.spec import LinkSpec

SECTION = "many links"
STARTED, IDLE = 64, 100
IDLE_SECONDS = 5
SPEC = LinkSpec(bandwidth_bps=50_000_000, delay_s=0.005)


def measure(rounds: int) -> Iterator[str | list[Figure]]:
    started, idle = [], []
    for number in range(1, rounds + 1):
        yield f"round {number}: {STARTED} links start"
        started.append(_start_s())
        yield f"round {number}: {IDLE} links at rest"
        idle.append(_idle_percent())
    yield [
        Figure(SECTION, f"{STARTED} links start", started, "s", at_most=3),
        Figure(SECTION, f"{IDLE} links at rest", idle, "% of a core", at_most=5),
    ]


@contextmanager
def _linked(count: int) -> Iterator[tuple[Mininet, list[RelayLink], float]]:
    """A network of two hosts, the links between them, and how long these took to start (s)."""
    with plain_network() as net:
        a, b = (net.addHost(f"h{number}") for number in (1, 2))
        began_s = time.monotonic()
        links = [net.addLink(a, b, cls=RelayLink, spec=SPEC) for _ in range(count)]
        yield net, links, time.monotonic() - began_s


def _start_s() -> float:
    with _linked(STARTED) as (_, _, took_s):
        return took_s


def _idle_percent() -> float:
    with _linked(IDLE) as (net, links, _):
        net.start()
        for host in net.hosts:
            host.run(["ip", "-batch", "-"], stdin="\n".join(f"link set dev {port} up" for port in host.intfs.values()))
        time.sleep(2)  # interfaces send packets when they come up
        before = relay_cpu_s(links)
        time.sleep(IDLE_SECONDS)
        return (relay_cpu_s(links) - before) / IDLE_SECONDS * 100
