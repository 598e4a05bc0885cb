"""Two hosts with one link per path, IPv4 and IPv6, MPTCP on all: `paths=4`, `'links=bw=50 delay=5ms;bw=10'`."""

from collections.abc import Sequence

from mininet.topo import Topo

from flightpath.errors import UsageError
from flightpath.overrides import override
from topologies.hosts import mptcp_schedulers
from topologies.hosts.multihomed import LARGE_TCP_BUFFERS, MultihomedHost, announced, mac, plane_addresses
from topologies.links.spec import LinkSpec
from topologies.links.texts import LinkText, flag, link_specs, whole

CLIENT, SERVER = "h1", "h2"
MAX_PATHS = 8
"""Maximum number of a host's addresses in the kernel's path manager (MPTCP_PM_ADDR_MAX)."""


class MultipathPair(Topo):
    """h1 (client) and h2 (server) with one link per path, each with its own properties.

        h1-eth0 ═══ path 1 ═══ h2-eth0        10.0.1.1  10.0.1.2      fd00:1::1  fd00:1::2
        h1-eth1 ═══ path 2 ═══ h2-eth1        10.0.2.1  10.0.2.2      fd00:2::1  fd00:2::2
           …                                  switched:  h1-eth0 ═══ path 1 ═══ s1 ─── h2-eth0

    Every address has its own routing table, so that its packets leave over its path. With MPTCP, h2 announces its
    addresses of one family and h1 opens a subflow to each, so a connection from h1 to any of them uses all paths. The
    switch of a path is next to h2, at the end of an ideal cable.

    Args:
        paths: number of paths.
        links: specification of each path, or one for all; in a text, `;` separates them.
        switched: give each path a switch.
        mptcp: let connections use all paths.
        family: IP version of the addresses that MPTCP uses, 4 or 6. The kernel's limit counts both together.
        congestion_control: algorithm of both hosts.
        scheduler: MPTCP's packet scheduler; the virtual-time kernel has blest, ecf, redundant and roundrobin.
    """

    @override
    def build(
        self,
        paths: int | str = 2,
        links: LinkText | Sequence[LinkText] = None,
        switched: bool | int | str = False,
        mptcp: bool | int | str = True,
        family: int | str = 4,
        congestion_control: str | None = None,
        scheduler: str = mptcp_schedulers.DEFAULT,
    ) -> None:
        count = whole("paths", paths, 1, MAX_PATHS)
        if str(family) not in ("4", "6"):
            raise UsageError(f"family: {family!r} is unknown", "choose one of 4, 6")
        mptcp_schedulers.check("scheduler", scheduler)
        chosen = {} if scheduler == mptcp_schedulers.DEFAULT else {mptcp_schedulers.SYSCTL: scheduler}
        subflows = count - 1 if flag("mptcp", mptcp) else 0
        for number, name in enumerate((CLIENT, SERVER), start=1):
            is_server = name == SERVER
            self.addHost(
                name,
                cls=MultihomedHost,
                addresses={path: plane_addresses(path + 1, number) for path in range(count)},
                endpoints=announced(count, number, int(family)) if subflows and is_server else (),
                subflows=subflows,
                accepted_addresses=0 if is_server else subflows,
                congestion_control=congestion_control,
                sysctls={**LARGE_TCP_BUFFERS, **chosen},
            )
        for path, spec in enumerate(link_specs("links", links, count)):
            self._add_path(path, spec, flag("switched", switched))

    def _add_path(self, path: int, spec: LinkSpec | None, switched: bool) -> None:
        client, server = mac(0, path + 1, 1), mac(0, path + 1, 2)
        if not switched:
            self.addLink(CLIENT, SERVER, port1=path, port2=path, spec=spec, addr1=client, addr2=server)
            return
        switch = self.addSwitch(f"s{path + 1}", dpid=f"{path + 1:016x}")
        near, far = mac(0, path + 1, 0x11), mac(0, path + 1, 0x12)
        self.addLink(CLIENT, switch, port1=path, port2=1, spec=spec, addr1=client, addr2=near)
        self.addLink(SERVER, switch, port1=path, port2=2, spec=LinkSpec(), addr1=server, addr2=far)
