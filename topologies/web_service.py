"""A client, a web server and a database on two disjoint planes, as in `mptcp_load` and its paper: `mptcp=on`."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from mininet.topo import Topo

from flightpath.overrides import override
from topologies.hosts.addressing import announced, mac, plane_addresses
from topologies.hosts.multihomed import MultihomedHost
from topologies.links.texts import LinkText, flag, link_specs

CLIENT, WEB, DATABASE = "h1", "h2", "h3"
PLANES = ("a", "b")


class WebService(Topo):
    """H1 (client), H2 (web), H3 (database); each has one link to the switch of each plane (the paper's figure 1).

        h1 ──┬── s1 (plane a) ──┬── h2, h3        10.0.1.0/24
             └── s2 (plane b) ──┘                 10.0.2.0/24

    Each link has its plane's bandwidth and delay, so a path between two hosts has that bandwidth and twice the delay,
    one way. With MPTCP the servers announce their other address, and the clients open a second subflow to it.

    Args:
        planes: the links of plane a and plane b, or one for both; two in a text are separated by `;`.
        mptcp: let connections use both planes.
        announce: the flags with which servers announce their addresses (`Endpoint`); none announces nothing.
        congestion_control: of all three hosts.
        settings: more of them, as `MultihomedHost` takes them.
    """

    @override
    def build(
        self,
        planes: LinkText | Sequence[LinkText] = None,
        mptcp: bool | int | str = False,
        announce: Sequence[str] = ("signal",),
        congestion_control: str | None = None,
        settings: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        has_subflows = flag("mptcp", mptcp) and bool(announce)
        specs = link_specs("planes", planes, len(PLANES))
        for plane in range(len(PLANES)):
            self.addSwitch(f"s{plane + 1}", dpid=f"{plane + 1:016x}")
        for number, name in enumerate((CLIENT, WEB, DATABASE), start=1):
            self.addHost(
                name,
                cls=MultihomedHost,
                addresses={plane: plane_addresses(plane + 1, number)[:1] for plane in range(len(PLANES))},
                endpoints=announced(len(PLANES), number, flags=announce) if has_subflows and name != CLIENT else (),
                subflows=1 if has_subflows else 0,
                accepted_addresses=1 if has_subflows and name != DATABASE else 0,
                congestion_control=congestion_control,
                **settings,
            )
            for plane, spec in enumerate(specs):
                macs = {"addr1": mac(0, plane + 1, number), "addr2": mac(1, plane + 1, number)}
                self.addLink(name, f"s{plane + 1}", port1=plane, port2=number, spec=spec, **macs)
