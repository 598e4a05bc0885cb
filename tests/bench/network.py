"""A network that is started, tried and ended, with what that costs: `python -m tests.bench.network 16 --sample 100`.

It is a fat tree, or a topology of Mininet: `tree,5,4`, `torus,10,10` or `single,1024`. Prints a word when it begins and
at the end of each phase, so that whoever reads it knows what the phase cost, and then one JSON object: times in
seconds, that of a packet in microseconds; processor time is that of all processes in the sandbox (0 in virtual time,
where computing takes no time); memory in MB for each host, from what the machine has available before and after the
start.
"""

import argparse
import contextlib
import json
import random
import socket
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from mininet.topo import SingleSwitchTopo, Topo
from mininet.topolib import TorusTopo, TreeTopo

from flightpath.overrides import override
from flightpath.processes import memory_bytes
from flightpath.waiting import timeout_scale
from tests.bench.processes import sandbox_cpu_s
from topologies.fat_tree import FatTree
from topologies.hosts.multihomed import MultihomedHost
from topologies.links.spec import LinkSpec
from topologies.sandbox import kernel_settings, sandbox
from topologies.testbed.testbed import Testbed

_ECHO, _REPLY = 8, 0
_REQUEST = struct.pack("!BBHHH", _ECHO, 0, 0xFFFF ^ (_ECHO << 8), 0, 0)
_IP_HEADER_BYTES = 20
_TIMEOUT_S = 10.0
_OF_MININET = {"single": SingleSwitchTopo, "tree": TreeTopo, "torus": TorusTopo}

PHASES = BEGAN, UP, TRIED, EXCHANGED, DOWN = "began", "up", "tried", "exchanged", "down"
"""Words that are printed in this order."""


class OfMininet(FatTree):
    """A topology of Mininet, whose hosts have the addresses of a fat tree's."""

    @override
    def build(self, plain: Topo, *_: Any, **__: Any) -> None:  # type: ignore[override]
        self._spec, self._count = None, 0
        for number, switch in enumerate(plain.switches(), start=1):
            self.addSwitch(switch, dpid=f"{number:016x}")
        for one, other in plain.links():
            if plain.isSwitch(one) and plain.isSwitch(other):
                here, there = plain.port(one, other)
                self._join(one, here, other, there)
        switch_of = {end: other for one, other in plain.links() for end, other in ((one, other), (other, one))}
        for number, host in enumerate(plain.hosts(), start=1):
            _, port = plain.port(host, switch_of[host])
            self._add_host(number, switch_of[host], port, LinkSpec(), None)


def main(network: Topo, policy: str | None, sample: int, packets: int) -> int:
    print(BEGAN, flush=True)
    available, began_s, used_s = memory_bytes()["MemAvailable"], time.monotonic(), sandbox_cpu_s()
    with Testbed(network, policy=policy) as testbed:
        net = testbed.net
        found = {
            **{"hosts": len(net.hosts), "switches": len(net.switches), "links": len(net.links)},
            **{"up": time.monotonic() - began_s, "up: processor time": sandbox_cpu_s() - used_s},
            "memory": (available - memory_bytes()["MemAvailable"]) / len(net.hosts) / 1e6,
        }
        print(UP, flush=True)
        chosen = random.Random(1).sample(net.hosts, min(sample, len(net.hosts)))
        found |= {"pairs": len(chosen) * (len(chosen) - 1), "reached": _reached(chosen)}
        print(TRIED, flush=True)
        if packets:
            used_s, target = sandbox_cpu_s(), net.hosts[-1]
            with _icmp(net.hosts[0]) as icmp:
                if not all(_answers(icmp, [target.address()]) for _ in range(packets)):
                    sys.exit(f"{target.name} does not answer {net.hosts[0].name}")
            found["a packet: processor time"] = (sandbox_cpu_s() - used_s) / (2 * packets) * 1e6
        print(EXCHANGED, flush=True)
        used_s, ends_s = sandbox_cpu_s(), time.monotonic()
    print(DOWN, flush=True)
    found |= {"down": time.monotonic() - ends_s, "down: processor time": sandbox_cpu_s() - used_s}
    print(json.dumps(found))
    return 0 if found["pairs"] == found["reached"] else 1


def _reached(hosts: Sequence[MultihomedHost]) -> int:
    """Number of ordered pairs that exchange a packet. Neighbours are permanent: all namespaces share 1024 others."""
    for host in hosts:
        others = [it for it in hosts if it is not host]
        lines = [f"neigh replace {it.address()} lladdr {it.intfs[0].MAC()} dev {host.intfs[0].name}" for it in others]
        host.run(["ip", "-batch", "-"], stdin="\n".join(f"{line} nud permanent" for line in lines))
    reached = 0
    for host in hosts:
        with _icmp(host) as icmp:
            reached += _answers(icmp, [it.address() for it in hosts if it is not host])
    return reached


def _answers(icmp: socket.socket, targets: Sequence[str]) -> int:
    waiting = set(targets)
    for target in targets:
        icmp.sendto(_REQUEST, (target, 0))
    with contextlib.suppress(TimeoutError):
        while waiting:
            packet, (address, _) = icmp.recvfrom(2048)
            if packet[_IP_HEADER_BYTES] == _REPLY:
                waiting.discard(address)
    return len(targets) - len(waiting)


@contextlib.contextmanager
def _icmp(host: MultihomedHost) -> Iterator[socket.socket]:
    with kernel_settings.inside(host):
        icmp = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    with icmp:
        icmp.settimeout(_TIMEOUT_S * timeout_scale())
        yield icmp


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench.network", description=__doc__)
    parser.add_argument("network", help="pods of a fat tree (16: 1024 hosts, 320 switches, 3072 links); or tree,5,4")
    parser.add_argument("--links", metavar="TEXT", help="links of a fat tree's switches: 'bandwidth=1Gbit delay=50us'")
    parser.add_argument("--policy", help="steer by this policy (without: shortest paths only)")
    parser.add_argument(
        "--sample", type=int, default=10, metavar="N", help="hosts of which all pairs exchange a packet"
    )
    parser.add_argument("--packets", type=int, default=0, metavar="N", help="exchanges between the first and last host")
    options = parser.parse_args()
    name, *numbers = options.network.split(",")
    if name.isdigit():
        network = FatTree(pods=name, links=options.links)
    else:
        network = OfMininet(_OF_MININET[name](*map(int, numbers)))
    sys.exit(sandbox.run_inside(lambda: main(network, options.policy, options.sample, options.packets)))
