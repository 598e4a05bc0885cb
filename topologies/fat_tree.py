"""A fat tree of switches with the same number of ports, as in data centres: `pods=4`, 16 hosts; `pods=16`, 1024."""

from mininet.topo import Topo

from flightpath.errors import UsageError
from flightpath.overrides import override
from topologies.hosts.multihomed import MultihomedHost, mac
from topologies.links.spec import LinkSpec
from topologies.links.texts import LinkText, link_spec, whole

MAX_PODS = 64
_EDGE_DPIDS, _AGGREGATION_DPIDS, _CORE_DPIDS = 0x10000, 0x20000, 0x30000
_HOST, _HOST_PORT, _UPLINK, _DOWNLINK = range(4)
"""Kinds of MAC addresses (`mac`): the two ends of a host's cable, and of a link between switches."""


class FatTree(Topo):
    """The three-layer Clos network of Al-Fares, Loukissas and Vahdat (SIGCOMM 2008).

        core1     core2     core3     core4          with `pods=4`: each switch has 4 ports
         agg1 agg2   agg3 agg4   agg5 agg6 …         each core switch has a link to each pod
          │ X │       │ X │       │ X │             edge and aggregation switches of a pod are all linked
        edge1 edge2 edge3 edge4 edge5 edge6 …
        h1 h2 h3 h4 h5 h6 h7 h8 …                    10.0.0.1, 10.0.0.2, …   fd00::1, fd00::2, …

    With an even number of pods k there are k³/4 hosts, k² edge and aggregation switches, and k²/4 core switches.
    Between hosts of different pods there are k²/4 shortest paths. Without steering all traffic takes one of them.

    Args:
        pods: number of pods, which is even.
        links: specification of the links between switches.
        access: specification of the hosts' cables.
        congestion_control: algorithm of all hosts.
    """

    @override
    def build(
        self,
        pods: int | str = 4,
        links: LinkText = None,
        access: LinkText = LinkSpec(),  # noqa: B008 - frozen
        congestion_control: str | None = None,
    ) -> None:
        half, odd = divmod(whole("pods", pods, 2, MAX_PODS), 2)
        if odd:
            raise UsageError(f"pods: {pods} is odd", "give an even number: half of a switch's ports lead up")
        self._spec, self._count = link_spec(links), 0
        for core in range(1, half * half + 1):
            self.addSwitch(f"core{core}", dpid=f"{_CORE_DPIDS + core:016x}")
        for pod in range(2 * half):
            numbers = range(pod * half + 1, (pod + 1) * half + 1)
            for position, number in enumerate(numbers):
                self.addSwitch(f"agg{number}", dpid=f"{_AGGREGATION_DPIDS + number:016x}")
                for port in range(1, half + 1):
                    self._join(f"agg{number}", port, f"core{position * half + port}", pod + 1)
            for position, number in enumerate(numbers, start=1):
                self.addSwitch(f"edge{number}", dpid=f"{_EDGE_DPIDS + number:016x}")
                for port, upper in enumerate(numbers, start=1):
                    self._join(f"edge{number}", port, f"agg{upper}", half + position)
                for port in range(half + 1, 2 * half + 1):
                    host = (number - 1) * half + port - half
                    self._add_host(host, f"edge{number}", port, link_spec(access), congestion_control)

    def _join(self, lower: str, up_port: int, upper: str, down_port: int) -> None:
        self._count += 1
        macs = {f"addr{end + 1}": _mac(kind, self._count) for end, kind in enumerate((_UPLINK, _DOWNLINK))}
        self.addLink(lower, upper, port1=up_port, port2=down_port, spec=self._spec, **macs)

    def _add_host(
        self, number: int, switch: str, port: int, spec: LinkSpec | None, congestion_control: str | None
    ) -> None:
        addresses = {0: (f"10.0.{number >> 8}.{number & 255}/16", f"fd00::{number:x}/64")}
        name = f"h{number}"
        self.addHost(name, cls=MultihomedHost, addresses=addresses, congestion_control=congestion_control)
        macs = {"addr1": _mac(_HOST, number), "addr2": _mac(_HOST_PORT, number)}
        self.addLink(name, switch, port1=0, port2=port, spec=spec, **macs)


def _mac(kind: int, number: int) -> str:
    return mac(kind, number >> 8, number & 255)
