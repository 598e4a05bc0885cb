"""Tunnels whose packets have numbers around 2^31 and 2^32: programs built for tests, and traffic that climbs there."""

import subprocess
import time

from flightpath.waiting import wait_until
from tests.bench.hosts import Pair
from tests.bench.processes import program
from tests.support.c_builds import make
from tests.support.killed import killed_at_end
from topologies.testbed.tunnel import Tunnel

HALF, WHOLE = 2**31, 2**32
NEAR = 2**17
"""Packets before the turn at which real traffic begins."""

PASSED_OVER = 16_000
"""Numbers after each flush on the way to the turn. Those of all packets on the way must fit into the window: a larger
jump would be a new beginning for the receiver."""

WINDOW = 65_536
_CLIMBED_S = 300


def build(first: int, until: int = 0) -> str:
    """Builds a tunnel that numbers packets from `first`, and passes over most numbers while they are below `until`."""
    name = f"mptgre-numbered-{first}-{PASSED_OVER if until else 0}-{until}"
    make(f"build/{name}")
    return name


def climb(network: Pair, tunnel: Tunnel, until: int) -> None:
    """Exchanges datagrams, few at a time, until the numbers in both directions are near `until`."""
    address = tunnel.address(network.target)
    passed = until - WINDOW

    def is_there() -> bool:
        ends = [tunnel.stats(host) for host in (network.source, network.target)]
        return min(it["reordering"]["given_up"] + it["out_packets"] for it in ends) >= passed

    with killed_at_end(network.target.popen(program("echo", address), stdout=subprocess.PIPE, text=True)) as server:
        server.stdout.readline()
        with killed_at_end(network.source.popen(program("climb", address))):
            wait_until(is_there, f"the numbers to pass {passed}", _CLIMBED_S, poll_s=0.1)
    time.sleep(0.1)
