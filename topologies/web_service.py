"""The network of the load paper: a client, a web server and a database on two disjoint planes (its figure 1)."""

from collections.abc import Sequence
from typing import Any

from mininet.topo import Topo

from topologies.hosts.multihomed import Endpoint, MultihomedHost
from topologies.links.spec import LinkSpec

CLIENT, WEB, DATABASE = "h1", "h2", "h3"
PLANES = ("a", "b")


class WebService(Topo):
    """H1 (client), H2 (web), H3 (database); each has one link to the switch of each plane.

        h1 ──┬── s1 (plane a) ──┬── h2, h3        10.0.1.0/24
             └── s2 (plane b) ──┘                 10.0.2.0/24

    Each link has its plane's bandwidth and delay, so a path between two hosts has that bandwidth and twice the delay,
    one way. With MPTCP the servers announce their other address, and the clients open a second subflow to it.
    """

    def build(
        self,
        planes: Sequence[LinkSpec] = (LinkSpec(bandwidth_bps=50_000_000),) * 2,
        mptcp: bool = False,
        congestion_control: str | None = None,
        **_params: Any,
    ) -> None:
        """Mininet's hook.

        Args:
            planes: the links of plane a and plane b.
            mptcp: let connections use both planes.
            congestion_control: of all three hosts.
        """
        for plane, name in enumerate(PLANES):
            self.addSwitch(f"s{plane + 1}", dpid=f"{plane + 1:016x}", plane=name)
        for number, name in enumerate((CLIENT, WEB, DATABASE), start=1):
            self.addHost(
                name,
                cls=MultihomedHost,
                addresses={plane: (f"10.0.{plane + 1}.{number}/24",) for plane in range(len(PLANES))},
                endpoints=_endpoints(number) if mptcp and name != CLIENT else (),
                subflows=1 if mptcp else 0,
                accepted_addresses=1 if mptcp and name != DATABASE else 0,
                congestion_control=congestion_control,
            )
            for plane, spec in enumerate(planes):
                self.addLink(
                    name,
                    f"s{plane + 1}",
                    port1=plane,
                    port2=number,
                    spec=spec,
                    addr1=f"02:00:00:00:{plane + 1:02x}:{number:02x}",
                    addr2=f"02:00:00:01:{plane + 1:02x}:{number:02x}",
                )


def _endpoints(number: int) -> tuple[Endpoint, ...]:
    """Both addresses of a server: the kernel announces the one that a connection does not have yet."""
    return tuple(Endpoint(f"10.0.{plane + 1}.{number}", ("signal",)) for plane in range(len(PLANES)))
