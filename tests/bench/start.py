"""How long a network takes to start, beside stock Mininet with as many hosts: a slow machine is hardly used without.

Ours is a whole Testbed: Open vSwitch and the controller started, links with a rate and a delay, every rule installed.
Stock Mininet has less to do: Open vSwitch runs already, nobody controls it, and its links have a rate but no delay (for
which many kernels lack netem).
"""

import time
from collections.abc import Iterator

from mininet.link import TCLink
from mininet.log import lg
from mininet.net import Mininet
from mininet.node import OVSSwitch
from mininet.topo import Topo

from tests.bench.figures import Figure
from topologies.hosts.multihomed import MultihomedHost
from topologies.links.spec import LinkSpec
from topologies.sandbox import sandbox
from topologies.testbed.openvswitch import PrivateOpenVSwitch
from topologies.testbed.testbed import Testbed

SECTION = "start"
HOSTS = (4, 64, 256)
_MANY, _ROUNDS_OF_MANY = 256, 2
_SPEC = LinkSpec(bandwidth_bps=50_000_000, delay_s=0.005)


class Star(Topo):
    """Hosts around one switch."""

    def build(self, hosts: int = 4, *, stock: bool = False) -> None:
        self.addSwitch("s1", dpid=f"{1:016x}")
        for number in range(1, hosts + 1):
            name, address = f"h{number}", f"10.0.{number >> 8}.{number & 255}"
            ours = {"cls": MultihomedHost, "addresses": {0: (f"{address}/16",)}, "congestion_control": "cubic"}
            self.addHost(name, **({"ip": f"{address}/16"} if stock else ours))
            self.addLink(name, "s1", port1=0, port2=number, **({"bw": 50} if stock else {"spec": _SPEC}))


def measure(rounds: int) -> Iterator[str | list[Figure]]:
    for hosts in HOSTS:
        stock, ours, ends = [], [], []
        for number in range(1, (min(rounds, _ROUNDS_OF_MANY) if hosts >= _MANY else rounds) + 1):
            yield f"round {number}: {hosts} hosts"
            stock.append(_stock_s(hosts))
            up_s, down_s = _ours_s(hosts)
            ours.append(up_s)
            ends.append(down_s)
        yield [
            Figure(SECTION, f"stock Mininet, {hosts} hosts", stock, "s", note="without delay and controller"),
            Figure(SECTION, f"a Testbed, {hosts} hosts", ours, "s", note="all of it"),
            Figure(SECTION, f"its end, {hosts} hosts", ends, "s"),
        ]


def _stock_s(hosts: int) -> float:
    sandbox.prepare_network()
    Mininet.inited = True
    lg.setLogLevel("critical")  # a warning for each link, that its class of HTB has a large quantum
    with PrivateOpenVSwitch():
        start = time.monotonic()
        net = Mininet(
            Star(hosts=hosts, stock=True),
            switch=lambda name, **params: OVSSwitch(name, datapath="user", failMode="standalone", **params),
            link=TCLink,
            controller=None,
        )
        try:
            net.start()
            return time.monotonic() - start
        finally:
            net.stop()
            lg.setLogLevel("warning")


def _ours_s(hosts: int) -> tuple[float, float]:
    start = time.monotonic()
    with Testbed(Star(hosts=hosts)):
        up = time.monotonic()
    return up - start, time.monotonic() - up
