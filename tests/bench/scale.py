"""Cost of many links: to start 64, and to leave 100 alone."""

import time
from collections.abc import Iterator

from tests.bench.figures import Figure
from tests.bench.hosts import relay_cpu_s
from tests.support.congestion_links import plain_network
from topologies.links.relay import RelayLink
from topologies.links.spec import LinkSpec

SECTION = "many links"
STARTED, IDLE = 64, 100
IDLE_SECONDS = 5
SPEC = LinkSpec(bandwidth_bps=50_000_000, delay_s=0.005)


def measure(number: int) -> Iterator[str | Figure]:
    with plain_network() as net:
        a, b = (net.addHost(name) for name in ("h1", "h2"))
        yield f"{STARTED} links start"
        began_s = time.monotonic()
        links = [net.addLink(a, b, cls=RelayLink, spec=SPEC) for _ in range(STARTED)]
        yield Figure(SECTION, f"{STARTED} links start", [time.monotonic() - began_s], "s", at_most=3)
        yield f"{IDLE} links at rest"
        links += [net.addLink(a, b, cls=RelayLink, spec=SPEC) for _ in range(STARTED, IDLE)]
        net.start()
        for host in net.hosts:
            host.run(["ip", "-batch", "-"], stdin="\n".join(f"link set dev {port} up" for port in host.intfs.values()))
        time.sleep(2)  # interfaces send packets when they come up
        before = relay_cpu_s(links)
        time.sleep(IDLE_SECONDS)
        used_percent = (relay_cpu_s(links) - before) / IDLE_SECONDS * 100
    yield Figure(SECTION, f"{IDLE} links at rest", [used_percent], "% of a core", at_most=5)
