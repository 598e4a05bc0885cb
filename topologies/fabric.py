"""Edge switches joined by disjoint paths, each over its own core switch: `edges=2,hosts=2,cores=2,mptcp=on`."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from mininet.topo import Topo

from flightpath.overrides import override
from topologies.hosts.multihomed import MultihomedHost, announced, mac, plane_addresses
from topologies.links.spec import LinkSpec
from topologies.links.texts import LinkText, flag, link_spec, link_specs, whole

MAX_CORES, MAX_EDGES, MAX_HOSTS = 8, 32, 250
_FIRST_CORE_DPID = 0x100
_FIRST_UPLINK_PORT = 1
_FIRST_ACCESS_PORT = 16


class Fabric(Topo):
    """Edge switches with hosts, joined by core switches; each core switch makes one path.

              core1 (path 1)   core2 (path 2)  …
               ║    ╚═══╗    ╔═══╝    ║
               ║    ╔════════╝        ║              plane 1: 10.0.1.0/24, fd00:1::/64
              edge1     ╚══════ edge2 ╝              plane 2: 10.0.2.0/24, fd00:2::/64
             ║│    │║          ║│    │║
              h1    h2          h3    h4

    A path has two links, each with the path's bandwidth and delay, so its one-way delay is twice that of a link. Two
    paths share no link between the edges. A host has one interface per plane, each with an IPv4 and an IPv6 address;
    the controller forwards to a host's first interface over path 1, to its second over path 2, and so on. With
    `multihomed=False` a host has one interface, which is reached over path 1.

    With MPTCP the hosts on edge1 are clients and open a subflow over each path; all others announce their addresses.
    With `clients` above 1, hosts on further edges do both: they also open subflows to the hosts that they connect to.

    Args:
        edges: number of edge switches.
        hosts: number of hosts on each edge switch.
        cores: number of core switches, which is the number of paths.
        links: specification of each path's links, or one for all; in a text, `;` separates them.
        access: specification of the hosts' cables.
        multihomed: give hosts an interface per path.
        mptcp: let connections have several subflows.
        subflows: number of subflows with MPTCP; by default one per interface.
        clients: number of edges, from the first, whose hosts open subflows.
        announce: flags with which servers announce their addresses (`Endpoint`); empty announces none.
        congestion_control: algorithm of all hosts.
        settings: further arguments of `MultihomedHost`.
    """

    @override
    def build(
        self,
        edges: int | str = 2,
        hosts: int | str = 2,
        cores: int | str = 2,
        links: LinkText | Sequence[LinkText] = None,
        access: LinkText = LinkSpec(),  # noqa: B008 - frozen
        multihomed: bool | int | str = True,
        mptcp: bool | int | str = False,
        subflows: int | str | None = None,
        clients: int | str = 1,
        announce: Sequence[str] = ("signal",),
        congestion_control: str | None = None,
        settings: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        paths = whole("cores", cores, 1, MAX_CORES)
        switches = whole("edges", edges, 1, MAX_EDGES)
        per_edge = whole("hosts", hosts, 1, MAX_HOSTS // switches)
        planes = paths if flag("multihomed", multihomed) else 1
        per_connection = planes if subflows is None else whole("subflows", subflows, 1, planes)
        client_edges = whole("clients", clients, 1, switches)
        has_mptcp = flag("mptcp", mptcp)
        additional = per_connection - 1 if has_mptcp and announce else 0
        own = {"congestion_control": congestion_control, "segment_early": has_mptcp}  # a path has three switches
        for core in range(1, paths + 1):
            self.addSwitch(f"core{core}", dpid=f"{_FIRST_CORE_DPID + core:016x}")
        for edge in range(1, switches + 1):
            self.addSwitch(f"edge{edge}", dpid=f"{edge:016x}")
            for core, spec in enumerate(link_specs("links", links, paths), start=1):
                macs = {"addr1": mac(1, core, edge), "addr2": mac(2, core, edge)}
                port = _FIRST_UPLINK_PORT + core - 1
                self.addLink(f"edge{edge}", f"core{core}", port1=port, port2=edge, spec=spec, **macs)
            for position in range(per_edge):
                number = (edge - 1) * per_edge + position + 1
                flags = announce if edge > 1 and additional else ()
                self._add_host(number, planes, additional, edge <= client_edges, flags, **own, **settings)
                self._plug(number, edge, position, planes, link_spec(access))

    def _add_host(
        self, number: int, planes: int, subflows: int, opens_subflows: bool, announce: Sequence[str], **settings: Any
    ) -> None:
        self.addHost(
            f"h{number}",
            cls=MultihomedHost,
            addresses={plane: plane_addresses(plane + 1, number) for plane in range(planes)},
            endpoints=announced(planes, number, flags=announce) if announce else (),
            subflows=subflows,
            accepted_addresses=subflows if opens_subflows else 0,
            **settings,
        )

    def _plug(self, number: int, edge: int, position: int, planes: int, spec: LinkSpec | None) -> None:
        for plane in range(planes):
            port = _FIRST_ACCESS_PORT + position * planes + plane
            macs = {"addr1": mac(0, plane + 1, number), "addr2": mac(3, plane + 1, number)}
            self.addLink(f"h{number}", f"edge{edge}", port1=plane, port2=port, spec=spec, **macs)
