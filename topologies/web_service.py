"""A client, a web server and a database on two disjoint planes, as in `mptcp_load` and its paper: `mptcp=on`."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from mininet.topo import Topo

from flightpath.overrides import override
from topologies.hosts.multihomed import MultihomedHost, announced, mac, plane_addresses
from topologies.links.spec import LinkSpec
from topologies.links.texts import LinkText, flag, link_specs, whole

CLIENT, WEB, DATABASE = "h1", "h2", "h3"
PLANES = ("a", "b")
MANAGEMENT_PORT = len(PLANES)
"""Client's port for messages among several clients, which do not load the planes."""

MAX_CLIENTS = 32
_MANAGEMENT = LinkSpec(bandwidth_bps=1_000_000_000, delay_s=0.0001)


def client_names(clients: int) -> list[str]:
    """Returns the hosts that generate load: h1, then those after the database."""
    return [CLIENT, *(f"h{number}" for number in range(4, 3 + clients))]


class WebService(Topo):
    """H1 (client), H2 (web), H3 (database); each has one link to the switch of each plane (the paper's figure 1).

        h1 ──┬── s1 (plane a) ──┬── h2, h3        10.0.1.0/24
             └── s2 (plane b) ──┘                 10.0.2.0/24

    Each link has its plane's bandwidth and delay, so a path between two hosts has that bandwidth and twice the delay,
    one way. With MPTCP the servers announce their other address, and the clients open a second subflow to it.

    Further clients are h4, h5 and so on, with the same links. With several, each client also has a link to the switch
    s3, for management.

    Args:
        planes: specification of the links of plane a and of plane b, or one for both; in a text, `;` separates them.
        mptcp: let connections use both planes.
        announce: flags with which servers announce their addresses (`Endpoint`); empty announces none.
        clients: number of hosts that generate load.
        congestion_control: algorithm of all hosts.
        settings: further arguments of `MultihomedHost`.
    """

    @override
    def build(
        self,
        planes: LinkText | Sequence[LinkText] = None,
        mptcp: bool | int | str = False,
        announce: Sequence[str] = ("signal",),
        clients: int | str = 1,
        congestion_control: str | None = None,
        settings: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        has_subflows = flag("mptcp", mptcp) and bool(announce)
        specs = link_specs("planes", planes, len(PLANES))
        load_hosts = client_names(whole("clients", clients, 1, MAX_CLIENTS))
        for plane in range(len(PLANES) + (len(load_hosts) > 1)):
            self.addSwitch(f"s{plane + 1}", dpid=f"{plane + 1:016x}")
        for number, name in enumerate((CLIENT, WEB, DATABASE, *load_hosts[1:]), start=1):
            is_client = name in load_hosts
            is_managed = is_client and len(load_hosts) > 1
            ports = dict(enumerate([*specs, _MANAGEMENT] if is_managed else specs))
            self.addHost(
                name,
                cls=MultihomedHost,
                addresses={port: plane_addresses(port + 1, number)[:1] for port in ports},
                endpoints=announced(len(PLANES), number, flags=announce) if has_subflows and not is_client else (),
                subflows=1 if has_subflows else 0,
                accepted_addresses=1 if has_subflows and name != DATABASE else 0,
                congestion_control=congestion_control,
                **settings,
            )
            for port, spec in ports.items():
                macs = {"addr1": mac(0, port + 1, number), "addr2": mac(1, port + 1, number)}
                self.addLink(name, f"s{port + 1}", port1=port, port2=number, spec=spec, **macs)
