"""Two data transfer nodes and a bottleneck; `cross_traffic=1`: hosts that share it; `switched=off`: no switches."""

from typing import Any

from mininet.topo import Topo

from flightpath.errors import UsageError
from flightpath.overrides import override
from topologies.hosts.multihomed import KERNEL_TCP_BUFFERS, LARGE_TCP_BUFFERS, MultihomedHost, mac
from topologies.links.spec import LinkSpec
from topologies.links.texts import LinkText, flag, link_spec, whole

SOURCE, TARGET = "dtn1", "dtn2"
MAX_CROSS_TRAFFIC = 99
_TRUNK_PORT = 250


class DtnPair(Topo):
    """dtn1 sends and dtn2 receives; the link between the switches is the path.

        dtn1 ──┐                  ┌── dtn2        10.0.0.1   10.0.0.2      fd00::1   fd00::2
               s1 ══════════════ s2
        x1 … ──┘    bottleneck    └── y1 …        10.0.0.11… 10.0.0.111…   fd00::b…  fd00::6f…

    x1, x2, … send cross traffic to y1, y2, …, which shares the bottleneck with the transfer, as on the public network
    of the paper netpreflight. The other cables have no limit and no delay, so a round trip takes twice the bottleneck's
    delay. With `switched=False` the bottleneck joins the two nodes directly.

    Args:
        link: specification of the bottleneck.
        switched: put two switches between the nodes.
        cross_traffic: number of pairs of hosts for cross traffic.
        congestion_control: algorithm of all hosts.
        receive_buffer_bytes: fixed receive buffer of dtn2; by default the kernel sizes it.
        tuned: let TCP buffers grow for 10 Gb/s over 100 ms (`LARGE_TCP_BUFFERS`); otherwise as on an untuned kernel.
    """

    @override
    def build(
        self,
        link: LinkText = None,
        switched: bool | int | str = True,
        cross_traffic: int | str = 0,
        congestion_control: str | None = None,
        receive_buffer_bytes: int | str | None = None,
        tuned: bool | int | str = True,
    ) -> None:
        pairs = whole("cross_traffic", cross_traffic, 0, MAX_CROSS_TRAFFIC)
        if pairs and not flag("switched", switched):
            raise UsageError("cross_traffic: needs the switches, but switched is off")
        buffers = LARGE_TCP_BUFFERS if flag("tuned", tuned) else KERNEL_TCP_BUFFERS
        settings = {"congestion_control": congestion_control, "sysctls": buffers}
        buffer = receive_buffer_bytes
        if buffer is not None:
            buffer = whole("receive_buffer_bytes", buffer, 4096, 1 << 30)
        self._add_host(SOURCE, 1, settings)
        self._add_host(TARGET, 2, {**settings, "receive_buffer_bytes": buffer})
        bottleneck = link_spec(link)
        if not flag("switched", switched):
            self.addLink(SOURCE, TARGET, port1=0, port2=0, spec=bottleneck, addr1=_mac(1), addr2=_mac(2))
            return
        for number in (1, 2):
            self.addSwitch(f"s{number}", dpid=f"{number:016x}")
        for number in range(1, pairs + 1):
            self._add_host(f"x{number}", 10 + number, settings)
            self._add_host(f"y{number}", 110 + number, settings)
        for number in range(pairs + 1):
            self._plug(SOURCE if number == 0 else f"x{number}", "s1", 1 if number == 0 else 10 + number)
            self._plug(TARGET if number == 0 else f"y{number}", "s2", 2 if number == 0 else 110 + number)
        macs = {"addr1": _mac(0x101), "addr2": _mac(0x102)}
        self.addLink("s1", "s2", port1=_TRUNK_PORT, port2=_TRUNK_PORT, spec=bottleneck, **macs)

    def _add_host(self, name: str, number: int, settings: dict[str, Any]) -> None:
        addresses = {0: (f"10.0.0.{number}/24", f"fd00::{number:x}/64")}
        self.addHost(name, cls=MultihomedHost, addresses=addresses, **settings)

    def _plug(self, host: str, switch: str, number: int) -> None:
        macs = {"addr1": _mac(number), "addr2": _mac(0x200 + number)}
        self.addLink(host, switch, port1=0, port2=number, spec=LinkSpec(), **macs)


def _mac(number: int) -> str:
    return mac(0, number >> 8, number & 255)
