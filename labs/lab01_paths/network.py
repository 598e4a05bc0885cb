"""The network of lab 1: two hosts, and four routers with two paths between them."""

import random
from dataclasses import dataclass

from mininet.topo import Topo

from flightpath.overrides import override
from topologies.hosts.multihomed import MultihomedHost, mac
from topologies.links.spec import LinkSpec

CLIENT, SERVER = "h1", "h2"
CORE = (12, 24, 13, 34)
"""Links between routers, by the number of their network: 12 joins r1 and r2."""

LOSS = 0.25
_ROUTER = {"net.ipv4.ip_forward": 1, "net.ipv4.conf.all.rp_filter": 0, "net.ipv4.conf.default.rp_filter": 0}


@dataclass(frozen=True)
class Layout:
    """Delays and the broken link of a variant.

    Attributes:
        delays_ms: one-way delay of each link between routers.
        broken: number of the link that loses packets.
    """

    delays_ms: dict[int, int]
    broken: int

    @property
    def good_router(self) -> int:
        return 3 if self.broken in (12, 24) else 2

    @property
    def rtt_ms(self) -> int:
        return 2 * sum(self.delays_ms[link] for link in links_over(self.good_router))


def links_over(router: int) -> tuple[int, int]:
    return (12, 24) if router == 2 else (13, 34)


def layout(code: int) -> Layout:
    chance = random.Random(code)
    delays = chance.sample(range(3, 20), len(CORE))
    return Layout(dict(zip(CORE, delays, strict=True)), chance.choice(CORE))


class Paths(Topo):
    """h1 and h2 with two paths between them; every interface and network has the number of its link.

                     ┌── 12 ── r2 ── 24 ──┐
        h1 ── 1 ── r1                      r4 ── 4 ── h2       the network of link 12 is 10.NET.12.0/24,
                     └── 13 ── r3 ── 34 ──┘                    in which r1 is 10.NET.12.1 and r2 is 10.NET.12.2

    The routers forward packets, but nobody has a route to a network that is not its own.

    Args:
        code: decides the delays, and which link loses packets.
        net: the second number of all addresses.
        broken: whether the broken link loses packets from the start.
    """

    @override
    def build(self, code: int | str = 0, net: int | str = 0, broken: bool = True) -> None:
        variant = layout(int(code))
        ends = {1: ("h1", "r1"), 4: ("r4", "h2")}
        ends |= {link: (f"r{link // 10}", f"r{link % 10}") for link in CORE}
        for name in (CLIENT, SERVER, "r1", "r2", "r3", "r4"):
            last = 10 if name[0] == "h" else int(name[1:])
            ports = {link: (f"10.{net}.{link}.{last}/24",) for link in ends if name in ends[link]}
            self.addHost(name, cls=MultihomedHost, addresses=ports, sysctls=_ROUTER if name[0] == "r" else {})
        for number, (a, b) in ends.items():
            lost = LOSS if broken and number == variant.broken else 0.0
            spec = LinkSpec(delay_s=variant.delays_ms.get(number, 0) / 1e3, loss=lost)
            macs = {"addr1": mac(0, number, 1), "addr2": mac(0, number, 2)}
            self.addLink(a, b, port1=number, port2=number, spec=spec, **macs)
